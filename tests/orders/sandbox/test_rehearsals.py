"""Ambiguity with nothing but a payment method, for those who have no control path."""

from __future__ import annotations

import time

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till

# (payment method, HTTP status or None for silence, charges that it leaves)
UNCLEAR = [
    ("pm_sandbox_timeout", None, 1),
    ("pm_sandbox_drop_before", None, 0),
    ("pm_sandbox_drop_after", None, 1),
    ("pm_sandbox_error_before", 500, 0),
    ("pm_sandbox_error_after", 500, 1),
    ("pm_sandbox_empty", 200, 1),
    ("pm_sandbox_html_502", 502, 1),
    ("pm_sandbox_in_use", 409, 0),
    ("pm_sandbox_rate_limited", 429, 0),
]


class TestAnUnclearPayment:
    @pytest.mark.parametrize(("method", "status", "left"), UNCLEAR)
    def test_is_cleared_up_by_looking(
        self, till: Till, control: SandboxControl, method: str, status: int | None, left: int
    ) -> None:
        hasty = Till(till.url, till.key, timeout=0.5)
        with pytest.raises(stripe.StripeError) as caught:
            hasty.pay(key="k", payment_method=method, metadata={"sarvex_operation": "op"})

        assert caught.value.http_status == status
        found = till.intents()
        assert [one.status for one in found] == ["succeeded"] * left
        assert control.summary(till.key).charges == left

    @pytest.mark.parametrize(
        "method",
        ["pm_sandbox_timeout", "pm_sandbox_drop_after", "pm_sandbox_empty", "pm_sandbox_html_502"],
    )
    def test_is_cleared_up_by_its_key(
        self, till: Till, control: SandboxControl, method: str
    ) -> None:
        hasty = Till(till.url, till.key, timeout=0.5)
        with pytest.raises(stripe.StripeError):
            hasty.pay(key="k", payment_method=method)

        assert till.pay(key="k", payment_method=method).status == "succeeded"
        assert control.summary(till.key).charges == 1

    def test_may_be_confirmed_in_a_second_step(self, till: Till, control: SandboxControl) -> None:
        draft = till.pay(confirm=None, payment_method="pm_sandbox_drop_after")
        assert draft.status == "requires_confirmation"
        with pytest.raises(stripe.APIConnectionError):
            till.client.v1.payment_intents.confirm(draft.id)
        assert till.client.v1.payment_intents.retrieve(draft.id).status == "succeeded"

    def test_refunds_like_any_other(self, till: Till) -> None:
        with pytest.raises(stripe.APIConnectionError):
            till.pay(payment_method="pm_sandbox_drop_after")
        [paid] = till.intents()
        assert till.refund(paid).status == "succeeded"


class TestASlowPayment:
    @pytest.mark.parametrize(
        ("method", "seconds"), [("pm_sandbox_slow_150ms", 0.15), ("pm_sandbox_slow_1s", 1.0)]
    )
    def test_takes_its_time(self, till: Till, method: str, seconds: float) -> None:
        begun = time.monotonic()
        assert till.pay(payment_method=method).status == "succeeded"
        assert time.monotonic() - begun >= seconds


class TestAWrongPayment:
    def test_is_of_another_amount(self, till: Till) -> None:
        assert till.pay(payment_method="pm_sandbox_wrong_amount", amount=3500).amount == 3600


class TestAnUnknownRehearsal:
    def test_is_no_payment_method(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.pay(payment_method="pm_sandbox_explode")
        assert caught.value.code == "resource_missing"
