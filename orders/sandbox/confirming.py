"""Where a payment intent meets its card: charged, authorised, declined, or asked for more."""

from __future__ import annotations

from . import disputes
from .calls import Call
from .cards import Card, card_named, card_of_number, card_of_token
from .errors import Refused, cannot, invalid, no_such
from .forms import Form, boolean, string
from .identifiers import new_id
from .records import Charge, PaymentIntent
from .rendering import payment_intent, payment_method

# How long a card network lets an authorisation wait (https://docs.stripe.com/payments/place-a-hold-on-a-payment-method).
AUTHORISATION_LASTS = 7 * 86400


def unexpected_state(intent: PaymentIntent, verb: str, allowed: tuple[str, ...]) -> Refused:
    """Refuse what the intent's status does not allow, with the intent as it stands."""
    refused = cannot(
        f"This PaymentIntent could not be {verb}: its status is {intent.status}; "
        f"it would have to be one of {', '.join(allowed)}.",
        code="payment_intent_unexpected_state",
    )
    refused.error["payment_intent"] = payment_intent(intent)
    return refused


def check_parameters(form: Form, intent: PaymentIntent, *, confirm: bool) -> None:
    """Refuse combinations that Stripe refuses before it begins."""
    for name in ("off_session", "error_on_requires_action", "return_url"):
        if name in form and not confirm:
            raise invalid(f"{name} goes with confirm=true only.", param=name)
    redirects = intent.automatic is not None and intent.automatic["allow_redirects"] == "always"
    told = {"return_url", "off_session", "error_on_requires_action"} & form.keys()
    if confirm and redirects and not told:
        raise invalid(
            "This PaymentIntent takes automatic payment methods, some of which redirect: give a "
            "return_url, payment_method_types, or automatic_payment_methods[allow_redirects]=never."
        )


def chosen_card(call: Call, intent: PaymentIntent) -> Card | None:
    """Return the card that the request names, None when it names none.

    Raises: Refused `resource_missing` for a payment method that this account does not have.
    """
    name = string(call.form, "payment_method")
    if name is not None:
        if name == intent.payment_method and intent.card:
            return card_named(intent.card)
        card = card_named(call.account.methods.get(name, name))
        if card is None:
            raise no_such("PaymentMethod", name, param="payment_method", status=400)
        return card
    given = call.form.get("payment_method_data")
    if given is None:
        return None
    return _card_of_data(given)


def _card_of_data(given: object) -> Card:
    if not isinstance(given, dict) or given.get("type") != "card":
        raise invalid("The sandbox knows cards only.", param="payment_method_data[type]")
    card = given.get("card")
    told = card if isinstance(card, dict) else {}
    found = card_of_token(str(told.get("token", ""))) or card_of_number(str(told.get("number", "")))
    if found is None:
        raise invalid("Unknown test card.", param="payment_method_data[card]")
    return found


def kept_card(intent: PaymentIntent) -> Card | None:
    """Return the card that the intent was given before, or None."""
    return card_named(intent.card) if intent.card else None


def confirm_with(call: Call, intent: PaymentIntent, card: Card) -> None:
    """Ask the card. The intent is saved whatever it says.

    Raises: Refused 402 for a decline, or for an action that the request did not allow.
    """
    intent.card = card.name
    intent.payment_method = new_id("pm")
    intent.next_action = None
    intent.last_payment_error = None
    if card.decline is not None:
        raise _declined(call, intent, card)
    if card.needs_action:
        _ask_for_action(call, intent, card)
        return
    charge_card(call, intent, card)


def charge_card(call: Call, intent: PaymentIntent, card: Card) -> None:
    """Take the money, or put a hold on it."""
    charge = _new_charge(call, intent, card)
    intent.latest_charge = charge.id
    intent.next_action = None
    if intent.capture_method == "manual":
        intent.status = "requires_capture"
        intent.amount_capturable = intent.amount
        charge.capture_before = call.now + AUTHORISATION_LASTS
    else:
        intent.status = "succeeded"
        intent.amount_received = intent.amount
        charge.captured = True
        charge.amount_captured = charge.amount
    call.save(charge)
    call.save(intent)
    call.emit("charge.succeeded", charge)
    if intent.status == "succeeded":
        call.emit("payment_intent.succeeded", intent)
        if card.dispute is not None:
            disputes.open_dispute(call.account, charge, reason=card.dispute)
    else:
        call.emit("payment_intent.amount_capturable_updated", intent)


def _new_charge(call: Call, intent: PaymentIntent, card: Card) -> Charge:
    return Charge(
        id=new_id("ch"),
        created=call.now,
        amount=intent.amount,
        currency=intent.currency,
        payment_intent=intent.id,
        payment_method=intent.payment_method or "",
        card=card.name,
        metadata=dict(intent.metadata),
        description=intent.description,
        receipt_email=intent.receipt_email,
        customer=intent.customer,
        shipping=intent.shipping,
    )


def _declined(call: Call, intent: PaymentIntent, card: Card) -> Refused:
    decline = card.decline
    assert decline is not None
    charge = _new_charge(call, intent, card)
    charge.status, charge.paid = "failed", False
    charge.failure_code, charge.failure_message = decline.code, decline.message
    charge.decline_code = decline.decline_code
    intent.latest_charge = charge.id
    call.save(charge)
    refused = Refused(
        402,
        decline.message,
        kind="card_error",
        code=decline.code,
        decline_code=decline.decline_code,
        param=decline.param,
        advice_code=decline.advice,
        charge=charge.id,
        began=True,
    )
    fail(call, intent, card, refused)
    call.emit("charge.failed", charge)
    return refused


def fail(call: Call, intent: PaymentIntent, card: Card, refused: Refused) -> None:
    """Put the intent back where another card may pay it; error and intent tell why."""
    method = payment_method(intent.payment_method or "", card, call.now)
    intent.status = "requires_payment_method"
    intent.next_action = None
    intent.last_payment_error = {**refused.error, "payment_method": method}
    intent.payment_method = intent.card = None
    call.save(intent)
    call.emit("payment_intent.payment_failed", intent)
    refused.error["payment_intent"] = payment_intent(intent)
    refused.error["payment_method"] = method


def _ask_for_action(call: Call, intent: PaymentIntent, card: Card) -> None:
    """Stop at `requires_action`, unless the request said that nobody is there to act."""
    off_session = call.form.get("off_session", "false") != "false"
    if off_session or boolean(call.form, "error_on_requires_action"):
        refused = Refused(
            402,
            "The card must be authenticated by its holder.",
            kind="card_error",
            code="authentication_required",
            decline_code="authentication_required" if off_session else "authentication_not_handled",
            began=True,
        )
        fail(call, intent, card, refused)
        raise refused
    intent.status = "requires_action"
    return_url = string(call.form, "return_url")
    if return_url:
        intent.next_action = {
            "type": "redirect_to_url",
            "redirect_to_url": {"return_url": return_url, "url": "https://sandbox.invalid/3ds"},
        }
    else:
        intent.next_action = {"type": "use_stripe_sdk", "use_stripe_sdk": {}}
    call.save(intent)
    call.emit("payment_intent.requires_action", intent)
