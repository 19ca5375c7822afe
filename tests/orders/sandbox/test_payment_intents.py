"""Payment intents: shapes, states and refusals."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, at_once, header, refusal


class TestAPayment:
    def test_succeeds_with_an_ordinary_card(self, till: Till) -> None:
        paid = till.pay(metadata={"sarvex_order": "o1"}, description="Two tees")

        assert paid.id.startswith("pi_")
        assert (paid.status, paid.amount, paid.amount_received) == ("succeeded", 3500, 3500)
        assert paid.livemode is False
        assert paid.metadata["sarvex_order"] == "o1"
        assert str(paid.latest_charge).startswith("ch_")
        assert str(header(paid, "Request-Id")).startswith("req_")
        assert header(paid, "Stripe-Version") == "2026-10-28.endive"
        assert till.client.v1.payment_intents.retrieve(paid.id).to_dict() == paid.to_dict()

    @pytest.mark.parametrize(
        "card", ["pm_card_visa", "pm_card_mastercard", "pm_card_amex", "pm_card_visa_debit"]
    )
    def test_succeeds_with_cards_of_every_brand(self, till: Till, card: str) -> None:
        assert till.pay(payment_method=card).status == "succeeded"

    def test_takes_a_token_as_data(self, till: Till) -> None:
        data = {"type": "card", "card": {"token": "tok_visa"}}
        assert till.pay(payment_method=None, payment_method_data=data).status == "succeeded"

    def test_shows_its_charge_on_request(self, till: Till) -> None:
        charge: Any = till.pay(expand=["latest_charge"]).latest_charge

        assert (charge.object, charge.paid, charge.captured) == ("charge", True, True)
        assert charge.payment_method_details.card.last4 == "4242"

    def test_waits_to_be_confirmed(self, till: Till) -> None:
        intents = till.client.v1.payment_intents
        draft = till.pay(confirm=None, payment_method=None)
        assert draft.status == "requires_payment_method"
        ready = intents.update(draft.id, params={"payment_method": "pm_card_visa", "amount": 900})
        assert ready.status == "requires_confirmation"

        paid = intents.confirm(draft.id)
        assert (paid.status, paid.amount_received) == ("succeeded", 900)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            intents.confirm(draft.id)
        assert caught.value.code == "payment_intent_unexpected_state"
        with pytest.raises(stripe.InvalidRequestError):
            intents.update(draft.id, params={"amount": 1000})
        assert intents.update(draft.id, params={"metadata": {"a": "b"}}).metadata["a"] == "b"


DECLINES = [
    ("pm_card_chargeDeclined", "card_declined", "generic_decline"),
    ("pm_card_visa_chargeDeclined", "card_declined", "generic_decline"),
    ("pm_card_visa_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
    ("pm_card_chargeDeclinedInsufficientFunds", "card_declined", "insufficient_funds"),
    ("pm_card_visa_chargeDeclinedLostCard", "card_declined", "lost_card"),
    ("pm_card_visa_chargeDeclinedStolenCard", "card_declined", "stolen_card"),
    ("pm_card_chargeDeclinedExpiredCard", "expired_card", "expired_card"),
    ("pm_card_chargeDeclinedIncorrectCvc", "incorrect_cvc", "incorrect_cvc"),
    ("pm_card_chargeDeclinedProcessingError", "processing_error", "processing_error"),
]


class TestADecline:
    @pytest.mark.parametrize(("card", "code", "decline_code"), DECLINES)
    def test_says_why(self, till: Till, card: str, code: str, decline_code: str) -> None:
        with pytest.raises(stripe.CardError) as caught:
            till.pay(payment_method=card)

        told = refusal(caught.value)
        assert (caught.value.http_status, told["type"]) == (402, "card_error")
        assert (told["code"], told["decline_code"]) == (code, decline_code)
        assert told["payment_intent"]["status"] == "requires_payment_method"
        assert told["payment_intent"]["last_payment_error"]["code"] == code

    def test_leaves_an_intent_that_another_card_pays(
        self, till: Till, control: SandboxControl
    ) -> None:
        with pytest.raises(stripe.CardError) as caught:
            till.pay(payment_method="pm_card_visa_chargeDeclined")
        intent = refusal(caught.value)["payment_intent"]["id"]
        paid = till.client.v1.payment_intents.confirm(
            intent, params={"payment_method": "pm_card_visa"}
        )

        assert (paid.status, paid.last_payment_error) == ("succeeded", None)
        summary = control.summary(till.key)
        assert (summary.charges, summary.declined, summary.payment_intents) == (1, 1, 1)


class TestACardThatMustBeAuthenticated:
    def test_waits_for_its_holder(self, till: Till, control: SandboxControl) -> None:
        waiting = till.pay(payment_method="pm_card_authenticationRequired")
        assert waiting.status == "requires_action"
        assert waiting.next_action is not None
        assert control.summary(till.key).charges == 0

        control.authenticate(waiting.id)
        assert till.client.v1.payment_intents.retrieve(waiting.id).status == "succeeded"

    def test_may_fail_its_holder(self, till: Till, control: SandboxControl) -> None:
        waiting = till.pay(payment_method="pm_card_threeDSecure2Required")
        control.authenticate(waiting.id, succeed=False)

        failed = till.client.v1.payment_intents.retrieve(waiting.id)
        assert failed.status == "requires_payment_method"
        assert failed.last_payment_error is not None

    @pytest.mark.parametrize(
        ("how", "decline_code"),
        [
            ({"error_on_requires_action": True}, "authentication_not_handled"),
            ({"off_session": True}, "authentication_required"),
        ],
    )
    def test_is_declined_when_nobody_is_there(
        self, till: Till, how: dict[str, Any], decline_code: str
    ) -> None:
        with pytest.raises(stripe.CardError) as caught:
            till.pay(payment_method="pm_card_authenticationRequired", **how)

        assert refusal(caught.value)["code"] == "authentication_required"
        assert refusal(caught.value)["decline_code"] == decline_code
        assert till.intents()[0].status == "requires_payment_method"


REFUSED: list[tuple[dict[str, Any], str, str | None]] = [
    ({"amount": None}, "amount", "parameter_missing"),
    ({"currency": None}, "currency", "parameter_missing"),
    ({"payment_method": None}, "payment_method", "parameter_missing"),
    ({"amount": 49}, "amount", "amount_too_small"),
    ({"amount": 100_000_000}, "amount", "amount_too_large"),
    ({"amount": 0}, "amount", "parameter_invalid_integer"),
    ({"amount": -5}, "amount", "parameter_invalid_integer"),
    ({"amount": "12.5"}, "amount", "parameter_invalid_integer"),
    ({"amount": "²"}, "amount", "parameter_invalid_integer"),
    ({"currency": "zzz"}, "currency", None),
    ({"currency": "gbp", "amount": 29}, "amount", "amount_too_small"),
    ({"currency": "kwd", "amount": 5124}, "amount", None),
    ({"currency": "isk", "amount": 550}, "amount", None),
    ({"amuont": 3500}, "amuont", "parameter_unknown"),
    ({"payment_method": "pm_nobody"}, "payment_method", "resource_missing"),
    ({"capture_method": "later"}, "capture_method", None),
    ({"confirm": "yes"}, "confirm", None),
    ({"metadata": {"k" * 41: "v"}}, f"metadata[{'k' * 41}]", None),
    ({"metadata": {"k": "v" * 501}}, "metadata[k]", None),
    ({"metadata": {f"k{n}": "v" for n in range(51)}}, "metadata", None),
    ({"shipping": {"nmae": "B"}}, "shipping[nmae]", "parameter_unknown"),
    ({"expand": ["nothing"]}, "expand", None),
]


class TestARefusal:
    @pytest.mark.parametrize(("changes", "param", "code"), REFUSED)
    def test_names_the_parameter_and_does_nothing(
        self,
        till: Till,
        control: SandboxControl,
        changes: dict[str, Any],
        param: str,
        code: str | None,
    ) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.pay(**changes)

        assert caught.value.http_status == 400
        assert (caught.value.param, caught.value.code) == (param, code)
        assert refusal(caught.value)["type"] == "invalid_request_error"
        assert control.summary(till.key).payment_intents == 0

    def test_takes_what_is_just_allowed(self, till: Till) -> None:
        metadata = {f"{n:040}": "v" * 500 for n in range(50)}
        assert till.pay(amount=50, metadata=metadata).metadata.to_dict() == metadata
        assert till.pay(amount=5120, currency="kwd").amount == 5120
        assert till.pay(amount=50, currency="jpy").currency == "jpy"

    def test_wants_to_know_where_a_redirect_would_come_back(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError, match="return_url"):
            till.pay(payment_method_types=None)

    def test_of_an_unknown_url_is_a_404(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.customers.create()
        assert caught.value.http_status == 404


class TestAHold:
    def test_is_captured_whole(self, till: Till, control: SandboxControl) -> None:
        held = till.hold()
        assert (held.status, held.amount_capturable) == ("requires_capture", 3500)
        assert control.summary(till.key).authorized == 1

        taken = till.client.v1.payment_intents.capture(held.id)
        assert (taken.status, taken.amount_received, taken.amount_capturable) == (
            "succeeded", 3500, 0,
        )  # fmt: skip

    def test_is_captured_in_part_and_the_rest_released(self, till: Till) -> None:
        held = till.hold()
        taken = till.client.v1.payment_intents.capture(held.id, params={"amount_to_capture": 3000})

        assert (taken.amount, taken.amount_received, taken.amount_capturable) == (3500, 3000, 0)
        assert till.refund(taken).amount == 3000

    def test_yields_no_more_than_it_holds(self, till: Till) -> None:
        held = till.hold()
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.capture(held.id, params={"amount_to_capture": 3501})
        assert caught.value.code == "amount_too_large"

    def test_is_captured_once(self, till: Till, control: SandboxControl) -> None:
        held = till.hold()
        till.client.v1.payment_intents.capture(held.id)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.capture(held.id)

        assert caught.value.code == "payment_intent_unexpected_state"
        assert refusal(caught.value)["payment_intent"]["status"] == "succeeded"
        assert control.summary(till.key).amount_captured == 3500

    def test_is_released_by_cancelling(self, till: Till, control: SandboxControl) -> None:
        held = till.hold()
        params: Any = {"cancellation_reason": "requested_by_customer"}
        gone = till.client.v1.payment_intents.cancel(held.id, params=params)

        assert (gone.status, gone.cancellation_reason) == ("canceled", "requested_by_customer")
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.capture(held.id)
        assert caught.value.code == "payment_intent_unexpected_state"
        summary = control.summary(till.key)
        assert (summary.authorized, summary.amount_captured, summary.refunds) == (0, 0, 0)

    def test_that_was_captured_is_not_cancelled(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.cancel(till.pay().id)
        assert caught.value.code == "payment_intent_unexpected_state"

    def test_expires_after_seven_days(self, till: Till, control: SandboxControl) -> None:
        held = till.hold()
        control.shift_clock(7 * 86400 + 1)

        gone = till.client.v1.payment_intents.retrieve(held.id)
        assert (gone.status, gone.cancellation_reason) == ("canceled", "automatic")

    def test_may_be_over_before_stripe_has_cancelled_it(
        self, till: Till, control: SandboxControl
    ) -> None:
        held = till.hold()
        control.expire(held.id, canceled=False)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.capture(held.id)
        assert caught.value.code == "charge_expired_for_capture"

    def test_is_either_captured_or_cancelled_when_both_come_at_once(
        self, till: Till, control: SandboxControl
    ) -> None:
        for _ in range(10):
            held = till.hold()
            answers = at_once(4, partial(capture_or_cancel, held.id, till))
            won = [one for one in answers if isinstance(one, stripe.PaymentIntent)]
            assert len(won) == 1
            now = till.client.v1.payment_intents.retrieve(held.id)
            assert now.status == won[0].status
            assert now.amount_received == (3500 if now.status == "succeeded" else 0)


def capture_or_cancel(intent: str, till: Till, number: int) -> stripe.PaymentIntent:
    intents = till.new_client().v1.payment_intents
    return intents.cancel(intent) if number % 2 else intents.capture(intent)
