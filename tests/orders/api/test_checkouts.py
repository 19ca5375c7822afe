"""Creating, reading and canceling checkouts."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.conf import settings

from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import create, problem
from tests.shop import BASKET, Reply, Shop, new_key


def cancel(shop: Shop, checkout: str, key: str | None = None, *, role: str = "agent") -> Reply:
    """Ask for a checkout's cancellation."""
    return shop.call("POST", f"/checkout/{checkout}/cancel", key=key, role=role)


class TestCreateCheckout:
    def test_tells_where_the_session_is_and_all_that_is_in_it(self, acme: Shop) -> None:
        body = {
            **BASKET,
            "tax_amount": 10,
            "discount_amount": 20,
            "buyer": {"email": "b@example.com", "name": "B", "phone": "+1 555"},
            "shipping_address": {"line1": "1 Road", "line2": "", "city": "X", "country": "GB"},
            "capture": "manual",
            "expires_in": 60,
            "metadata": {"task": "7"},
        }
        told = create(acme, body)

        session = told.json()
        assert told.status == 201
        assert told.headers["Location"] == f"/checkout/{session['id']}"
        assert "Idempotency-Key" not in told.headers
        assert "Idempotency-Expires" not in told.headers
        for name, value in body.items():
            if name != "expires_in":
                assert session[name] == value
        assert (session["amount_subtotal"], session["amount_total"]) == (3000, 3490)
        assert (session["status"], session["merchant_id"]) == ("open", acme.id)
        assert (session["order_id"], session["operation"]) == (None, None)
        created, expires = map(_moment, (session["created_at"], session["expires_at"]))
        assert expires - created == timedelta(seconds=60)
        read = acme.get(told.headers["Location"], role="agent")
        assert read.json() == session

    def test_repeats_its_answer_under_the_same_key(self, acme: Shop) -> None:
        key = new_key()

        first, again = create(acme, BASKET, key=key), create(acme, BASKET, key=key)
        other = create(acme, {**BASKET, "currency": "eur"}, key=key)

        assert (first.status, again.status) == (201, 201)
        assert not first.replayed
        assert again.replayed
        assert again.content == first.content
        for name in ("Location", "Content-Type", "Idempotency-Key", "Idempotency-Expires"):
            assert again.headers[name] == first.headers[name]
        assert again.headers["Request-Id"] != first.headers["Request-Id"]
        problem(other, "idempotency_key_reused")
        assert len(acme.mutations(idempotency_key=key)) == 1

    def test_makes_another_session_each_time_without_a_key(self, acme: Shop) -> None:
        assert acme.checkout() != acme.checkout()

    def test_makes_one_session_for_equal_requests_at_once(self, acme: Shop, web: str) -> None:
        key, shop = new_key(), acme.at(web)
        with ThreadPoolExecutor(20) as pool:
            told = list(pool.map(lambda _: create(shop, BASKET, key=key), range(20)))

        assert {one.status for one in told} == {201}
        assert len({one.content for one in told}) == 1
        assert sum(not one.replayed for one in told) == 1

    def test_shares_no_key_with_completing(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key()
        checkout = create(acme, BASKET, key=key).json()["id"]

        told = acme.complete(checkout, key, role="merchant")

        problem(told, "idempotency_key_reused")
        assert stripe.requests(account=acme.account) == []


class TestCancelCheckout:
    def test_closes_the_session_for_good(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout()

        told, again = cancel(acme, checkout), cancel(acme, checkout, role="merchant")

        assert (told.status, again.status) == (200, 200)
        assert told.json()["status"] == again.json()["status"] == "canceled"
        problem(acme.complete(checkout, new_key()), "checkout_canceled")
        lines = [one["mutation_type"] for one in acme.mutations()]
        assert lines.count("cancel_checkout") == 1
        assert stripe.requests(account=acme.account) == []

    def test_repeats_its_answer_under_the_same_key(self, acme: Shop) -> None:
        checkout, key = acme.checkout(), new_key()

        first, again = cancel(acme, checkout, key), cancel(acme, checkout, key)
        elsewhere = cancel(acme, acme.checkout(), key)

        assert (first.replayed, again.replayed) == (False, True)
        assert again.content == first.content
        assert again.headers["Idempotency-Key"] == key
        problem(elsewhere, "idempotency_key_reused")

    def test_is_refused_once_there_is_an_order(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        order = acme.complete(checkout, new_key()).json()["order_id"]

        told = cancel(acme, checkout, key)

        assert problem(told, "checkout_already_completed")["order_id"] == order
        refused = acme.mutations(idempotency_key=key)
        assert [(one["mutation_type"], one["local_status"]) for one in refused] == [
            ("cancel_checkout", "refused")
        ]
        assert cancel(acme, acme.checkout(), key).status == 200

    def test_is_refused_while_the_charge_is_under_way(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, gate = acme.checkout(), new_key("gate")
        stripe.gate(gate, account=acme.account, method="POST")
        with ThreadPoolExecutor(1) as pool:
            completing = pool.submit(acme.complete, checkout, new_key())
            try:
                assert stripe.waiting_at(gate, at_least=1) == 1
                told = cancel(acme, checkout)
                seen = acme.get(f"/checkout/{checkout}").json()
            finally:
                stripe.open_gate(gate)
            paid = completing.result(30)

        found = problem(told, "checkout_in_progress")
        assert found["operation"]["status"] == "submitting"
        assert (seen["status"], seen["operation"]["id"]) == ("completing", found["operation"]["id"])
        assert paid.status == 200

    def test_is_refused_while_the_outcome_is_unknown(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout = acme.checkout()
        acme.complete(checkout, new_key(), "pm_sandbox_drop_after")

        problem(cancel(acme, checkout), "checkout_in_progress")

    def test_is_refused_when_the_session_has_expired(self, acme: Shop) -> None:
        checkout = acme.checkout(expires_in=1)

        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=2)):
            problem(cancel(acme, checkout), "checkout_expired")

    def test_is_possible_after_a_decline(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout()
        acme.complete(checkout, new_key(), "pm_card_visa_chargeDeclined")

        assert cancel(acme, checkout).json()["status"] == "canceled"


class TestReadCheckout:
    def test_tells_the_order_or_the_operation_once_there_is_one(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        done, unknown = acme.checkout(), acme.checkout()
        order = acme.complete(done, new_key()).json()["order_id"]
        operation = acme.complete(unknown, new_key(), "pm_sandbox_wrong_amount").json()

        for role in ("agent", "merchant", "operator"):
            first = acme.get(f"/checkout/{done}", role=role).json()
            second = acme.get(f"/checkout/{unknown}", role=role).json()
            assert (first["status"], first["order_id"]) == ("completed", order)
            assert (second["status"], second["order_id"]) == ("completing", None)
            assert second["operation"]["id"] == operation["id"]
            assert ("complete_attempts" in first) is (role != "agent")


class TestTooManyAtTheProvider:
    def test_is_told_as_unavailable_with_nothing_begun(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from threading import BoundedSemaphore

        from orders.api import capacity

        assert settings.SARVEX_SLOW_REQUESTS < settings.SARVEX_WEB_THREADS
        monkeypatch.setattr(capacity, "_places", BoundedSemaphore(1))
        checkout, key, gate = acme.checkout(), new_key(), new_key("gate")
        stripe.gate(gate, account=acme.account, method="POST")
        with ThreadPoolExecutor(1) as pool:
            completing = pool.submit(acme.complete, acme.checkout(), new_key())
            try:
                assert stripe.waiting_at(gate, at_least=1) == 1
                refused = acme.complete(checkout, key)
                read = acme.get(f"/checkout/{checkout}")
            finally:
                stripe.open_gate(gate)
            assert completing.result(30).status == 200

        problem(refused, "service_unavailable")
        assert read.status == 200
        assert acme.get(f"{{m}}/idempotency-keys/{key}").status == 404
        assert acme.complete(checkout, key).status == 200


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text)
