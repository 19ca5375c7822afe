"""Lines of the audit trail: written once, never changed, never deleted before their time."""

from __future__ import annotations

from django.db import models
from django.db.models.functions import Now


class MutationAttempt(models.Model):
    """One line about one attempt to change something; plain ids, so it outlives what it names.

    An attempt has one line for each phase that it came through: `attempted` in the transaction
    that wrote the intent down, `unresolved` when its outcome could not be known, `completed` in
    the transaction of its effect (or of its refusal). A later line repeats what the earlier ones
    say, so the newest line of a `mutation_id` tells the whole attempt.
    """

    class Phase(models.TextChoices):
        """How far the attempt had come when the line was written."""

        ATTEMPTED = "attempted"
        UNRESOLVED = "unresolved"
        COMPLETED = "completed"

    id = models.BigAutoField(primary_key=True)
    mutation_id = models.CharField(max_length=40)
    phase = models.CharField(max_length=12, choices=Phase)
    mutation_type = models.CharField(max_length=40)
    merchant_id = models.CharField(max_length=64)
    checkout_session_id = models.CharField(max_length=64, blank=True, default="")
    order_id = models.CharField(max_length=64, blank=True, default="")
    operation_id = models.CharField(max_length=64, blank=True, default="")
    idempotency_key = models.CharField(max_length=255, blank=True, default="")
    generation = models.PositiveIntegerField(default=0)
    actor = models.CharField(max_length=255)
    attempted_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True)
    local_status = models.CharField(max_length=20)
    from_status = models.CharField(max_length=20, blank=True, default="")
    to_status = models.CharField(max_length=20, blank=True, default="")
    preconditions = models.JSONField(default=list)
    handler_response = models.JSONField(default=dict)
    error_message = models.TextField(blank=True, default="")
    retry_count = models.PositiveIntegerField(default=0)
    request_id = models.CharField(max_length=128, blank=True, default="")
    traceparent = models.CharField(max_length=128, blank=True, default="")
    recorded_at = models.DateTimeField(db_default=Now())

    class Meta:
        verbose_name = "mutation attempt"
        constraints = [
            models.UniqueConstraint(
                fields=["mutation_id", "phase"], name="one_line_per_attempt_and_phase"
            ),
            models.CheckConstraint(
                condition=models.Q(phase="completed", completed_at__isnull=False)
                | (~models.Q(phase="completed") & models.Q(completed_at__isnull=True)),
                name="completed_lines_say_when",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant_id", "mutation_id"], name="trail_of_a_merchant"),
            models.Index(
                fields=["order_id", "mutation_id"],
                name="trail_of_an_order",
                condition=~models.Q(order_id=""),
            ),
            models.Index(
                fields=["merchant_id", "idempotency_key", "mutation_id"],
                name="trail_of_a_key",
                condition=~models.Q(idempotency_key=""),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.mutation_type} {self.local_status} by {self.actor}"
