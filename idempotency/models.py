"""Keys and what they have come to mean, the requests that arrived for them, and events to send."""

from __future__ import annotations

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now


class IdempotencyRecord(models.Model):
    """What one life of one key at one merchant has come to mean.

    The row is written in the transaction that writes the intent down, and answered in the one
    that settles it. `generation` counts the lives of a key that was used again after its window.
    """

    class State(models.TextChoices):
        """Whether there is an answer, and if not, who owes it."""

        OPEN = "open"  # somebody is working on it
        UNRESOLVED = "unresolved"  # nobody is, and what happened is not known: look it up
        RELEASED = "released"  # nothing happened: an equal request may try again
        ANSWERED = "answered"  # final: replay it

    id = models.BigAutoField(primary_key=True)
    merchant = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    generation = models.PositiveIntegerField()
    fingerprint = models.CharField(max_length=64)
    actor = models.CharField(max_length=255)
    route = models.CharField(max_length=100)
    subject = models.CharField(max_length=64)
    request_id = models.CharField(max_length=128)
    traceparent = models.CharField(max_length=128, blank=True, default="")
    state = models.CharField(max_length=10, choices=State)
    operation_id = models.CharField(max_length=64, blank=True, default="")
    result_id = models.CharField(max_length=64, blank=True, default="")
    first_seen_at = models.DateTimeField()
    answered_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(null=True)
    answer_status = models.PositiveSmallIntegerField(null=True)
    answer_headers = models.JSONField(default=dict)
    answer_body = models.BinaryField(null=True)

    class Meta:
        verbose_name = "idempotency record"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "key", "generation"], name="one_record_per_key_and_generation"
            ),
            models.UniqueConstraint(
                fields=["merchant", "key"],
                condition=~Q(state="answered"),
                name="one_unfinished_record_per_key",
            ),
            models.CheckConstraint(
                condition=(
                    Q(state="answered", answer_status__isnull=False, answered_at__isnull=False)
                    & Q(expires_at__isnull=False)
                )
                | (~Q(state="answered") & Q(answer_status__isnull=True, expires_at__isnull=True)),
                name="only_answered_records_have_an_answer",
            ),
            models.CheckConstraint(
                condition=~Q(answer_status__gte=500) & ~Q(answer_status=202),
                name="no_stored_answer_is_a_guess",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "subject"], name="records_about_a_subject"),
            models.Index(fields=["expires_at"], name="records_by_expiry"),
        ]

    def __str__(self) -> str:
        return f"{self.key} ({self.state})"


class Arrival(models.Model):
    """A request that came for a key that already meant something, or about a taken subject.

    The request that gave a key its meaning is told by the record itself, so that it is never
    lost; these rows are written a moment after the answer went out, by `arrivals`.
    """

    id = models.BigAutoField(primary_key=True)
    merchant = models.CharField(max_length=64)
    key = models.CharField(max_length=255)
    subject = models.CharField(max_length=64)
    actor = models.CharField(max_length=255)
    request_id = models.CharField(max_length=128)
    traceparent = models.CharField(max_length=128, blank=True, default="")
    fingerprint = models.CharField(max_length=64, blank=True, default="")
    outcome = models.CharField(max_length=40)
    arrived_at = models.DateTimeField()

    class Meta:
        indexes = [
            models.Index(fields=["merchant", "key", "arrived_at"], name="arrivals_for_a_key"),
            models.Index(fields=["merchant", "subject"], name="arrivals_about_a_subject"),
            models.Index(fields=["arrived_at"], name="arrivals_by_time"),
        ]

    def __str__(self) -> str:
        return f"{self.key} {self.outcome}"


class OutboxEvent(models.Model):
    """A promise to tell somebody, written in the transaction of what there is to tell.

    `event_id` is stable across deliveries. `sequence` counts the events about one subject, so a
    receiver can put them in order. A row is claimed by a lease: `lease_until` says until when,
    and `attempts`, counted in the claim's own commit, is the holder's fencing token.
    """

    id = models.BigAutoField(primary_key=True)
    event_id = models.CharField(max_length=40)
    topic = models.CharField(max_length=64)
    merchant = models.CharField(max_length=64)
    subject = models.CharField(max_length=64)
    sequence = models.PositiveIntegerField()
    payload = models.JSONField()
    traceparent = models.CharField(max_length=128, blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())
    due_at = models.DateTimeField()
    attempts = models.PositiveIntegerField(default=0)
    lease_until = models.DateTimeField(null=True)
    delivered_at = models.DateTimeField(null=True)
    parked_at = models.DateTimeField(null=True)
    last_error = models.TextField(blank=True, default="")

    class Meta:
        verbose_name = "outbox event"
        constraints = [
            models.UniqueConstraint(fields=["event_id"], name="one_row_per_event"),
            models.UniqueConstraint(
                fields=["subject", "sequence"], name="one_event_per_subject_and_sequence"
            ),
            models.CheckConstraint(
                condition=Q(delivered_at__isnull=True) | Q(parked_at__isnull=True),
                name="delivered_or_parked_not_both",
            ),
            models.CheckConstraint(
                condition=Q(lease_until__isnull=True) | Q(attempts__gt=0),
                name="a_lease_counts_as_an_attempt",
            ),
        ]
        indexes = [
            models.Index(
                F("due_at"),
                F("id"),
                name="events_to_deliver",
                condition=Q(delivered_at__isnull=True, parked_at__isnull=True),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.topic} {self.event_id}"
