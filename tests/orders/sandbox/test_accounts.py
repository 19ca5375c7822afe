"""Keys: who may ask, and who sees what."""

from __future__ import annotations

import pytest
import requests
import stripe

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, refusal


class TestAnAccount:
    def test_is_not_seen_by_another(self, till: Till, rival: Till) -> None:
        paid, held = till.pay(), till.hold()
        back = till.refund(paid, 100)
        theirs = rival.client.v1
        for ask in (
            lambda: theirs.payment_intents.retrieve(paid.id),
            lambda: theirs.payment_intents.capture(held.id),
            lambda: theirs.payment_intents.cancel(held.id),
            lambda: theirs.refunds.create(params={"payment_intent": paid.id}),
            lambda: theirs.refunds.retrieve(back.id),
            lambda: theirs.charges.retrieve(str(paid.latest_charge)),
            lambda: theirs.payment_methods.retrieve(str(paid.payment_method)),
        ):
            with pytest.raises(stripe.InvalidRequestError) as caught:
                ask()
            assert (caught.value.http_status, caught.value.code) == (404, "resource_missing")
        assert rival.intents() == []
        assert till.client.v1.payment_intents.retrieve(held.id).status == "requires_capture"

    def test_is_forgotten_alone(self, till: Till, rival: Till, control: SandboxControl) -> None:
        till.pay()
        rival.pay()
        control.reset(till.key)
        assert (len(till.intents()), len(rival.intents())) == (0, 1)


class TestAKey:
    @pytest.mark.parametrize(
        ("key", "error", "status"),
        [
            ("sk_test_invalid_1", stripe.AuthenticationError, 401),
            ("sk_live_0123456789", stripe.AuthenticationError, 401),
            ("nonsense", stripe.AuthenticationError, 401),
            ("sk_test_forbidden_1", stripe.PermissionError, 403),
            ("rk_test_0123456789", stripe.PermissionError, 403),
            ("sk_test_ratelimited_1", stripe.RateLimitError, 429),
        ],
    )
    def test_may_be_refused(
        self, url: str, key: str, error: type[stripe.StripeError], status: int
    ) -> None:
        with pytest.raises(error) as caught:
            Till(url, key).pay(key="k")
        assert caught.value.http_status == status
        assert refusal(caught.value)["type"] == "invalid_request_error"
        assert key not in str(caught.value) or len(key) < 13

    def test_is_needed(self, url: str) -> None:
        answer = requests.get(f"{url}/v1/payment_intents", timeout=5)
        assert answer.status_code == 401
        assert answer.json()["error"]["type"] == "invalid_request_error"

    def test_may_be_given_as_a_user_name(self, url: str, till: Till) -> None:
        paid = till.pay()
        answer = requests.get(f"{url}/v1/payment_intents/{paid.id}", auth=(till.key, ""), timeout=5)
        assert answer.json()["id"] == paid.id


class TestABody:
    def test_that_is_not_utf8_is_refused(self, url: str, till: Till) -> None:
        for body in (b"description=%ff", b"description=\xff"):
            answer = requests.post(
                f"{url}/v1/payment_intents", auth=(till.key, ""), data=body, timeout=5
            )
            assert answer.status_code == 400

    def test_keeps_every_character(self, till: Till) -> None:
        told = "Grüße & 50% + [tea]=☕ \u202e"
        paid = till.pay(description=told, metadata={"é=&": told})
        assert paid.description == told
        assert paid.metadata["é=&"] == told
