"""Stripe's v1 idempotency: docs.stripe.com/api/idempotent_requests."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, at_once, header, refusal


class TestAKey:
    def test_repeats_its_first_result_byte_for_byte(
        self, till: Till, control: SandboxControl
    ) -> None:
        first = till.pay(key="k")
        again = till.pay(key="k")

        assert again.last_response is not None
        assert first.last_response is not None
        assert again.last_response.body == first.last_response.body
        assert header(first, "Idempotent-Replayed") is None
        assert header(again, "Idempotent-Replayed") == "true"
        assert header(again, "Original-Request") == header(first, "Request-Id")
        assert header(again, "Request-Id") != header(first, "Request-Id")
        summary = control.summary(till.key)
        assert (summary.charges, summary.replays, summary.idempotency_keys) == (1, 1, 1)

    def test_repeats_the_first_state_not_the_present_one(self, till: Till) -> None:
        held = till.hold(key="k")
        till.client.v1.payment_intents.capture(held.id)

        assert till.hold(key="k").status == "requires_capture"

    def test_does_not_care_for_the_order_of_parameters(self, till: Till) -> None:
        params = till.params()
        backwards = dict(reversed(list(params.items())))
        intents = till.client.v1.payment_intents
        one = intents.create(params=params, options={"idempotency_key": "k"})
        two = intents.create(params=backwards, options={"idempotency_key": "k"})  # type: ignore[arg-type]

        assert one.id == two.id

    def test_refuses_other_parameters(self, till: Till, control: SandboxControl) -> None:
        till.pay(key="k")
        with pytest.raises(stripe.IdempotencyError) as caught:
            till.pay(key="k", amount=3600)

        assert caught.value.http_status == 400
        assert refusal(caught.value)["type"] == "idempotency_error"
        assert "code" not in refusal(caught.value)
        assert control.summary(till.key).charges == 1

    def test_refuses_another_endpoint(self, till: Till) -> None:
        held = till.hold(key="k")
        with pytest.raises(stripe.IdempotencyError):
            till.client.v1.payment_intents.capture(held.id, options={"idempotency_key": "k"})

        assert till.client.v1.payment_intents.retrieve(held.id).status == "requires_capture"

    def test_means_something_else_to_another_account(self, till: Till, rival: Till) -> None:
        assert till.pay(key="k").id != rival.pay(key="k").id

    def test_keeps_a_decline(self, till: Till, control: SandboxControl) -> None:
        codes = []
        for _ in range(2):
            with pytest.raises(stripe.CardError) as caught:
                till.pay(key="k", payment_method="pm_card_visa_chargeDeclined")
            codes.append(refusal(caught.value)["charge"])

        assert codes[0] == codes[1]
        assert control.summary(till.key).declined == 1

    def test_keeps_an_error_that_came_after_the_charge(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("error_after", account=till.key)
        for _ in range(2):
            with pytest.raises(stripe.APIError) as caught:
                till.pay(key="k")
            assert caught.value.http_status == 500

        assert [one["replayed"] for one in control.requests(account=till.key)] == [False, True]
        assert control.summary(till.key).charges == 1

    def test_is_not_burnt_by_a_parameter_that_is_refused(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError):
            till.pay(key="k", amount=1)

        assert till.pay(key="k").status == "succeeded"

    def test_is_not_burnt_by_a_rate_limit(self, till: Till, control: SandboxControl) -> None:
        control.fault("rate_limited", account=till.key)
        with pytest.raises(stripe.RateLimitError):
            till.pay(key="k")

        assert till.pay(key="k").status == "succeeded"

    def test_may_have_255_characters_and_no_more(self, till: Till) -> None:
        assert till.pay(key="k" * 255).status == "succeeded"
        with pytest.raises(stripe.InvalidRequestError):
            till.pay(key="k" * 256)

    def test_is_forgotten_after_a_day(self, till: Till, control: SandboxControl) -> None:
        first = till.pay(key="k")
        control.shift_clock(24 * 3600 - 60)
        assert till.pay(key="k").id == first.id
        control.shift_clock(120)
        assert till.pay(key="k").id != first.id

    def test_is_forgotten_sooner_when_that_is_set(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.settings(idempotency_keep_s=60)
        first = till.pay(key="k")
        control.shift_clock(61)

        assert till.pay(key="k").id != first.id


class TestRequestsAtOnce:
    def test_charge_once_for_one_key(self, till: Till, control: SandboxControl) -> None:
        control.gate("door", account=till.key)
        with ThreadPoolExecutor(1) as pool:
            holder = pool.submit(till.pay, key="k")
            control.waiting_at("door", at_least=1)
            others = at_once(9, lambda _: Till(till.url, till.key).pay(key="k"))
            control.open_gate("door")
            assert holder.result().status == "succeeded"

        assert [one.http_status for one in others] == [409] * 9
        assert {refusal(one)["code"] for one in others} == {"idempotency_key_in_use"}
        assert {refusal(one)["type"] for one in others} == {"idempotency_error"}
        summary = control.summary(till.key)
        assert (summary.charges, summary.conflicts) == (1, 9)

    def test_charge_once_for_one_key_without_a_gate(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.default_delay(50)
        answers = at_once(10, lambda _: Till(till.url, till.key).pay(key="k"))

        paid = [one for one in answers if isinstance(one, stripe.PaymentIntent)]
        assert len({one.id for one in paid}) == 1
        assert all(one.http_status == 409 for one in answers if one not in paid)
        assert control.summary(till.key).charges == 1

    def test_charge_each_for_keys_of_their_own(self, till: Till, control: SandboxControl) -> None:
        answers = at_once(10, lambda number: Till(till.url, till.key).pay(key=f"k{number}"))

        assert len({one.id for one in answers}) == 10
        assert control.summary(till.key).charges == 10

    def test_with_other_parameters_are_refused_while_the_key_is_held(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.gate("door", account=till.key)
        with ThreadPoolExecutor(1) as pool:
            holder = pool.submit(till.pay, key="k")
            control.waiting_at("door", at_least=1)
            with pytest.raises(stripe.IdempotencyError):
                till.new_client().v1.payment_intents.create(
                    params=till.params(amount=999), options={"idempotency_key": "k"}
                )
            control.open_gate("door")
            assert holder.result().amount == 3500
