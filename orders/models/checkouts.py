"""Checkout sessions: priced baskets that are completed once, or not at all."""

from __future__ import annotations

from datetime import datetime

import uuid6
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django_fsm import ConcurrentTransitionMixin, FSMField, transition

from orders.models.merchants import Merchant

MOST = 99_999_999  # the largest total, in minor units: Stripe takes eight digits


def new_checkout_id() -> str:
    """Name a checkout; names sort by the time at which they were made."""
    return f"cs_{uuid6.uuid7().hex}"


class CheckoutSession(ConcurrentTransitionMixin, models.Model):
    """A basket with a price that no longer changes, and how far its purchase has come.

    Amounts are integers in minor units of `currency`. `expired` is told by the clock as long as
    nobody completes the session; a session that is being completed does not expire.
    """

    class Status(models.TextChoices):
        """open → completing → completed; completing → open when nothing was charged."""

        OPEN = "open"
        COMPLETING = "completing"
        COMPLETED = "completed"
        CANCELED = "canceled"
        EXPIRED = "expired"

    class Capture(models.TextChoices):
        """Whether completing takes the money or only reserves it."""

        AUTOMATIC = "automatic"
        MANUAL = "manual"

    id = models.CharField(primary_key=True, max_length=40)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="checkouts")
    status = FSMField(max_length=10, choices=Status, default=Status.OPEN)
    currency = models.CharField(max_length=3)
    capture = models.CharField(max_length=10, choices=Capture, default=Capture.AUTOMATIC)
    line_items = models.JSONField()
    amount_subtotal = models.BigIntegerField()
    shipping_amount = models.BigIntegerField(default=0)
    tax_amount = models.BigIntegerField(default=0)
    discount_amount = models.BigIntegerField(default=0)
    amount_total = models.BigIntegerField()
    buyer = models.JSONField(default=dict)
    shipping_address = models.JSONField(null=True)
    metadata = models.JSONField(default=dict)
    expires_at = models.DateTimeField()
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(amount_total__gte=1, amount_total__lte=MOST),
                name="checkout_total_is_chargeable",
            ),
            models.CheckConstraint(
                condition=Q(
                    amount_total=F("amount_subtotal")
                    + F("shipping_amount")
                    + F("tax_amount")
                    - F("discount_amount")
                ),
                name="checkout_total_is_the_sum_of_its_parts",
            ),
            models.CheckConstraint(
                condition=Q(
                    amount_subtotal__gte=0,
                    shipping_amount__gte=0,
                    tax_amount__gte=0,
                    discount_amount__gte=0,
                ),
                name="checkout_parts_are_not_negative",
            ),
            models.CheckConstraint(
                condition=Q(capture__in=["automatic", "manual"]), name="checkout_capture_is_known"
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "-created_at", "-id"], name="checkouts_by_time"),
        ]

    def __str__(self) -> str:
        return self.id

    def status_at(self, now: datetime) -> str:
        """Return the status as the clock has it: an open session past its time is expired."""
        if self.status == self.Status.OPEN and now >= self.expires_at:
            return self.Status.EXPIRED
        return str(self.status)

    @transition(field=status, source=Status.OPEN, target=Status.COMPLETING)
    def begin(self) -> None:
        """A charge for the session is about to be sent."""

    @transition(field=status, source=Status.COMPLETING, target=Status.COMPLETED)
    def complete(self) -> None:
        """The charge is made, and its order stands."""

    @transition(field=status, source=Status.COMPLETING, target=Status.OPEN)
    def reopen(self) -> None:
        """The charge is known not to have been made; another may be tried."""

    @transition(field=status, source=Status.OPEN, target=Status.CANCELED)
    def cancel(self) -> None:
        """Nobody will buy this."""
