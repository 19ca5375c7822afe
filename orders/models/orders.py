"""Orders: purchases whose money is taken or reserved, moving forward only."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from hashlib import sha256
from typing import Any

from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Now
from django_fsm import ConcurrentTransitionMixin, FSMField, transition

from orders.models.checkouts import CheckoutSession
from orders.models.merchants import Merchant


def derive_order_id(
    *, claimed_at: datetime, merchant: str, key: str, generation: int, salt: int = 0
) -> str:
    """Return the order id that belongs to a claim: the same for every retry of it.

    Eight hex digits of the claim's unix second, then the first 64 bits of SHA-256 over the parts,
    each with its length before it, so that no two different claims spell the same text. `salt`
    counts up only where an id is taken.
    """
    parts = [merchant, key, str(generation), *([str(salt)] if salt else [])]
    spelt = b"".join(b"%d:%s" % (len(part.encode()), part.encode()) for part in parts)
    return f"{int(claimed_at.timestamp()) & 0xFFFFFFFF:08x}{sha256(spelt).hexdigest()[:16]}"


def is_captured(order: Any) -> bool:
    """The money has been taken."""
    return bool(order.amount_captured > 0)


def nothing_is_captured(order: Any) -> bool:
    """No money has been taken."""
    return bool(order.amount_captured == 0)


def is_in_stock(order: Any) -> bool:
    """The merchant has not said that the goods are missing."""
    return bool(order.stock_available)


def all_money_is_back(order: Any) -> bool:
    """Everything that was captured has been refunded."""
    return bool(0 < order.amount_captured == order.amount_refunded)


class Order(ConcurrentTransitionMixin, models.Model):
    """One purchase. Amounts are integers in minor units of `currency`.

    A transition sets fields of its own row and nothing else; its conditions read its own row
    only. `orders.transitions` says in words why one is refused.
    """

    class Status(models.TextChoices):
        """created → confirmed → shipped; cancelled and refunded end it earlier."""

        CREATED = "created"
        CONFIRMED = "confirmed"
        SHIPPED = "shipped"
        CANCELLED = "cancelled"
        REFUNDED = "refunded"

    class Payment(models.TextChoices):
        """What has happened to the money."""

        AUTHORIZED = "authorized"
        CAPTURED = "captured"
        PARTIALLY_REFUNDED = "partially_refunded"
        REFUNDED = "refunded"
        VOIDED = "voided"

    id = models.CharField(primary_key=True, max_length=24, db_column="order_id")
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="orders")
    checkout = models.ForeignKey(CheckoutSession, on_delete=models.PROTECT, related_name="orders")
    status = FSMField(max_length=10, choices=Status, default=Status.CREATED)
    currency = models.CharField(max_length=3)
    amount_total = models.BigIntegerField()
    amount_captured = models.BigIntegerField(default=0)
    amount_refunded = models.BigIntegerField(default=0)
    amount_refund_pending = models.BigIntegerField(default=0)
    stock_available = models.BooleanField(default=True)
    idempotency_key = models.CharField(max_length=255)
    generation = models.PositiveIntegerField()
    actor = models.CharField(max_length=255)
    merchant_order_id = models.CharField(max_length=500, null=True)  # noqa: DJ001 (null in the API)
    payment_handler = models.CharField(max_length=40)
    payment_status = models.CharField(max_length=20, choices=Payment)
    payment_reference = models.CharField(max_length=255)
    line_items = models.JSONField()
    buyer = models.JSONField(default=dict)
    shipping_address = models.JSONField(null=True)
    carrier = models.CharField(max_length=100, null=True)  # noqa: DJ001 (null in the API)
    tracking_number = models.CharField(max_length=200, null=True)  # noqa: DJ001 (null in the API)
    metadata = models.JSONField(default=dict)
    event_sequence = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(db_default=Now())
    updated_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "idempotency_key", "generation"],
                name="one_order_per_key_and_generation",
            ),
            models.UniqueConstraint(
                fields=["checkout"],
                condition=~Q(status="cancelled"),
                name="one_live_order_per_checkout",
            ),
            models.UniqueConstraint(
                fields=["merchant", "payment_handler", "payment_reference"],
                name="one_order_per_payment",
            ),
            models.CheckConstraint(
                condition=Q(
                    amount_total__gte=1,
                    amount_captured__gte=0,
                    amount_refunded__gte=0,
                    amount_refund_pending__gte=0,
                    amount_captured__lte=F("amount_total"),
                ),
                name="order_amounts_are_in_range",
            ),
            models.CheckConstraint(
                condition=Q(amount_captured__gte=F("amount_refunded") + F("amount_refund_pending")),
                name="refunds_never_exceed_what_was_captured",
            ),
            models.CheckConstraint(
                condition=~Q(status__in=["confirmed", "shipped"]) | Q(amount_captured__gt=0),
                name="confirmed_orders_are_captured",
            ),
        ]
        indexes = [
            models.Index(fields=["merchant", "-created_at", "-id"], name="orders_by_time"),
            models.Index(
                fields=["merchant", "status", "-created_at", "-id"], name="orders_by_status"
            ),
            models.Index(fields=["payment_reference"], name="orders_by_payment_reference"),
        ]

    def __str__(self) -> str:
        return self.id

    @transition(
        field=status,
        source=Status.CREATED,
        target=Status.CONFIRMED,
        conditions=[is_captured, is_in_stock],
    )
    def confirm(self) -> None:
        """The money is taken and the goods are there: the merchant stands by the order."""

    @transition(field=status, source=Status.CONFIRMED, target=Status.SHIPPED)
    def ship(self, *, carrier: str | None, tracking_number: str | None) -> None:
        """The goods are on their way."""
        self.carrier, self.tracking_number = carrier, tracking_number

    @transition(
        field=status,
        source=Status.CREATED,
        target=Status.CANCELLED,
        conditions=[nothing_is_captured],
    )
    def cancel(self) -> None:
        """The order is off, and nothing was taken."""

    @transition(
        field=status,
        source=[Status.CREATED, Status.CONFIRMED],
        target=Status.REFUNDED,
        conditions=[all_money_is_back],
    )
    def refund(self) -> None:
        """All the money is back."""


PRECONDITIONS: dict[str, list[tuple[str, Callable[[Order], bool]]]] = {
    Order.Status.CONFIRMED: [("captured", is_captured), ("stock", is_in_stock)],
    Order.Status.SHIPPED: [],
    Order.Status.CANCELLED: [("nothing_captured", nothing_is_captured)],
    Order.Status.REFUNDED: [("all_captured_money_back", all_money_is_back)],
}
