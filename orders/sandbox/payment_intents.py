"""Payment intents: create, read, change, list. What moves their money is in `confirming`."""

from __future__ import annotations

from typing import Any

from . import confirming, lists
from .calls import Call
from .currencies import check_amount, check_currency
from .errors import cannot, invalid
from .forms import (
    boolean,
    integer,
    many,
    metadata,
    missing,
    names,
    nested,
    one_of,
    only,
    required,
    string,
)
from .identifiers import new_id, new_secret
from .records import PaymentIntent
from .rendering import Document, payment_intent

_ABOUT = (
    "shipping description receipt_email customer statement_descriptor setup_future_usage metadata "
    "statement_descriptor_suffix transfer_group expand"
)
_HOW = (
    "payment_method payment_method_data payment_method_options off_session return_url mandate "
    "error_on_requires_action use_stripe_sdk capture_method radar_options mandate_data "
    "confirmation_token"
)
CREATE = names(
    _ABOUT,
    _HOW,
    "amount currency confirm confirmation_method payment_method_types automatic_payment_methods "
    "application_fee_amount on_behalf_of transfer_data amount_details payment_details hooks "
    "payment_method_configuration excluded_payment_method_types allowed_payment_method_types "
    "customer_account",
)
UPDATE = names(
    _ABOUT,
    "amount currency payment_method payment_method_data payment_method_options capture_method "
    "payment_method_types application_fee_amount transfer_data",
)
CONFIRM = names(_HOW, "shipping receipt_email setup_future_usage expand")
LIST = lists.COMMON | {"customer", "customer_account"}
CAPTURES = ("automatic", "automatic_async", "manual")
SHIPPING = ("address", "carrier", "name", "phone", "tracking_number")
CHANGEABLE = ("requires_payment_method", "requires_confirmation", "requires_action")


def create(call: Call) -> Document:
    """Create a payment intent, and confirm it if the request says so."""
    form = call.form
    only(form, CREATE)
    intent = _drafted(call)
    confirm = boolean(form, "confirm")
    confirming.check_parameters(form, intent, confirm=confirm)
    card = confirming.chosen_card(call, intent)
    if confirm and card is None:
        raise invalid(
            "A payment intent is confirmed with a payment_method.",
            param="payment_method", code="parameter_missing",
        )  # fmt: skip
    if card is not None and not confirm:
        intent.card, intent.payment_method = card.name, new_id("pm")
        intent.status = "requires_confirmation"
    if call.wrong_amount:
        intent.amount += 100
    call.save(intent)
    call.emit("payment_intent.created", intent)
    if confirm and card is not None:
        confirming.confirm_with(call, intent, card)
    return payment_intent(intent)


def _drafted(call: Call) -> PaymentIntent:
    form = call.form
    amount = integer(form, "amount", least=1)
    if amount is None:
        raise missing("amount")
    currency = check_currency(required(form, "currency"))
    check_amount(amount, currency)
    object_id = new_id("pi")
    types = many(form, "payment_method_types")
    if any(kind not in {"card", "link"} for kind in types):
        raise invalid("The sandbox knows cards and link only.", param="payment_method_types")
    intent = PaymentIntent(
        id=object_id,
        created=call.now,
        amount=amount,
        currency=currency,
        secret=new_secret(object_id),
        payment_method_types=types or ["card"],
        automatic=None if types else _automatic(form),
    )
    intent.confirmation_method = (
        one_of(form, "confirmation_method", ("automatic", "manual"), "automatic") or "automatic"
    )
    _describe(call, intent)
    return intent


def _automatic(form: dict[str, Any]) -> dict[str, Any]:
    given = nested(form, "automatic_payment_methods", ("enabled", "allow_redirects")) or {}
    return {"allow_redirects": given.get("allow_redirects", "always"), "enabled": True}


def _describe(call: Call, intent: PaymentIntent) -> None:
    """Set what says nothing about money."""
    form = call.form
    for name in ("description", "receipt_email", "customer", "transfer_group",
                 "statement_descriptor", "statement_descriptor_suffix"):  # fmt: skip
        if name in form:
            setattr(intent, name, string(form, name, longest=1000))
    if "setup_future_usage" in form:
        intent.setup_future_usage = one_of(
            form, "setup_future_usage", ("off_session", "on_session"), None
        )
    if "capture_method" in form:
        intent.capture_method = (
            one_of(form, "capture_method", CAPTURES, intent.capture_method) or intent.capture_method
        )
    if "shipping" in form:
        intent.shipping = nested(form, "shipping", SHIPPING)
    intent.metadata = metadata(form, intent.metadata)


def retrieve(call: Call, object_id: str) -> Document:
    """Return one payment intent."""
    only(call.form, ("expand", "client_secret"))
    intent = call.account.intent(object_id)
    return payment_intent(intent)


def update(call: Call, object_id: str) -> Document:
    """Change a payment intent; its money only before it is confirmed."""
    only(call.form, UPDATE)
    intent = call.account.intent(object_id)
    money = {"amount", "currency", "payment_method", "payment_method_data", "capture_method"}
    if money & call.form.keys() and intent.status not in CHANGEABLE:
        raise confirming.unexpected_state(intent, "updated", CHANGEABLE)
    amount = integer(call.form, "amount", least=1)
    currency = check_currency(string(call.form, "currency") or intent.currency)
    check_amount(amount or intent.amount, currency)
    _describe(call, intent)
    intent.amount, intent.currency = amount or intent.amount, currency
    card = confirming.chosen_card(call, intent)
    if card is not None:
        intent.card, intent.payment_method = card.name, new_id("pm")
        intent.status = "requires_confirmation"
    call.save(intent)
    return payment_intent(intent)


def list_all(call: Call) -> Document:
    """Return payment intents, newest first."""
    only(call.form, LIST)
    customer = string(call.form, "customer")
    return lists.page(
        call.account.intents,
        call.form,
        url="/v1/payment_intents",
        show=payment_intent,
        wanted=(lambda intent: intent.customer == customer) if customer else None,
    )


def confirm(call: Call, object_id: str) -> Document:
    """Confirm a payment intent: the card is charged, or authorised."""
    only(call.form, CONFIRM)
    intent = call.account.intent(object_id)
    if intent.status not in CHANGEABLE:
        raise confirming.unexpected_state(intent, "confirmed", CHANGEABLE)
    confirming.check_parameters(call.form, intent, confirm=True)
    if "capture_method" in call.form or "shipping" in call.form or "receipt_email" in call.form:
        _describe(call, intent)
    card = confirming.chosen_card(call, intent) or confirming.kept_card(intent)
    if card is None:
        raise cannot(
            "This payment intent has no payment method to confirm it with.",
            code="payment_intent_unexpected_state",
        )
    if call.wrong_amount:
        intent.amount += 100
    confirming.confirm_with(call, intent, card)
    return payment_intent(intent)
