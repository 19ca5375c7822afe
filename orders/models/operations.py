"""Operations: intended movements of money, written down before anyone is asked to move it."""

from __future__ import annotations

import uuid6
from django.db import models
from django.db.models import Q
from django_fsm import ConcurrentTransitionMixin, FSMField, transition

from idempotency.models import IdempotencyRecord
from orders.models.checkouts import CheckoutSession
from orders.models.merchants import Merchant
from orders.models.orders import Order


def new_operation_id() -> str:
    """Name an operation; names sort by the time at which they were made."""
    return f"op_{uuid6.uuid7().hex}"


class Operation(ConcurrentTransitionMixin, models.Model):
    """One intended movement of money, at one provider, under one key that never changes.

    `handler_key` is what the provider is told on every send. A try that is proven not to have
    been sent ends `failed`; the next one is a row of its own with `retry_count` one higher and
    the same `handler_key` and `root_id`, so that what the provider sees is the same request.
    """

    class Type(models.TextChoices):
        """Which way the money goes."""

        CHARGE = "charge"
        CAPTURE = "capture"
        REFUND = "refund"
        VOID = "void"

    class Status(models.TextChoices):
        """accepted → submitting → succeeded, failed or indeterminate → succeeded or failed."""

        ACCEPTED = "accepted"  # not sent: safe to send, safe to cancel
        SUBMITTING = "submitting"  # may have been sent: never send again
        SUCCEEDED = "succeeded"
        FAILED = "failed"  # known to have moved nothing
        INDETERMINATE = "indeterminate"  # may have moved money: look it up, never send
        CANCELLED = "cancelled"

    FINAL = (Status.SUCCEEDED, Status.FAILED, Status.CANCELLED)

    id = models.CharField(primary_key=True, max_length=40)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="operations")
    type = models.CharField(max_length=10, choices=Type)
    status = FSMField(max_length=15, choices=Status, default=Status.ACCEPTED)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    handler = models.CharField(max_length=40)
    handler_key = models.CharField(max_length=255)
    handler_request = models.JSONField(default=dict)
    reference = models.CharField(max_length=255, blank=True, default="")
    checkout = models.ForeignKey(
        CheckoutSession, on_delete=models.PROTECT, related_name="operations"
    )
    order = models.ForeignKey(Order, on_delete=models.PROTECT, related_name="operations", null=True)
    planned_order_id = models.CharField(max_length=24)
    record = models.ForeignKey(
        IdempotencyRecord, on_delete=models.PROTECT, related_name="operations"
    )
    idempotency_key = models.CharField(max_length=255)
    generation = models.PositiveIntegerField()
    mutation_id = models.CharField(max_length=40)
    root_id = models.CharField(max_length=40)
    retry_count = models.PositiveIntegerField(default=0)
    actor = models.CharField(max_length=255)
    request_id = models.CharField(max_length=128)
    traceparent = models.CharField(max_length=128, blank=True, default="")
    error_code = models.CharField(max_length=64, blank=True, default="")
    error_message = models.TextField(blank=True, default="")
    misconfigured = models.BooleanField(default=False)
    # The provider's id of a movement that it made although the operation had ended without one.
    contradicted_by = models.CharField(max_length=255, blank=True, default="")
    created_at = models.DateTimeField()
    submitted_at = models.DateTimeField(null=True)
    settled_at = models.DateTimeField(null=True)
    looks = models.PositiveIntegerField(default=0)
    next_look_at = models.DateTimeField(null=True)
    looking_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["checkout"],
                condition=Q(type="charge") & ~Q(status__in=["failed", "cancelled"]),
                name="one_live_charge_per_checkout",
            ),
            models.UniqueConstraint(
                fields=["merchant", "handler", "handler_key", "retry_count"],
                name="one_operation_per_handler_key_and_try",
            ),
            models.UniqueConstraint(
                fields=["merchant", "handler", "handler_key"],
                condition=~Q(status__in=["failed", "cancelled"]),
                name="one_live_operation_per_handler_key",
            ),
            models.UniqueConstraint(
                fields=["merchant", "handler", "type", "reference"],
                condition=Q(type__in=["charge", "refund"])
                & ~Q(reference="")
                & Q(status="succeeded"),
                name="one_operation_per_provider_reference",
            ),
            models.CheckConstraint(condition=Q(amount__gte=1), name="operations_move_something"),
            models.CheckConstraint(
                condition=Q(status__in=["accepted", "cancelled"]) | Q(submitted_at__isnull=False),
                name="sent_operations_say_when",
            ),
            models.CheckConstraint(
                condition=Q(
                    status__in=["succeeded", "failed", "cancelled"], settled_at__isnull=False
                )
                | Q(
                    status__in=["accepted", "submitting", "indeterminate"],
                    settled_at__isnull=True,
                ),
                name="ended_operations_say_when",
            ),
            models.CheckConstraint(
                condition=~Q(status="indeterminate") | Q(next_look_at__isnull=False),
                name="indeterminate_operations_are_looked_up",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "-created_at", "-id"], name="operations_by_time"),
            models.Index(fields=["merchant", "idempotency_key"], name="operations_by_key"),
            models.Index(
                fields=["next_look_at"],
                condition=Q(status="indeterminate"),
                name="operations_to_look_up",
            ),
            models.Index(
                fields=["created_at"],
                condition=Q(status__in=["accepted", "submitting"]),
                name="operations_under_way",
            ),
            models.Index(
                fields=["reference"], condition=~Q(reference=""), name="operations_by_reference"
            ),
            models.Index(fields=["root_id", "retry_count"], name="operations_by_root"),
            models.Index(
                fields=["merchant"],
                condition=~Q(contradicted_by=""),
                name="operations_contradicted",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.id} ({self.type} {self.status})"

    @property
    def is_final(self) -> bool:
        """Whether the outcome stands."""
        return self.status in self.FINAL

    @transition(field=status, source=Status.ACCEPTED, target=Status.SUBMITTING)
    def begin(self) -> None:
        """It is about to be sent: from now on it may have moved money."""

    @transition(
        field=status, source=[Status.SUBMITTING, Status.INDETERMINATE], target=Status.SUCCEEDED
    )
    def succeed(self) -> None:
        """The provider says that the money moved."""

    @transition(
        field=status, source=[Status.SUBMITTING, Status.INDETERMINATE], target=Status.FAILED
    )
    def fail(self) -> None:
        """The provider says, or its silence now proves, that no money moved."""

    @transition(field=status, source=Status.SUBMITTING, target=Status.INDETERMINATE)
    def lose_sight(self) -> None:
        """It may have moved money, and nobody knows."""

    @transition(field=status, source=Status.ACCEPTED, target=Status.CANCELLED)
    def cancel(self) -> None:
        """It was taken back before it was sent."""
