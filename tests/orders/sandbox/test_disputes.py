"""Disputes: opened by the card or by hand."""

from __future__ import annotations

import pytest

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till


def types(control: SandboxControl, till: Till) -> list[str]:
    return [str(event["type"]) for event in control.events(till.key)]


class TestADispute:
    def test_comes_with_its_card(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay(payment_method="pm_card_createDispute")
        [dispute] = till.client.v1.disputes.list(params={"payment_intent": paid.id}).data

        assert (dispute.amount, dispute.status) == (3500, "needs_response")
        assert till.client.v1.charges.retrieve(str(paid.latest_charge)).disputed is True
        assert types(control, till)[-2:] == [
            "charge.dispute.created",
            "charge.dispute.funds_withdrawn",
        ]

    @pytest.mark.parametrize(
        ("status", "last"),
        [
            ("won", "charge.dispute.funds_reinstated"),
            ("lost", "charge.dispute.closed"),
            ("under_review", "charge.dispute.updated"),
        ],
    )
    def test_goes_on(self, till: Till, control: SandboxControl, status: str, last: str) -> None:
        dispute = control.dispute(till.pay().id, amount=1000, reason="product_not_received")
        control.move_dispute(dispute["id"], status)

        seen = till.client.v1.disputes.retrieve(dispute["id"])
        assert (seen.status, seen.amount, seen.reason) == (status, 1000, "product_not_received")
        assert types(control, till)[-1] == last

    def test_that_was_won_may_be_refunded(self, till: Till, control: SandboxControl) -> None:
        paid = till.pay()
        control.move_dispute(control.dispute(paid.id)["id"], "won")
        assert till.refund(paid).status == "succeeded"

    def test_is_no_dispute_yet_when_it_is_an_inquiry(
        self, till: Till, control: SandboxControl
    ) -> None:
        paid = till.pay()
        inquiry = control.dispute(paid.id, reason="inquiry")
        assert inquiry["status"] == "warning_needs_response"
        assert till.refund(paid).status == "succeeded"
        assert "charge.dispute.funds_withdrawn" not in types(control, till)
