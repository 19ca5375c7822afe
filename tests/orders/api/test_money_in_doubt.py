"""Ways in which money in doubt could have been charged twice, lost, or told wrongly."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta

import pytest
import requests
from django.conf import settings

from orders.actions import reconcile
from orders.clock import database_now
from orders.handlers.base import ChargeOrder, Outcome, Result, handler_key
from orders.handlers.stripe import StripeHandler
from orders.models import Merchant
from orders.sandbox.client import SandboxControl
from tests.shop import Reply, Shop, new_key


class TestAChargeInFlight:
    def held(
        self, pool: ThreadPoolExecutor, shop: Shop, stripe: SandboxControl, key: str, when: str
    ) -> tuple[str, Future[Reply], Callable[[], int]]:
        """Complete a checkout, and hold the provider's call before or after it acts."""
        checkout, gate = shop.checkout(), f"gate-{key}"
        stripe.gate(gate, when=when, account=shop.account, method="POST", times=1)
        sent = pool.submit(shop.complete, checkout, key)
        assert stripe.waiting_at(gate, at_least=1) == 1
        return checkout, sent, lambda: stripe.open_gate(gate)

    def test_is_not_declined_by_whoever_sees_its_intent_before_it_is_confirmed(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key()
        with ThreadPoolExecutor(1) as pool:
            checkout, sent, go = self.held(pool, acme, stripe, key, "before")
            operation = acme.operations(idempotency_key=key)[0]
            requests.post(
                f"{stripe.base_url}/v1/payment_intents",
                auth=(acme.account, ""),
                data={
                    "amount": 3500,
                    "currency": "usd",
                    "allowed_payment_method_types[0]": "card",
                    "metadata[sarvex_operation]": operation["id"],
                },
                timeout=10,
            ).raise_for_status()
            reconcile.look_up(operation["id"], actor="system:test", now=database_now())
            other = acme.complete(checkout, new_key())
            go()
            told = sent.result(30)

        assert other.json()["code"] == "checkout_in_progress"
        assert told.status == 200
        assert stripe.summary(acme.account).charges == 1

    def test_is_settled_by_whoever_sees_its_success_first(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key()
        with ThreadPoolExecutor(1) as pool:
            checkout, sent, go = self.held(pool, acme, stripe, key, "after")
            operation = acme.operations(idempotency_key=key)[0]
            seen = reconcile.look_up(operation["id"], actor="system:test", now=database_now())
            go()
            told = sent.result(30)

        assert (seen.status, told.status) == (200, 200)
        assert told.content == seen.body
        assert not told.replayed
        assert len(acme.orders(checkout_session_id=checkout)) == 1

    def test_that_was_given_up_and_comes_after_all_is_never_told_as_nothing(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key()
        with ThreadPoolExecutor(1) as pool:
            checkout, sent, go = self.held(pool, acme, stripe, key, "before")
            operation = acme.operations(idempotency_key=key)[0]
            acme.let_time_pass(61)
            reconcile.look_up(operation["id"], actor="system:test", now=database_now())
            given_up = acme.operations(idempotency_key=key)[0]
            go()
            told = sent.result(30)
        known = acme.complete(checkout, key)

        assert given_up["error"]["code"] == "not_sent"
        assert told.status == 202
        assert acme.operations(idempotency_key=key)[1]["error"]["code"] == "contradicted"
        assert "contradicted" in {one["local_status"] for one in acme.mutations()}
        assert known.status == 200
        assert stripe.summary(acme.account).charges == 1


class TestALookUp:
    def test_finds_a_retry_under_the_time_of_its_first_try(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        stripe.fault("rate_limited", account=acme.account)
        acme.complete(checkout, key)
        first = acme.operations(idempotency_key=key)[0]
        requests.post(
            f"{stripe.base_url}/v1/payment_intents",
            auth=(acme.account, ""),
            headers={"Idempotency-Key": "as if the first had arrived late"},
            data={
                "amount": 3500,
                "currency": "usd",
                "confirm": "true",
                "payment_method": "pm_card_visa",
                "allowed_payment_method_types[0]": "card",
                "error_on_requires_action": "true",
                "metadata[sarvex_operation]": first["id"],
            },
            timeout=10,
        ).raise_for_status()
        stripe.shift_clock(900)
        acme.let_time_pass(900)
        stripe.fault("drop_before", account=acme.account, method="POST")
        try:
            unknown = acme.complete(checkout, key)
            known = acme.complete(checkout, key)
        finally:
            stripe.shift_clock(0)

        assert (unknown.status, known.status) == (202, 200)
        assert stripe.summary(acme.account).charges == 1

    def test_that_took_too_long_proves_no_absence(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        stripe.fault("drop_before", account=acme.account, method="POST")
        operation = acme.complete(checkout, key).json()["id"]
        acme.let_time_pass(61)
        monkeypatch.setattr(reconcile, "LOOK_MARGIN", -settings.SARVEX_PROVIDER_TIMEOUT)

        told = reconcile.look_up(operation, actor="system:test", now=database_now())

        assert told.status == 202
        assert acme.operations(idempotency_key=key)[0]["error"]["code"] == "not_seen_yet"

    def test_whose_answer_cannot_be_read_leaves_the_outcome_unknown(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        acme.complete(checkout, key, "pm_sandbox_drop_after")
        stripe.fault("error_before", account=acme.account, method="GET", status=200, body="[]")

        told = acme.complete(checkout, key, "pm_sandbox_drop_after")
        known = acme.complete(checkout, key, "pm_sandbox_drop_after")

        assert told.status == 202
        assert known.status == 200


class TestARequestThatCannotBeginInTime:
    def test_is_not_sent(self, acme: Shop, stripe: SandboxControl) -> None:
        order = ChargeOrder(
            handler_key=new_key(),
            amount=3500,
            currency="usd",
            token="pm_card_visa",
            capture=True,
            metadata={},
            begin_within=timedelta(seconds=-1),
        )

        outcome = StripeHandler(Merchant.objects.get(id=acme.id)).charge(order)

        assert (outcome.result, outcome.code) == (Result.NOT_SENT, "unreachable")
        assert stripe.requests(account=acme.account) == []


class TestWhatAProviderSays:
    def test_is_cut_to_what_can_be_stored(self) -> None:
        outcome = Outcome(result=Result.DECLINED, code="x" * 99, message="\0" + "m" * 999)

        assert (len(outcome.code), len(outcome.message)) == (64, 500)
        assert "\0" not in outcome.message

    def test_cannot_stop_a_decline_from_being_told(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        stripe.fault(
            "error_before",
            account=acme.account,
            status=402,
            type="card_error",
            code="a_code_that_is_longer_than_any_code_that_anybody_has_ever_thought_of",
        )

        told = acme.complete(acme.checkout(), new_key())

        assert (told.status, told.json()["code"]) == (402, "payment_declined")


class TestALongOrderIdOfTheMerchant:
    def test_does_not_stop_the_order(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout(metadata={"merchant_order_id": "A" * 500})

        told = acme.complete(checkout, new_key())

        assert told.json()["merchant_order_id"] == "A" * 500


class TestAProviderKey:
    def test_is_never_the_same_for_two_lives_or_two_keys(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        def named(key: str, generation: int, step: str = "") -> str:
            return handler_key(merchant="m", key=key, generation=generation, step=step, longest=255)

        names = [
            named(key, generation, step)
            for key in ("k", "k:1", "k:1:1", "k:capture", "k:0", "k:1:capture")
            for generation in (0, 1, 2)
            for step in ("", "capture", "void")
        ]

        assert len(set(names)) == len(names)
        assert named("k", 0) == "m:k"
        assert named("k", 1) == "m:k:1"
        assert named("checkout:cs_1", 0) == "m:checkout:cs_1"


class TestAnotherAgentsOperation:
    def test_is_told_of_without_its_key(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key("secret")
        acme.complete(checkout, key, "pm_sandbox_drop_after")

        told = acme.complete(checkout, new_key(), token=acme.another_key("agent"))

        assert told.json()["code"] == "checkout_in_progress"
        assert set(told.json()["operation"]) == {"object", "id", "type", "status"}
        assert key not in told.content.decode()
