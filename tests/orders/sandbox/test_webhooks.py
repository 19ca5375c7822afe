"""Webhooks: signed as Stripe signs, tried again, and lost, doubled, reordered and forged."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.receiver import SECRET, Receiver, receiver
from tests.orders.sandbox.server import Till, running_sandbox

PAID = ["payment_intent.created", "charge.succeeded", "payment_intent.succeeded"]


@pytest.fixture
def merchant(till: Till, control: SandboxControl) -> Iterator[Receiver]:
    """Receive the events of the till's account."""
    with receiver() as one:
        control.register_webhook(one.url, SECRET, account=till.key)
        yield one
        control.remove_webhooks()


class TestAnEvent:
    def test_is_signed_so_that_stripes_own_code_accepts_it(
        self, till: Till, merchant: Receiver
    ) -> None:
        paid = till.pay(key="k", metadata={"sarvex_order": "o1"})
        merchant.wait_for(3)

        assert merchant.types() == PAID
        event = merchant.events()[-1]
        assert (event.object, event.livemode, event.id[:4]) == ("event", False, "evt_")
        assert event.data.object.id == paid.id
        assert event.data.object.metadata["sarvex_order"] == "o1"
        assert paid.last_response is not None
        assert event.request.id == paid.last_response.request_id
        assert event.request.idempotency_key == "k"
        body, signed = merchant.received[0]
        with pytest.raises(stripe.SignatureVerificationError):
            stripe.Webhook.construct_event(body + b" ", signed, SECRET)

    def test_shows_its_object_as_it_was(self, till: Till, merchant: Receiver) -> None:
        till.pay()
        merchant.wait_for(3)
        created, _, succeeded = merchant.events()
        assert created.data.object.status == "requires_payment_method"
        assert succeeded.data.object.status == "succeeded"

    def test_comes_once_for_a_request_that_is_repeated(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        for _ in range(3):
            till.pay(key="k")
        control.webhooks(settled_within=5)
        assert merchant.types() == PAID

    def test_tells_of_declines_holds_and_refunds(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        with pytest.raises(stripe.CardError):
            till.pay(payment_method="pm_card_chargeDeclined")
        held = till.hold()
        till.client.v1.payment_intents.capture(held.id)
        till.client.v1.payment_intents.cancel(till.hold().id)
        back = till.refund(till.client.v1.payment_intents.retrieve(held.id), 100)
        control.end_refund(back.id, "failed")
        control.webhooks(settled_within=5)

        assert [one for one in merchant.types() if one != "payment_intent.created"] == [
            "payment_intent.payment_failed",
            "charge.failed",
            "charge.succeeded",
            "payment_intent.amount_capturable_updated",
            "charge.captured",
            "payment_intent.succeeded",
            "charge.succeeded",
            "payment_intent.amount_capturable_updated",
            "charge.refunded",
            "payment_intent.canceled",
            "refund.created",
            "charge.refunded",
            "refund.updated",
            "charge.refund.updated",
            "refund.failed",
        ]

    def test_has_an_id_that_tells_nothing_about_time(
        self, till: Till, control: SandboxControl
    ) -> None:
        for _ in range(5):
            till.pay()
        made = [event["id"] for event in control.events(till.key)]
        assert len(set(made)) == 15
        assert made != sorted(made)

    def test_goes_to_nobody_else(
        self, till: Till, rival: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        rival.pay()
        control.webhooks(settled_within=5)
        assert merchant.received == []

    def test_reaches_only_who_wants_it(self, till: Till, control: SandboxControl) -> None:
        with receiver() as one:
            wanted = ["payment_intent.succeeded"]
            control.register_webhook(one.url, SECRET, account=till.key, events=wanted)
            till.pay()
            control.webhooks(settled_within=5)
            assert one.types() == wanted

    def test_comes_although_the_answer_was_lost(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        control.fault("drop_after", account=till.key)
        with pytest.raises(stripe.APIConnectionError):
            till.pay()
        merchant.wait_for(3)
        assert merchant.types() == PAID

    def test_comes_before_the_answer_when_that_waits(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        control.fault("hang", account=till.key, when="after")
        with pytest.raises(stripe.APIConnectionError):
            Till(till.url, till.key, timeout=0.3).pay()
        merchant.wait_for(3)


class TestADelivery:
    def test_is_tried_again_when_it_fails(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        merchant.answers = [500]
        till.pay()
        merchant.wait_for(4)

        assert merchant.types() == [*PAID, PAID[0]]
        first, again = (merchant.events()[0], merchant.events()[3])
        assert first.id == again.id
        attempts = [
            (one["attempt"], one["status"])
            for one in control.webhooks(settled_within=5)["deliveries"]
            if one["event"] == first.id
        ]
        assert attempts == [(1, 500), (2, 200)]

    @pytest.mark.parametrize(
        ("order", "copies", "expected"),
        [
            ("as_made", 1, PAID),
            ("reversed", 1, PAID[::-1]),
            ("as_made", 2, [one for one in PAID for _ in range(2)]),
        ],
    )
    def test_is_held_and_released_at_will(
        self,
        till: Till,
        merchant: Receiver,
        control: SandboxControl,
        order: str,
        copies: int,
        expected: list[str],
    ) -> None:
        control.hold_webhooks()
        till.pay()
        assert control.webhooks()["held"] == 3
        assert merchant.received == []
        assert control.release_webhooks(order=order, copies=copies) == len(expected)
        merchant.wait_for(len(expected))
        assert merchant.types() == expected

    def test_is_lost_at_will(self, till: Till, merchant: Receiver, control: SandboxControl) -> None:
        control.hold_webhooks()
        till.pay()
        assert control.lose_held_webhooks() == 3
        till.client.v1.payment_intents.cancel(till.hold().id)
        control.webhooks(settled_within=5)
        assert "payment_intent.succeeded" not in merchant.types()

    @pytest.mark.parametrize("parallel", [False, True])
    def test_is_repeated_at_will(
        self, till: Till, merchant: Receiver, control: SandboxControl, parallel: bool
    ) -> None:
        till.pay()
        merchant.wait_for(3)
        event = merchant.events()[-1].id
        sent = control.resend_event(event, times=5, parallel=parallel)

        assert [one["status"] for one in sent] == [200] * 5
        assert [one.id for one in merchant.events()[3:]] == [event] * 5


class TestAForgery:
    @pytest.mark.parametrize(
        "how",
        [
            {"secret": "whsec_somebody_else"},
            {"tampered": True},
            {"age_s": 3600},
            {"signature": "t=1,v1=00"},
        ],
    )
    def test_does_not_pass(
        self, till: Till, merchant: Receiver, control: SandboxControl, how: dict[str, object]
    ) -> None:
        assert control.forge_event(account=till.key, **how) == 200
        with pytest.raises(stripe.SignatureVerificationError):
            merchant.events()

    def test_passes_with_the_right_secret_for_what_never_happened(
        self, till: Till, merchant: Receiver, control: SandboxControl
    ) -> None:
        made_up = {"id": "pi_never", "object": "payment_intent", "status": "succeeded"}
        control.forge_event(account=till.key, type="payment_intent.succeeded", object=made_up)
        [event] = merchant.events()
        assert event.data.object.id == "pi_never"


class TestTheCommandsOwnEndpoint:
    def test_gets_the_events_of_every_account(self, tmp_path: Path) -> None:
        with (
            receiver() as one,
            running_sandbox(tmp_path, "--webhook-url", one.url, "--webhook-secret", SECRET) as url,
        ):
            paid = {Till(url).pay().id, Till(url).pay().id}
            one.wait_for(6)
            assert {event.data.object.id for event in one.events()} >= paid
