"""Disputes: a bank takes the money back by itself."""

from __future__ import annotations

from . import lists
from .accounts import Account
from .calls import Call
from .errors import no_such
from .forms import only, string
from .identifiers import new_id
from .records import Charge, Dispute
from .rendering import Document
from .rendering import dispute as shown

CLOSED = ("won", "lost", "warning_closed")
STATUSES = ("needs_response", "under_review", "warning_needs_response", "warning_under_review",
            *CLOSED)  # fmt: skip


def open_dispute(
    account: Account, charge: Charge, *, reason: str, amount: int | None = None
) -> Dispute:
    """Open a dispute, or an inquiry, which holds no money back yet."""
    inquiry = reason == "inquiry"
    dispute = Dispute(
        id=new_id("dp"),
        created=account.clock.now(),
        amount=charge.amount_captured if amount is None else amount,
        currency=charge.currency,
        charge=charge.id,
        payment_intent=charge.payment_intent,
        reason="general" if inquiry else reason,
        status="warning_needs_response" if inquiry else "needs_response",
    )
    charge.dispute = dispute.id
    account.save(dispute)
    account.save(charge)
    account.emit("charge.dispute.created", dispute)
    if not inquiry:
        account.emit("charge.dispute.funds_withdrawn", dispute)
    return dispute


def move(account: Account, dispute: Dispute, status: str) -> None:
    """Let a dispute go on, or end."""
    dispute.status = status
    account.save(dispute)
    account.emit("charge.dispute.closed" if status in CLOSED else "charge.dispute.updated", dispute)
    if status == "won":
        account.emit("charge.dispute.funds_reinstated", dispute)


def retrieve(call: Call, object_id: str) -> Document:
    """Return one dispute."""
    only(call.form, ("expand",))
    found = call.account.disputes.get(object_id)
    if found is None:
        raise no_such("dispute", object_id, param="dispute")
    return shown(found)


def list_all(call: Call) -> Document:
    """Return disputes, newest first."""
    only(call.form, lists.COMMON | {"charge", "payment_intent"})
    charge, intent = string(call.form, "charge"), string(call.form, "payment_intent")
    return lists.page(
        call.account.disputes,
        call.form,
        url="/v1/disputes",
        show=shown,
        wanted=lambda one: charge in (None, one.charge) and intent in (None, one.payment_intent),
    )
