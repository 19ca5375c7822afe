"""Lists and look-ups: newest first, by time, stable while the account goes on."""

from __future__ import annotations

import time
from typing import Any

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till


class TestAList:
    def test_begins_with_the_newest(self, till: Till) -> None:
        made = [till.pay().id for _ in range(3)]
        assert [one.id for one in till.intents()] == made[::-1]

    def test_shows_ten_by_default_and_says_whether_there_are_more(self, till: Till) -> None:
        for _ in range(11):
            till.pay()
        page = till.client.v1.payment_intents.list()
        assert (len(page.data), page.has_more) == (10, True)
        assert till.client.v1.payment_intents.list(params={"limit": 11}).has_more is False

    def test_neither_repeats_nor_skips_when_payments_come_in_between(self, till: Till) -> None:
        made = [till.pay().id for _ in range(7)]
        seen: list[str] = []
        params: Any = {"limit": 2}
        page = till.client.v1.payment_intents.list(params=params)
        while True:
            seen += [one.id for one in page.data]
            till.pay()
            if not page.has_more:
                break
            page = till.client.v1.payment_intents.list(
                params={"limit": 2, "starting_after": seen[-1]}
            )
        assert seen == made[::-1]

    def test_goes_backwards_too(self, till: Till) -> None:
        made = [till.pay().id for _ in range(5)]
        page = till.client.v1.payment_intents.list(params={"limit": 2, "ending_before": made[1]})
        assert [one.id for one in page.data] == [made[3], made[2]]
        assert page.has_more is True

    def test_is_narrowed_by_time(self, till: Till, control: SandboxControl) -> None:
        start = int(time.time())
        made = [till.pay().id]
        for _ in range(2):
            control.shift_clock(1000)
            made.append(till.pay().id)

        def found(**created: int) -> list[str]:
            params: Any = {"created": created}
            page = till.client.v1.payment_intents.list(params=params)
            return [one.id for one in page.data]

        assert found(gte=start + 900) == [made[2], made[1]]
        assert found(gte=start, lte=start + 1500) == [made[1], made[0]]
        assert found(lt=start + 900) == [made[0]]
        newest = till.client.v1.payment_intents.retrieve(made[2]).created
        assert found(gt=newest) == []
        assert found(gt=newest - 1) == [made[2]]

    def test_is_narrowed_by_time_although_the_clock_went_back(
        self, till: Till, control: SandboxControl
    ) -> None:
        late = till.pay()
        control.shift_clock(-5000)
        early = till.pay()
        intents = till.client.v1.payment_intents
        before = intents.list(params={"created": {"lt": late.created}})
        assert [one.id for one in before.data] == [early.id]
        since = intents.list(params={"created": {"gte": late.created}})
        assert [one.id for one in since.data] == [late.id]

    def test_is_narrowed_by_customer(self, till: Till) -> None:
        till.pay()
        hers = till.pay(customer="cus_her")
        page = till.client.v1.payment_intents.list(params={"customer": "cus_her"})
        assert [one.id for one in page.data] == [hers.id]

    @pytest.mark.parametrize("limit", [0, 101, "many"])
    def test_has_one_to_a_hundred_rows(self, till: Till, limit: Any) -> None:
        with pytest.raises(stripe.InvalidRequestError) as caught:
            till.client.v1.payment_intents.list(params={"limit": limit})
        assert caught.value.code == "parameter_invalid_integer"

    def test_expands_its_rows(self, till: Till) -> None:
        till.pay()
        params: Any = {"expand": ["data.latest_charge"]}
        charge: Any = till.client.v1.payment_intents.list(params=params).data[0].latest_charge
        assert charge.amount_captured == 3500

    def test_of_charges_and_events_and_refunds_is_like_it(self, till: Till) -> None:
        paid = till.pay()
        till.refund(paid, 500)
        charges = till.client.v1.charges.list(params={"payment_intent": paid.id})
        assert [one.id for one in charges.data] == [paid.latest_charge]
        events = till.client.v1.events.list(params={"types": ["refund.created", "charge.captured"]})
        assert [one.type for one in events.data] == ["refund.created"]
        event = till.client.v1.events.retrieve(events.data[0].id)
        assert event.data.object["amount"] == 500


class TestALookUp:
    def test_finds_the_money_behind_a_balance_transaction(self, till: Till) -> None:
        charge = till.client.v1.charges.retrieve(str(till.pay().latest_charge))
        transaction = till.client.v1.balance_transactions.retrieve(str(charge.balance_transaction))
        assert (transaction.amount, transaction.source) == (3500, charge.id)

    def test_finds_a_payment_method(self, till: Till) -> None:
        paid = till.pay(payment_method="pm_card_mastercard")
        method = till.client.v1.payment_methods.retrieve(str(paid.payment_method))
        assert method.card is not None
        assert method.card.brand == "mastercard"

    def test_of_nothing_is_a_404(self, till: Till) -> None:
        v1 = till.client.v1
        looks = (v1.payment_intents, v1.refunds, v1.charges, v1.disputes, v1.events)
        for one in looks:
            with pytest.raises(stripe.InvalidRequestError) as caught:
                one.retrieve("xx_nothing")
            assert (caught.value.http_status, caught.value.code) == (404, "resource_missing")
