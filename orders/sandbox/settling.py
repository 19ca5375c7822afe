"""What becomes of a held amount: captured, released, or expired."""

from __future__ import annotations

from . import disputes
from .calls import Call
from .cards import card_named
from .confirming import unexpected_state
from .currencies import check_divisible
from .errors import cannot
from .forms import boolean, integer, metadata, names, one_of, only
from .records import PaymentIntent
from .rendering import Document, payment_intent

CAPTURE = names(
    "amount_to_capture final_capture metadata statement_descriptor statement_descriptor_suffix "
    "application_fee_amount transfer_data amount_details payment_details hooks expand"
)
REASONS = ("duplicate", "fraudulent", "requested_by_customer", "abandoned")
CANCELABLE = ("requires_payment_method", "requires_capture", "requires_confirmation",
              "requires_action", "processing")  # fmt: skip


def capture(call: Call, object_id: str) -> Document:
    """Take the held money, all of it by default; what is not taken is released.

    Raises: Refused 400 when nothing is held, more is asked for than is held, or it has expired.
    """
    only(call.form, CAPTURE)
    amount = integer(call.form, "amount_to_capture", least=1)
    intent = call.account.intent(object_id)
    expire_if_due(call, intent)
    if intent.status != "requires_capture" or intent.latest_charge is None:
        raise unexpected_state(intent, "captured", ("requires_capture",))
    charge = call.account.charge(intent.latest_charge)
    if charge.expired:
        raise cannot("The authorization has expired.", code="charge_expired_for_capture")
    amount = intent.amount_capturable if amount is None else amount
    check_divisible(amount, intent.currency, param="amount_to_capture")
    if amount > intent.amount_capturable:
        raise cannot(
            f"Only {intent.amount_capturable} can be captured.",
            code="amount_too_large",
            param="amount_to_capture",
        )
    if call.wrong_amount:
        amount = max(1, amount - 1)
    boolean(call.form, "final_capture")
    intent.metadata = metadata(call.form, intent.metadata)
    intent.status = "succeeded"
    intent.amount_received, intent.amount_capturable = amount, 0
    charge.captured, charge.amount_captured = True, amount
    call.save(charge)
    call.save(intent)
    call.emit("charge.captured", charge)
    call.emit("payment_intent.succeeded", intent)
    card = card_named(charge.card)
    if card is not None and card.dispute is not None:
        disputes.open_dispute(call.account, charge, reason=card.dispute)
    return payment_intent(intent)


def cancel(call: Call, object_id: str) -> Document:
    """Give up an intent whose money was not taken; a hold is released."""
    only(call.form, ("cancellation_reason", "expand"))
    reason = one_of(call.form, "cancellation_reason", REASONS, None)
    intent = call.account.intent(object_id)
    expire_if_due(call, intent)
    if intent.status not in CANCELABLE:
        raise unexpected_state(intent, "canceled", CANCELABLE)
    release(call, intent, reason)
    return payment_intent(intent)


def release(call: Call, intent: PaymentIntent, reason: str | None) -> None:
    """Cancel the intent and let go of what its card holds."""
    held = intent.status == "requires_capture"
    intent.status = "canceled"
    intent.canceled_at, intent.cancellation_reason = call.now, reason
    intent.amount_capturable = 0
    intent.next_action = None
    if held and intent.latest_charge is not None:
        charge = call.account.charge(intent.latest_charge)
        charge.released = charge.refunded = True
        charge.amount_refunded = charge.amount
        call.save(charge)
        call.emit("charge.expired" if reason == "automatic" else "charge.refunded", charge)
    call.save(intent)
    call.emit("payment_intent.canceled", intent)


def expire_if_due(call: Call, intent: PaymentIntent) -> None:
    """Cancel an intent whose authorisation is over, as Stripe does by itself after seven days."""
    if intent.status != "requires_capture" or intent.latest_charge is None:
        return
    before = call.account.charge(intent.latest_charge).capture_before
    if before is not None and call.now >= before:
        release(call, intent, "automatic")
