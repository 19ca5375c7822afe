"""Every verb, crash, redelivery and passing of time, in any order: the invariants hold."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any

import hypothesis.strategies as st
import pytest
from django.db import connection
from hypothesis import HealthCheck, Phase, settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from idempotency import delivery, replay_cache
from idempotency.models import OutboxEvent
from orders.actions import complete_checkout, keys, reconcile, settlement, submission
from orders.clock import database_now
from orders.models import CheckoutSession, Operation, Order
from orders.sandbox.client import SandboxControl
from tests.shop import Reply, Shop, new_key, open_shop

TOKENS = [
    "pm_card_visa", "pm_card_visa_chargeDeclined", "pm_sandbox_drop_before",
    "pm_sandbox_drop_after", "pm_sandbox_error_after", "pm_sandbox_empty",
    "pm_sandbox_rate_limited", "pm_sandbox_in_use",
]  # fmt: skip
CRASHES = [
    (complete_checkout, "publish"), (submission, "submit"), (submission, "settle"),
    (settlement, "answer_key"), (keys, "keep"), (reconcile, "settle"),
]  # fmt: skip


class Died(BaseException):
    """The process ended here; nothing catches that."""


class AnyOrder(RuleBasedStateMachine):
    """One merchant, a few checkouts, and whatever can happen to them."""

    checkouts = Bundle("checkouts")
    requests = Bundle("requests")
    sandbox: SandboxControl

    def __init__(self) -> None:
        super().__init__()
        self.shop: Shop = open_shop("any")
        self.answers: dict[str, bytes] = {}

    @initialize(target=requests, token=st.sampled_from(TOKENS))
    def begin_with_a_purchase(self, token: str) -> tuple[str, str, str]:
        return self.shop.checkout(), new_key("any"), token

    @rule(target=requests, request=requests, token=st.sampled_from(TOKENS))
    def try_another_key(self, request: tuple[str, str, str], token: str) -> tuple[str, str, str]:
        return request[0], new_key("any"), token

    @rule(target=checkouts)
    def open_a_checkout(self) -> str:
        return self.shop.checkout()

    @rule(target=requests, checkout=checkouts, token=st.sampled_from(TOKENS))
    def think_of_a_purchase(self, checkout: str, token: str) -> tuple[str, str, str]:
        return checkout, new_key("any"), token

    @rule(request=requests, patient=st.booleans())
    def complete(self, request: tuple[str, str, str], patient: bool) -> None:
        self.note(request, self.send(request, patient=patient))

    @rule(request=requests, crash=st.sampled_from(CRASHES), after=st.booleans())
    def complete_and_die(
        self, request: tuple[str, str, str], crash: tuple[Any, str], after: bool
    ) -> None:
        module, name = crash
        real = getattr(module, name)

        def dying(*args: Any, **kwargs: Any) -> Any:
            if after:
                real(*args, **kwargs)
            raise Died

        setattr(module, name, dying)
        try:
            self.send(request)
        except Died:
            pass
        finally:
            setattr(module, name, real)
            connection.close()

    @rule(checkout=checkouts)
    def cancel_the_checkout(self, checkout: str) -> None:
        self.shop.call("POST", f"/checkout/{checkout}/cancel")

    @rule(request=requests)
    def cancel_the_operation(self, request: tuple[str, str, str]) -> None:
        for one in self.shop.operations(idempotency_key=request[1]):
            path = f"/merchants/{self.shop.id}/operations/{one['id']}/cancel"
            self.shop.call("POST", path, role="merchant")

    @rule()
    def let_the_workers_work(self) -> None:
        delivery.deliver_due(at_most=timedelta(seconds=10))

    @rule()
    def deliver_everything_again(self) -> None:
        for event in OutboxEvent.objects.filter(merchant=self.shop.id):
            delivery.redeliver(event.event_id)

    @rule()
    def reconcile(self) -> None:
        for _ in reconcile.look_up_what_is_due(actor="system:test", at_most=timedelta(seconds=10)):
            pass

    @rule(request=requests)
    def look_up_now(self, request: tuple[str, str, str]) -> None:
        for one in self.shop.operations(idempotency_key=request[1]):
            reconcile.look_up(one["id"], actor="system:test", now=database_now())

    @rule(seconds=st.sampled_from([1, 6, 61, 400]))
    def let_time_pass(self, seconds: int) -> None:
        self.shop.let_time_pass(seconds)

    @rule()
    def lose_the_cache(self) -> None:
        replay_cache._client().flushdb()

    @invariant()
    def no_checkout_is_charged_or_ordered_twice(self) -> None:
        for checkout in CheckoutSession.objects.filter(merchant_id=self.shop.id):
            operations = list(Operation.objects.filter(checkout=checkout))
            made = sum(
                self.sandbox.summary(metadata={"sarvex_operation": one.root_id}).charges
                for one in operations
                if one.retry_count == 0
            )
            orders = Order.objects.filter(checkout=checkout).count()
            assert made <= 1
            assert orders <= made
            if all(one.is_final for one in operations):
                assert orders == made, [one.status for one in operations]
            assert (checkout.status == "completed") == (orders == 1)

    def teardown(self) -> None:
        """Let everything come to rest, and hold it against the promise once more."""
        for _ in range(3):
            self.shop.let_time_pass(3600)
            self.let_the_workers_work()
            self.reconcile()
        self.no_checkout_is_charged_or_ordered_twice()
        left = Operation.objects.filter(merchant_id=self.shop.id)
        assert all(one.is_final for one in left)

    def send(self, request: tuple[str, str, str], *, patient: bool = True) -> Reply:
        """Send a purchase, or send it again."""
        checkout, key, token = request
        headers = {} if patient else {"Prefer": "respond-async"}
        return self.shop.complete(checkout, key, token, headers=headers)

    def note(self, request: tuple[str, str, str], told: Reply) -> None:
        """Hold every answer against the promise, and equal ones against each other."""
        assert told.status in {200, 202, 402, 409, 503}, told.content
        if told.status == 200:
            assert told.content == self.answers.setdefault(request[1], told.content)
            assert json.loads(told.content)["object"] in {"order", "operation"}


@pytest.mark.timeout(300)
class TestAnyOrder:
    def test_keeps_the_promise(
        self, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from django.conf import settings as configured

        monkeypatch.setattr(configured, "SARVEX_DUPLICATE_WAIT", timedelta(seconds=0.05))
        AnyOrder.sandbox = stripe
        run_state_machine_as_test(
            AnyOrder,
            settings=settings(
                max_examples=25,
                stateful_step_count=25,
                deadline=None,
                # A failure is told as it was found: making it smaller takes minutes of requests.
                phases=[Phase.reuse, Phase.generate],
                suppress_health_check=list(HealthCheck),
            ),
        )
