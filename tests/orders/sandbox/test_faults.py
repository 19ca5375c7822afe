"""Misbehaviour through the control path: each action, and what it leaves behind."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import requests
import stripe

from orders.sandbox.client import SandboxControl, SandboxRefused
from tests.orders.sandbox.server import Till, refusal


def charges(control: SandboxControl, till: Till) -> int:
    return control.summary(till.key).charges


class TestAFault:
    def test_that_drops_before_acting_leaves_nothing(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("drop_before", account=till.key)
        with pytest.raises(stripe.APIConnectionError):
            till.pay(key="k")
        assert charges(control, till) == 0
        [arrival] = control.requests(account=till.key)
        assert (arrival["state"], arrival["acted"]) == ("dropped", False)

        assert till.pay(key="k").status == "succeeded"
        assert charges(control, till) == 1

    def test_that_drops_after_acting_leaves_a_charge_to_be_found(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("drop_after", account=till.key)
        with pytest.raises(stripe.APIConnectionError):
            till.pay(key="k")
        [arrival] = control.requests(account=till.key)
        assert (arrival["state"], arrival["acted"]) == ("dropped", True)

        [found] = till.intents()
        assert found.status == "succeeded"
        assert till.pay(key="k").id == found.id
        assert charges(control, till) == 1

    def test_that_errs_before_acting_is_not_kept(self, till: Till, control: SandboxControl) -> None:
        control.fault("error_before", account=till.key, status=503, message="Later.")
        with pytest.raises(stripe.APIError) as caught:
            till.pay(key="k")
        assert (caught.value.http_status, charges(control, till)) == (503, 0)
        assert refusal(caught.value)["message"] == "Later."

        assert till.pay(key="k").status == "succeeded"

    def test_that_errs_after_acting_is_kept_for_the_key(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("error_after", account=till.key, type="api_error", code="lock_timeout")
        for _ in range(2):
            with pytest.raises(stripe.APIError) as caught:
                till.pay(key="k")
            assert refusal(caught.value)["code"] == "lock_timeout"
        assert [one.status for one in till.intents()] == ["succeeded"]

    def test_that_errs_in_front_of_stripe_keeps_the_true_result(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("error_after", account=till.key, status=502, html=True)
        with pytest.raises(stripe.APIError) as caught:
            till.pay(key="k")
        assert "<h1>502</h1>" in str(caught.value)

        assert till.pay(key="k").status == "succeeded"
        assert charges(control, till) == 1

    def test_that_answers_nothing_has_acted(self, till: Till, control: SandboxControl) -> None:
        control.fault("empty", account=till.key)
        with pytest.raises(stripe.APIError) as caught:
            till.pay(key="k")
        assert (caught.value.http_status, charges(control, till)) == (200, 1)

    @pytest.mark.parametrize(("action", "status"), [("in_use", 409), ("rate_limited", 429)])
    def test_that_refuses_at_the_door_has_not_acted(
        self, till: Till, control: SandboxControl, action: str, status: int
    ) -> None:
        control.fault(action, account=till.key)
        with pytest.raises(stripe.StripeError) as caught:
            till.pay(key="k")
        assert (caught.value.http_status, charges(control, till)) == (status, 0)
        assert till.pay(key="k").status == "succeeded"

    def test_that_acts_on_another_amount_says_so(self, till: Till, control: SandboxControl) -> None:
        control.fault("wrong_amount", account=till.key)
        assert till.pay(amount=3500).amount_received == 3600

    @pytest.mark.parametrize(("when", "left"), [("before", 0), ("after", 1)])
    def test_that_hangs_outlasts_the_caller(
        self, till: Till, control: SandboxControl, when: str, left: int
    ) -> None:
        control.fault("hang", account=till.key, when=when)
        hasty = Till(till.url, till.key, timeout=0.3)
        with pytest.raises(stripe.APIConnectionError):
            hasty.pay(key="k")
        assert charges(control, till) == left

    def test_that_delays_lets_the_request_arrive_after_its_caller_has_gone(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.gate("late", account=till.key)
        hasty = Till(till.url, till.key, timeout=0.3)
        with pytest.raises(stripe.APIConnectionError):
            hasty.pay(key="k")
        assert charges(control, till) == 0

        control.open_gate("late")
        assert till.pay(key="k").status == "succeeded"
        assert charges(control, till) == 1

    def test_delays_before_or_after_acting(self, till: Till, control: SandboxControl) -> None:
        control.fault("delay", account=till.key, ms=150)
        control.fault("delay", account=till.key, ms=150, when="after")
        begun = time.monotonic()
        till.pay()
        assert time.monotonic() - begun >= 0.3


class TestWhatAFaultMeets:
    def test_is_the_nth_request_and_so_many_after_it(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.fault("error_before", account=till.key, nth=2, times=2)
        outcomes = []
        for _ in range(4):
            try:
                till.pay()
                outcomes.append("paid")
            except stripe.APIError:
                outcomes.append("erred")
        assert outcomes == ["paid", "erred", "erred", "paid"]

    def test_is_everything_until_it_is_cleared(self, till: Till, control: SandboxControl) -> None:
        fault = control.fault("error_before", times=None, account=till.key)
        for _ in range(3):
            with pytest.raises(stripe.APIError):
                till.pay()
        assert [one["hits"] for one in control.faults()] == [3]
        control.clear_faults(fault)
        assert till.pay().status == "succeeded"

    @pytest.mark.parametrize(
        ("match", "method"),
        [
            ({"path": "/v1/payment_intents/*/capture"}, "capture"),
            ({"path": "/v1/refunds"}, "refund"),
            ({"method": "GET"}, "retrieve"),
            ({"metadata": {"sarvex_order": "o2"}}, "other order"),
            ({"payment_method": "pm_card_amex"}, "other card"),
            ({"idempotency_key": "k2"}, "other key"),
        ],
    )
    def test_is_what_it_matches_and_nothing_else(
        self, till: Till, control: SandboxControl, match: dict[str, Any], method: str
    ) -> None:
        control.fault("error_before", times=None, account=till.key, **match)
        v1 = till.client.v1
        acts: dict[str, Any] = {
            "capture": lambda held, _: v1.payment_intents.capture(held.id),
            "refund": lambda _, paid: till.refund(paid, 100),
            "retrieve": lambda held, _: v1.payment_intents.retrieve(held.id),
            "other order": lambda *_: till.pay(metadata={"sarvex_order": "o2"}),
            "other card": lambda *_: till.pay(payment_method="pm_card_amex"),
            "other key": lambda *_: till.pay(key="k2"),
        }
        held, paid = till.hold(), till.pay()
        for name, act in acts.items():
            if name == method:
                with pytest.raises(stripe.APIError):
                    act(held, paid)
            else:
                act(held, paid)

    def test_is_not_another_account(self, till: Till, rival: Till, control: SandboxControl) -> None:
        control.fault("error_before", account=till.key)
        assert rival.pay().status == "succeeded"

    @pytest.mark.parametrize(
        "settings", [{"action": "explode"}, {"action": "gate"}, {"action": "delay"}, {"x": 1}]
    )
    def test_must_make_sense(self, url: str, settings: dict[str, Any]) -> None:
        answer = requests.post(
            f"{url}/_sandbox/faults", json={"action": "drop_after", **settings}, timeout=5
        )
        assert answer.status_code == 400


class TestAGate:
    def test_lets_them_through_one_by_one(self, till: Till, control: SandboxControl) -> None:
        control.gate("g", account=till.key, when="after")
        with ThreadPoolExecutor(3) as pool:
            waiting = [pool.submit(Till(till.url, till.key).pay) for _ in range(3)]
            assert control.waiting_at("g", at_least=3) == 3
            assert charges(control, till) == 3
            assert not any(one.done() for one in waiting)
            assert control.open_gate("g", 1) == 1
            assert control.waiting_at("g") == 2
            control.open_gate("g")
            assert {one.result().status for one in waiting} == {"succeeded"}

    def test_closes_again(self, till: Till, control: SandboxControl) -> None:
        control.gate("g", account=till.key)
        control.open_gate("g")
        assert till.pay().status == "succeeded"
        control.close_gate("g")
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(till.pay)
            assert control.waiting_at("g", at_least=1) == 1
            control.open_gate("g")
            assert held.result().status == "succeeded"

    def test_holds_nobody_after_a_reset(self, till: Till, control: SandboxControl) -> None:
        control.gate("g", account=till.key)
        with ThreadPoolExecutor(1) as pool:
            held = pool.submit(till.pay)
            control.waiting_at("g", at_least=1)
            control.reset()
            assert held.result().status == "succeeded"


class TestTheControlPath:
    def test_delays_everything_by_default(self, till: Till, control: SandboxControl) -> None:
        control.default_delay(120)
        begun = time.monotonic()
        till.pay()
        assert time.monotonic() - begun >= 0.12

    def test_remembers_what_arrived(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay(key="k", metadata={"a": "b"})
        till.pay(key="k", metadata={"a": "b"})
        first, again = control.requests(account=till.key, idempotency_key="k")

        assert (first["method"], first["path"]) == ("POST", "/v1/payment_intents")
        assert first["params"]["metadata"] == {"a": "b"}
        assert (first["status"], first["acted"], first["replayed"]) == (200, True, False)
        assert (again["status"], again["acted"], again["replayed"]) == (200, False, True)
        assert paid.last_response is not None
        assert first["request_id"] == paid.last_response.request_id

    def test_counts_by_metadata(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay(metadata={"sarvex_order": "o1"})
        till.pay(metadata={"sarvex_order": "o2"})
        till.refund(paid, 300)
        summary = control.summary(till.key, metadata={"sarvex_order": "o1"})
        assert (summary.charges, summary.amount_captured, summary.amount_refunded) == (1, 3500, 300)

    def test_says_what_it_does_not_have(self, control: SandboxControl) -> None:
        with pytest.raises(SandboxRefused, match="404"):
            control.expire("pi_nobody")
        with pytest.raises(SandboxRefused, match="404"):
            control.call("POST", "nonsense")
        with pytest.raises(SandboxRefused, match="400"):
            control.settings(nonsense=1)
