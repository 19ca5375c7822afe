"""Test payment methods: Stripe's own (https://docs.stripe.com/testing) and ours.

Stripe's stand for what a bank does. Ours, `pm_sandbox_…`, stand for what the wire does: they let
anyone rehearse ambiguity with nothing but a payment method, without access to the control path.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Decline:
    """Why a bank says no, in the words of https://docs.stripe.com/declines/codes."""

    code: str
    decline_code: str
    message: str
    param: str | None = None
    advice: str | None = "try_again_later"


@dataclass(frozen=True, slots=True)
class Card:
    """What one test payment method does."""

    name: str
    brand: str = "visa"
    last4: str = "4242"
    funding: str = "credit"
    decline: Decline | None = None
    needs_action: bool = False
    refund: str = "succeeded"  # what a refund begins as
    refund_ends: str = "succeeded"  # and what it becomes
    dispute: str | None = None  # the reason; "inquiry" for an inquiry


_DECLINED = "Your card was declined."
_DECLINES = {
    "chargeDeclined": ("0002", Decline("card_declined", "generic_decline", _DECLINED)),
    "chargeDeclinedInsufficientFunds": (
        "9995",
        Decline("card_declined", "insufficient_funds", "Your card has insufficient funds."),
    ),
    "chargeDeclinedLostCard": (
        "9987",
        Decline("card_declined", "lost_card", _DECLINED, advice="do_not_try_again"),
    ),
    "chargeDeclinedStolenCard": (
        "9979",
        Decline("card_declined", "stolen_card", _DECLINED, advice="do_not_try_again"),
    ),
    "chargeDeclinedExpiredCard": (
        "0069",
        Decline(
            "expired_card", "expired_card", "Your card has expired.", "exp_month",
            "confirm_card_data",
        ),
    ),
    "chargeDeclinedIncorrectCvc": (
        "0127",
        Decline(
            "incorrect_cvc", "incorrect_cvc", "The card's security code is wrong.", "cvc",
            "confirm_card_data",
        ),
    ),
    "chargeDeclinedProcessingError": (
        "0119",
        Decline("processing_error", "processing_error", "The card could not be processed."),
    ),
    "chargeDeclinedFraudulent": (
        "0019",
        Decline("card_declined", "fraudulent", _DECLINED, advice=None),
    ),
    "chargeDeclinedVelocityLimitExceeded": (
        "6975",
        Decline("card_declined", "card_velocity_exceeded", _DECLINED),
    ),
    "chargeCustomerFail": ("0341", Decline("card_declined", "generic_decline", _DECLINED)),
    "radarBlock": ("0019", Decline("card_declined", "fraudulent", _DECLINED, advice=None)),
}  # fmt: skip
_PLAIN = [
    Card("pm_card_visa"),
    Card("pm_card_visa_debit", last4="5556", funding="debit"),
    Card("pm_card_mastercard", brand="mastercard", last4="4444"),
    Card("pm_card_mastercard_debit", brand="mastercard", last4="8210", funding="debit"),
    Card("pm_card_mastercard_prepaid", brand="mastercard", last4="5100", funding="prepaid"),
    Card("pm_card_amex", brand="amex", last4="8431"),
    Card("pm_card_discover", brand="discover", last4="1117"),
    Card("pm_card_diners", brand="diners", last4="0004"),
    Card("pm_card_jcb", brand="jcb", last4="0505"),
    Card("pm_card_unionpay", brand="unionpay", last4="0005"),
    Card("pm_card_bypassPending", last4="0077"),
    Card("pm_card_threeDSecureOptional", last4="3055"),
    Card("pm_card_authenticationRequired", last4="3184", needs_action=True),
    Card("pm_card_authenticationRequiredOnSetup", last4="3155", needs_action=True),
    Card("pm_card_threeDSecureRequired", last4="3063", needs_action=True),
    Card("pm_card_threeDSecure2Required", last4="3220", needs_action=True),
    Card("pm_card_pendingRefund", last4="7726", refund="pending"),
    Card("pm_card_refundFail", last4="5126", refund_ends="failed"),
    Card("pm_card_createDispute", last4="0259", dispute="fraudulent"),
    Card("pm_card_createDisputeProductNotReceived", last4="2685", dispute="product_not_received"),
    Card("pm_card_createDisputeInquiry", last4="1976", dispute="inquiry"),
]

# What the wire does for our own: name → (fault's action, its settings).
REHEARSALS: dict[str, dict[str, object]] = {
    "pm_sandbox_timeout": {"action": "hang", "when": "after"},
    "pm_sandbox_drop_before": {"action": "drop_before"},
    "pm_sandbox_drop_after": {"action": "drop_after"},
    "pm_sandbox_error_before": {"action": "error_before"},
    "pm_sandbox_error_after": {"action": "error_after"},
    "pm_sandbox_in_use": {"action": "in_use"},
    "pm_sandbox_rate_limited": {"action": "rate_limited"},
    "pm_sandbox_empty": {"action": "empty"},
    "pm_sandbox_html_502": {"action": "error_after", "status": 502, "html": True},
    "pm_sandbox_wrong_amount": {"action": "wrong_amount"},
}
_SLOW = re.compile(r"pm_sandbox_slow_([0-9]{1,7})(ms|s)\Z")


def _every_card() -> dict[str, Card]:
    cards = {card.name: card for card in _PLAIN}
    for word, (last4, decline) in _DECLINES.items():
        for prefix in ("pm_card_", "pm_card_visa_"):
            cards[prefix + word] = Card(prefix + word, last4=last4, decline=decline)
    for name in REHEARSALS:
        cards[name] = Card(name)
    return cards


CARDS = _every_card()
# Numbers that Stripe documents, for `payment_method_data[card][number]`.
_NUMBERS = {
    "4242424242424242": "pm_card_visa", "4000056655665556": "pm_card_visa_debit",
    "5555555555554444": "pm_card_mastercard", "378282246310005": "pm_card_amex",
    "4000000000000002": "pm_card_chargeDeclined",
    "4000000000009995": "pm_card_chargeDeclinedInsufficientFunds",
    "4000000000000069": "pm_card_chargeDeclinedExpiredCard",
    "4000000000000127": "pm_card_chargeDeclinedIncorrectCvc",
    "4000000000000119": "pm_card_chargeDeclinedProcessingError",
    "4000002760003184": "pm_card_authenticationRequired",
}  # fmt: skip


def card_named(name: str) -> Card | None:
    """Return the test card of that name, or None."""
    card = CARDS.get(name)
    if card is None and _SLOW.match(name):
        return replace(CARDS["pm_card_visa"], name=name)
    return card


def card_of_token(token: str) -> Card | None:
    """Return the card behind `tok_visa` and its like, which mirror the payment methods."""
    return card_named("pm_card_" + token.removeprefix("tok_")) if token[:4] == "tok_" else None


def card_of_number(number: str) -> Card | None:
    """Return the card with one of the documented test numbers."""
    name = _NUMBERS.get(number.replace(" ", ""))
    return CARDS[name] if name else None


def rehearsal(name: str) -> dict[str, object] | None:
    """Return what the wire does for this payment method, None when it behaves."""
    slow = _SLOW.match(name)
    if slow:
        ms = int(slow[1]) * (1000 if slow[2] == "s" else 1)
        return {"action": "delay", "when": "before", "ms": ms}
    return REHEARSALS.get(name)
