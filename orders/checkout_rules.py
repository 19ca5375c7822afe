"""What the state of a checkout allows, and the refusals that say what it does not."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from orders.documents import operation_document
from orders.errors import Refusal
from orders.models import CheckoutSession, Operation


class CheckoutAlreadyCompleted(Refusal):
    """The checkout has its order; `order_id` names it."""

    code = "checkout_already_completed"


class CheckoutCanceled(Refusal):
    """The checkout was canceled before anybody completed it."""

    code = "checkout_canceled"


class CheckoutExpired(Refusal):
    """The checkout's time has passed."""

    code = "checkout_expired"


class CheckoutInProgress(Refusal):
    """Another key is completing the checkout, or its outcome is unknown; `operation` tells."""

    code = "checkout_in_progress"


class AmountChanged(Refusal):
    """The caller expects another total than the checkout has."""

    code = "amount_changed"


PRECONDITIONS = ("checkout_open", "not_expired", "no_live_charge", "amount_as_expected")
PASSED: list[dict[str, Any]] = [{"name": name, "passed": True} for name in PRECONDITIONS]

# Which of them a refusal says is broken.
BROKEN_BY: dict[str, str] = {
    "checkout_already_completed": "no_live_charge",
    "checkout_in_progress": "no_live_charge",
    "checkout_canceled": "checkout_open",
    "checkout_expired": "not_expired",
    "amount_changed": "amount_as_expected",
}


def refuse_unless_open(checkout: CheckoutSession, *, actor: str, now: datetime) -> None:
    """Raise the refusal that fits unless the locked checkout may be completed or canceled."""
    status = checkout.status_at(now)
    if status == CheckoutSession.Status.COMPLETED:
        order_id = checkout.orders.values_list("id", flat=True).first()
        raise CheckoutAlreadyCompleted(
            f"The checkout was completed before; its order is {order_id}.", order_id=order_id
        )
    if status == CheckoutSession.Status.COMPLETING:
        operation = checkout.operations.order_by("-created_at", "-id").first()
        raise CheckoutInProgress(
            "Another request is completing the checkout, or its outcome is not known yet."
            " Nothing new was begun.",
            operation=_as_seen_by(actor, operation) if operation else None,
        )
    if status == CheckoutSession.Status.CANCELED:
        raise CheckoutCanceled("The checkout was canceled.")
    if status == CheckoutSession.Status.EXPIRED:
        raise CheckoutExpired("The checkout has expired.")


def _as_seen_by(actor: str, operation: Operation) -> dict[str, Any]:
    """Return what another agent may know of an operation: that it is there, and how it stands."""
    whole = operation_document(operation)
    if operation.actor == actor or not actor.startswith("agent:"):
        return whole
    return {name: whole[name] for name in ("object", "id", "type", "status")}


def refuse_other_amount(checkout: CheckoutSession, expected: int | None) -> None:
    """Raise `AmountChanged` when the caller expects another total."""
    if expected is not None and expected != checkout.amount_total:
        raise AmountChanged(
            f"The checkout's total is {checkout.amount_total} {checkout.currency}, not {expected}."
            " Nothing was charged.",
            amount_total=checkout.amount_total,
            expected_amount_total=expected,
        )
