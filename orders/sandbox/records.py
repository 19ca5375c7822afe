"""What an account holds. Amounts are minor units, times are the sandbox's seconds since 1970."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(slots=True)
class PaymentIntent:
    """https://docs.stripe.com/api/payment_intents/object"""

    id: str
    created: int
    amount: int
    currency: str
    secret: str
    status: str = "requires_payment_method"
    capture_method: str = "automatic_async"
    confirmation_method: str = "automatic"
    payment_method_types: list[str] = field(default_factory=lambda: ["card"])
    automatic: dict[str, Any] | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    receipt_email: str | None = None
    customer: str | None = None
    shipping: dict[str, Any] | None = None
    statement_descriptor: str | None = None
    statement_descriptor_suffix: str | None = None
    setup_future_usage: str | None = None
    transfer_group: str | None = None
    payment_method: str | None = None
    card: str | None = None
    latest_charge: str | None = None
    amount_capturable: int = 0
    amount_received: int = 0
    canceled_at: int | None = None
    cancellation_reason: str | None = None
    last_payment_error: dict[str, Any] | None = None
    next_action: dict[str, Any] | None = None


@dataclass(slots=True)
class Charge:
    """https://docs.stripe.com/api/charges/object"""

    id: str
    created: int
    amount: int
    currency: str
    payment_intent: str
    payment_method: str
    card: str
    status: str = "succeeded"
    paid: bool = True
    captured: bool = False
    amount_captured: int = 0
    amount_refunded: int = 0
    refunded: bool = False
    released: bool = False
    expired: bool = False
    capture_before: int | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    description: str | None = None
    receipt_email: str | None = None
    customer: str | None = None
    shipping: dict[str, Any] | None = None
    failure_code: str | None = None
    failure_message: str | None = None
    decline_code: str | None = None
    dispute: str | None = None


@dataclass(slots=True)
class Refund:
    """https://docs.stripe.com/api/refunds/object"""

    id: str
    created: int
    amount: int
    currency: str
    charge: str
    payment_intent: str
    status: str = "succeeded"
    ends: str = "succeeded"
    reason: str | None = None
    failure_reason: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Dispute:
    """https://docs.stripe.com/api/disputes/object"""

    id: str
    created: int
    amount: int
    currency: str
    charge: str
    payment_intent: str
    reason: str
    status: str = "needs_response"
    metadata: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True)
class Event:
    """One thing that happened, with the body that webhooks carry, byte for byte."""

    id: str
    created: int
    type: str
    body: bytes


@dataclass(slots=True)
class Kept:
    """The first result of an idempotency key."""

    key: str
    created: int
    fingerprint: str
    request_id: str
    status: int
    body: bytes


Record = PaymentIntent | Charge | Refund | Dispute
