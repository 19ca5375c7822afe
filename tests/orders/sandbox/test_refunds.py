"""Refunds: never more than was captured, and honest about those that fail later."""

from __future__ import annotations

from typing import Any

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, at_once, refusal


def charge_of(till: Till, intent: stripe.PaymentIntent) -> stripe.Charge:
    return till.client.v1.charges.retrieve(str(intent.latest_charge))


class TestARefund:
    def test_returns_everything_by_default(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay()
        back = till.refund(paid, reason="requested_by_customer", metadata={"a": "b"})

        assert back.id.startswith("re_")
        assert (back.status, back.amount, back.currency) == ("succeeded", 3500, "usd")
        assert (back.charge, back.payment_intent) == (paid.latest_charge, paid.id)
        charge = charge_of(till, paid)
        assert (charge.amount_refunded, charge.refunded) == (3500, True)
        assert control.summary(till.key).amount_refunded == 3500

    def test_returns_a_part_and_later_the_rest(self, till: Till) -> None:
        paid = till.pay()
        till.refund(paid, 1000)
        assert charge_of(till, paid).refunded is False
        assert till.refund(paid).amount == 2500
        assert charge_of(till, paid).refunded is True

    def test_is_found_by_charge_too(self, till: Till) -> None:
        paid = till.pay()
        params: Any = {"charge": paid.latest_charge, "amount": 700}
        back = till.client.v1.refunds.create(params=params)

        assert till.client.v1.refunds.retrieve(back.id).payment_intent == paid.id
        found = till.client.v1.refunds.list(params={"payment_intent": paid.id})
        assert [one.id for one in found.data] == [back.id]

    def test_changes_its_metadata(self, till: Till) -> None:
        back = till.refund(till.pay())
        changed = till.client.v1.refunds.update(back.id, params={"metadata": {"a": "b"}})
        assert changed.metadata is not None
        assert changed.metadata["a"] == "b"


class TestARefusedRefund:
    def test_of_more_than_is_left_names_the_amount(self, till: Till) -> None:
        paid = till.pay()
        till.refund(paid, 3000)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(paid, 501)

        assert (caught.value.http_status, caught.value.param) == (400, "amount")
        assert "code" not in refusal(caught.value)

    def test_of_what_went_back_says_so(self, till: Till) -> None:
        paid = till.pay()
        till.refund(paid)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(paid)
        assert caught.value.code == "charge_already_refunded"

    @pytest.mark.parametrize("amount", [0, -1, "1e3"])
    def test_of_an_amount_that_is_none(self, till: Till, amount: Any) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(till.pay(), amount)
        assert caught.value.code == "parameter_invalid_integer"

    def test_of_a_misspelt_amount_does_not_return_everything(
        self, till: Till, control: SandboxControl
    ) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(till.pay(), amuont=5)
        assert caught.value.code == "parameter_unknown"
        assert control.summary(till.key).refunds == 0

    def test_of_a_hold_says_cancel(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError, match="cancel"):
            till.refund(till.hold())

    def test_of_a_digit_that_does_not_exist(self, till: Till) -> None:
        paid = till.pay(amount=5120, currency="kwd")
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(paid, 1005)
        assert caught.value.param == "amount"

    def test_of_a_disputed_charge(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay()
        control.dispute(paid.id)
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.refund(paid)
        assert caught.value.code == "charge_disputed"

    def test_of_nothing_in_particular(self, till: Till) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.refunds.create(params={"amount": 5})
        assert caught.value.code == "parameter_missing"


class TestRefundsAtOnce:
    def test_never_return_more_than_was_captured(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay(amount=3500)
        answers = at_once(10, lambda _: Till(till.url, till.key).refund(paid, 1000))

        done = [one for one in answers if isinstance(one, stripe.Refund)]
        assert len(done) == 3
        assert all(one.param == "amount" for one in answers if one not in done)
        assert control.summary(till.key).amount_refunded == 3000


class TestARefundThatEndsLater:
    def test_is_pending_and_then_succeeds(self, till: Till, control: SandboxControl) -> None:
        control.settings(refund_settles_after_ms=None)
        paid = till.pay(payment_method="pm_card_pendingRefund")
        back = till.refund(paid)
        assert back.status == "pending"
        assert charge_of(till, paid).amount_refunded == 3500

        control.end_refund(back.id, "succeeded")
        assert till.client.v1.refunds.retrieve(back.id).status == "succeeded"

    def test_fails_and_gives_its_amount_back_once(
        self, till: Till, control: SandboxControl
    ) -> None:
        control.settings(refund_settles_after_ms=None)
        paid = till.pay(payment_method="pm_card_refundFail")
        back = till.refund(paid)
        assert back.status == "succeeded"
        control.end_refund(back.id, "failed", failure_reason="expired_or_canceled_card")

        failed = till.client.v1.refunds.retrieve(back.id)
        assert (failed.status, failed.failure_reason) == ("failed", "expired_or_canceled_card")
        assert charge_of(till, paid).amount_refunded == 0
        assert control.summary(till.key).amount_refunded == 0
        assert till.refund(paid, 3500).amount == 3500

    @pytest.mark.parametrize(
        ("card", "ends"), [("pm_card_pendingRefund", "succeeded"), ("pm_card_refundFail", "failed")]
    )
    def test_ends_by_itself(
        self, till: Till, control: SandboxControl, card: str, ends: str
    ) -> None:
        control.settings(refund_settles_after_ms=0)
        back = till.refund(till.pay(payment_method=card))
        for _ in range(200):
            if till.client.v1.refunds.retrieve(back.id).status == ends:
                return
        raise AssertionError("it has not ended")

    def test_is_cancelled_only_while_it_waits_for_an_action(
        self, till: Till, control: SandboxControl
    ) -> None:
        paid = till.pay()
        back = till.refund(paid)
        with pytest.raises(stripe.InvalidRequestError):
            till.client.v1.refunds.cancel(back.id)
        control.end_refund(back.id, "requires_action")
        assert till.client.v1.refunds.cancel(back.id).status == "canceled"
        assert charge_of(till, paid).amount_refunded == 0


class TestTheDashboard:
    def test_refunds_behind_everybodys_back(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay()
        outside = control.dashboard_refund(paid.id, 1200)

        assert till.client.v1.refunds.retrieve(outside["id"]).amount == 1200
        assert charge_of(till, paid).amount_refunded == 1200
        event = control.events(till.key)[-1]
        assert (event["type"], event["request"]["id"]) == ("charge.refunded", None)
