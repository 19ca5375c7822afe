"""What happens to money without the API: at the bank, on a dashboard, by the passing of time."""

from __future__ import annotations

from typing import Any

from . import disputes, refunds, settling
from .accounts import Account
from .calls import Call
from .cards import CARDS, card_named
from .commands import Command, Wrong
from .confirming import charge_card, fail
from .errors import Refused
from .records import Charge, PaymentIntent
from .rendering import dispute as shown_dispute
from .rendering import payment_intent as shown_intent
from .rendering import refund as shown_refund
from .world import World

REFUND_STATUSES = ("pending", "requires_action", "succeeded", "failed", "canceled")


def _outside_call(account: Account) -> Call:
    """Return a call that no request stands behind."""
    return Call(account, {}, account.clock.now(), "")


def _charge(command: Command) -> tuple[Account, Charge]:
    """Return the charge that the body names, or its payment intent's."""
    object_id = command.body.get("charge")
    if object_id is None:
        intent_id = str(command.body.get("payment_intent"))
        account = command.account_with("intents", intent_id)
        object_id = account.intent(intent_id).latest_charge
    else:
        account = command.account_with("charges", str(object_id))
    if object_id is None:
        raise Wrong("this payment intent has no charge")
    return account, account.charge(str(object_id))


async def open_dispute(command: Command) -> Any:
    """Dispute a charge: `payment_intent` or `charge`, `reason`, `amount`; reason `inquiry`."""
    account, charge = _charge(command)
    dispute = disputes.open_dispute(
        account,
        charge,
        reason=str(command.body.get("reason", "fraudulent")),
        amount=command.body.get("amount"),
    )
    command.world.commit(account)
    return shown_dispute(dispute)


async def move_dispute(command: Command) -> Any:
    """Give a dispute another `status`."""
    account = command.account_with("disputes", command.id)
    status = command.body.get("status")
    if status not in disputes.STATUSES:
        raise Wrong(f"status must be one of {', '.join(disputes.STATUSES)}")
    dispute = account.disputes.get(command.id)
    assert dispute is not None
    disputes.move(account, dispute, status)
    command.world.commit(account)
    return shown_dispute(dispute)


async def end_refund(command: Command) -> Any:
    """Give a refund another `status`, and for a failed one a `failure_reason`."""
    account = command.account_with("refunds", command.id)
    status = command.body.get("status")
    if status not in REFUND_STATUSES:
        raise Wrong(f"status must be one of {', '.join(REFUND_STATUSES)}")
    refund = account.refunds.get(command.id)
    assert refund is not None
    reason = str(command.body.get("failure_reason", "lost_or_stolen_card"))
    refunds.end(account, refund, status, reason)
    command.world.commit(account)
    return shown_refund(refund)


async def refund_outside(command: Command) -> Any:
    """Refund a charge as a person would on the dashboard."""
    account, charge = _charge(command)
    try:
        amount = refunds.refundable(account, charge, command.body.get("amount"))
    except Refused as refused:
        raise Wrong(str(refused)) from None
    refund = refunds.make(
        account,
        charge,
        amount,
        now=account.clock.now(),
        reason=command.body.get("reason"),
        told=dict(command.body.get("metadata") or {}),
    )
    refunds.announce(account, refund, charge, request=None, key=None)
    command.world.commit(account)
    return shown_refund(refund)


async def expire(command: Command) -> Any:
    """End an authorisation. Stripe cancels the intent; with `canceled: false` it has not yet."""
    account = command.account_with("intents", command.id)
    intent = account.intent(command.id)
    if intent.status != "requires_capture" or intent.latest_charge is None:
        raise Wrong(f"{intent.id} holds no authorisation: it is {intent.status}")
    if command.body.get("canceled", True):
        settling.release(_outside_call(account), intent, "automatic")
    else:
        charge = account.charge(intent.latest_charge)
        charge.expired = True
        account.save(charge)
    command.world.commit(account)
    return shown_intent(intent)


def expire_all_due(world: World) -> None:
    """Expire every authorisation whose time is over."""
    for account in world.accounts.by_key.values():
        call = _outside_call(account)
        for intent in account.intents:
            settling.expire_if_due(call, intent)
        world.commit(account)


async def authenticate(command: Command) -> Any:
    """Let the holder of the card pass (`succeed`: true) or fail its authentication."""
    account = command.account_with("intents", command.id)
    intent = account.intent(command.id)
    if intent.status != "requires_action":
        raise Wrong(f"{intent.id} waits for no action: it is {intent.status}")
    card = card_named(intent.card or "") or CARDS["pm_card_visa"]
    call = _outside_call(account)
    if command.body.get("succeed", True):
        charge_card(call, intent, card)
    else:
        _fail_authentication(call, intent)
    command.world.commit(account)
    return shown_intent(intent)


def _fail_authentication(call: Call, intent: PaymentIntent) -> None:
    refused = Refused(
        402,
        "The holder of the card could not be authenticated.",
        kind="card_error",
        code="payment_intent_authentication_failure",
    )
    fail(call, intent, card_named(intent.card or "") or CARDS["pm_card_visa"], refused)


TABLE = {
    ("POST", "disputes"): open_dispute,
    ("POST", "disputes/*"): move_dispute,
    ("POST", "refunds/*"): end_refund,
    ("POST", "dashboard/refund"): refund_outside,
    ("POST", "expire/*"): expire,
    ("POST", "authenticate/*"): authenticate,
}
