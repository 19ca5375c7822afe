"""Refunds: never more than was captured, counting those still on their way."""

from __future__ import annotations

from . import lists
from .accounts import Account
from .calls import Call
from .cards import CARDS, card_named
from .currencies import check_divisible
from .errors import Refused, cannot, missing_one, no_such
from .forms import integer, metadata, names, one_of, only, string
from .identifiers import new_id
from .records import Charge, Refund
from .rendering import Document
from .rendering import refund as shown

CREATE = names(
    "payment_intent charge amount reason metadata currency customer origin instructions_email "
    "refund_application_fee reverse_transfer expand"
)
REASONS = ("duplicate", "fraudulent", "requested_by_customer")
LOST = ("failed", "canceled")  # these refunds gave the money back to the merchant


def create(call: Call) -> Document:
    """Send money back.

    Raises: Refused 400 `charge_already_refunded`, `charge_disputed`, or on `amount` when more is
    asked for than is left, or when nothing was captured.
    """
    only(call.form, CREATE)
    amount = integer(call.form, "amount", least=1)
    reason = one_of(call.form, "reason", REASONS, None)
    told = metadata(call.form)
    charge = _charge(call)
    amount = refundable(call.account, charge, amount)
    refund = make(call.account, charge, amount, now=call.now, reason=reason, told=told)
    announce(call.account, refund, charge, request=call.request_id, key=call.key)
    return shown(refund)


def _charge(call: Call) -> Charge:
    """Return the charge that the request names, itself or through its payment intent."""
    charge_id, intent_id = string(call.form, "charge"), string(call.form, "payment_intent")
    if charge_id is not None:
        charge = call.account.charge(charge_id)
        if intent_id is not None and charge.payment_intent != intent_id:
            raise cannot("The charge is not of this payment intent.", param="payment_intent")
        return charge
    if intent_id is None:
        raise missing_one("payment_intent", "charge")
    intent = call.account.intent(intent_id, param="payment_intent")
    if intent.latest_charge is None:
        raise cannot(f"This PaymentIntent ({intent_id}) has no successful charge to refund.")
    return call.account.charge(intent.latest_charge)


def refundable(account: Account, charge: Charge, amount: int | None) -> int:
    """Return the amount to send back, or refuse it."""
    if not charge.paid or not charge.captured:
        raise cannot("Only a captured charge can be refunded; cancel the payment intent instead.")
    if charge.dispute is not None:
        dispute = account.disputes.get(charge.dispute)
        if (
            dispute is not None
            and dispute.status not in ("won", "warning_closed")
            and not (dispute.status.startswith("warning"))
        ):
            raise cannot("The charge has been disputed.", code="charge_disputed")
    left = charge.amount_captured - charge.amount_refunded
    if left <= 0:
        raise cannot(
            f"Charge {charge.id} has already been refunded.", code="charge_already_refunded"
        )
    if amount is None:
        return left
    check_divisible(amount, charge.currency)
    if amount > left:
        raise cannot(
            f"Refund amount ({amount}) is more than what is left ({left}).", param="amount"
        )
    return amount


def make(
    account: Account, charge: Charge, amount: int, *, now: int, reason: str | None,
    told: dict[str, str],
) -> Refund:  # fmt: skip
    """Record a refund and what it takes from its charge."""
    card = card_named(charge.card) or CARDS["pm_card_visa"]
    refund = Refund(
        id=new_id("re"),
        created=now,
        amount=amount,
        currency=charge.currency,
        charge=charge.id,
        payment_intent=charge.payment_intent,
        status=card.refund,
        ends=card.refund_ends,
        reason=reason,
        metadata=told,
    )
    account.save(refund)
    recount(account, charge)
    return refund


def recount(account: Account, charge: Charge) -> None:
    """Set what a charge says of its refunds; failed and canceled ones do not count."""
    refunds = (
        account.refunds.get(object_id) for object_id in account.refunds_of.get(charge.id, [])
    )
    charge.amount_refunded = sum(one.amount for one in refunds if one and one.status not in LOST)
    charge.refunded = charge.amount_refunded == charge.amount_captured
    account.save(charge)


def announce(
    account: Account, refund: Refund, charge: Charge, *, request: str | None, key: str | None
) -> None:
    """Tell of a new refund and of its charge."""
    account.emit("refund.created", refund, request=request, key=key)
    account.emit("charge.refunded", charge, request=request, key=key)


def end(account: Account, refund: Refund, status: str, failure_reason: str | None = None) -> None:
    """Let a refund become something else: what a bank does days later."""
    refund.status = refund.ends = status
    refund.failure_reason = failure_reason if status == "failed" else None
    account.save(refund)
    charge = account.charge(refund.charge)
    recount(account, charge)
    account.emit("refund.updated", refund)
    account.emit("charge.refund.updated", refund)
    if status == "failed":
        account.emit("refund.failed", refund)


def find(call: Call, object_id: str) -> Refund:
    """Return a refund.

    Raises: Refused 404 when this account has none of this id.
    """
    found = call.account.refunds.get(object_id)
    if found is None:
        raise no_such("refund", object_id, param="refund")
    return found


def retrieve(call: Call, object_id: str) -> Document:
    """Return one refund."""
    only(call.form, ("expand",))
    return shown(find(call, object_id))


def update(call: Call, object_id: str) -> Document:
    """Change a refund's metadata."""
    only(call.form, ("metadata", "expand"))
    refund = find(call, object_id)
    refund.metadata = metadata(call.form, refund.metadata)
    call.save(refund)
    call.emit("refund.updated", refund)
    return shown(refund)


def cancel(call: Call, object_id: str) -> Document:
    """Cancel a refund that waits for somebody's action; Stripe cancels no other."""
    only(call.form, ("expand",))
    refund = find(call, object_id)
    if refund.status != "requires_action":
        raise Refused(400, f"A refund that is {refund.status} cannot be canceled.", began=True)
    end(call.account, refund, "canceled")
    return shown(refund)


def list_all(call: Call) -> Document:
    """Return refunds, newest first, of everything, one charge or one payment intent."""
    only(call.form, lists.COMMON | {"charge", "payment_intent"})
    charge, intent = string(call.form, "charge"), string(call.form, "payment_intent")
    return lists.page(
        call.account.refunds,
        call.form,
        url="/v1/refunds",
        show=shown,
        wanted=lambda one: charge in (None, one.charge) and intent in (None, one.payment_intent),
    )
