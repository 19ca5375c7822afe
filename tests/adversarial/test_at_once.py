"""Many requests at the same moment, against real web processes."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest
import requests

from orders.sandbox.client import SandboxControl
from tests.processes import web_process
from tests.shop import Shop, new_key


class TestFiftyEqualRequestsAtOnce:
    @pytest.mark.parametrize("token", ["pm_card_visa", "pm_sandbox_slow_250ms"])
    def test_are_one_charge_one_order_and_fifty_equal_answers(
        self, acme: Shop, stripe: SandboxControl, web: str, token: str
    ) -> None:
        shop = acme.at(web)
        checkout, key = shop.checkout(), new_key()

        answers = shop.complete_at_once(checkout, [key] * 50, token)

        assert Counter(one.status for one in answers) == {200: 50}
        assert len({one.content for one in answers}) == 1
        assert sum(one.replayed for one in answers) == 49
        assert stripe.summary(acme.account).charges == 1
        assert len(stripe.requests(account=acme.account)) == 1
        assert len(acme.orders()) == 1
        arrivals = shop.get(f"{{m}}/idempotency-keys/{key}").json()["arrivals"]
        assert len(arrivals) == 50
        assert Counter(one["outcome"] for one in arrivals)["fresh"] == 1

    def test_are_declined_alike(self, acme: Shop, stripe: SandboxControl, web: str) -> None:
        shop = acme.at(web)

        answers = shop.complete_at_once(
            shop.checkout(), [new_key()] * 20, "pm_card_visa_chargeDeclined"
        )

        assert Counter(one.status for one in answers) == {402: 20}
        assert len({one.content for one in answers}) == 1
        assert len(stripe.requests(account=acme.account)) == 1

    def test_are_all_told_that_nothing_is_known(
        self, acme: Shop, stripe: SandboxControl, web: str
    ) -> None:
        shop = acme.at(web)
        checkout, key = shop.checkout(), new_key()
        stripe.fault("drop_before", account=acme.account, method="POST")

        answers = shop.complete_at_once(checkout, [key] * 20)

        assert {one.status for one in answers} == {202}
        assert len({one.json()["id"] for one in answers}) == 1
        sent = stripe.requests(account=acme.account, method="POST")
        assert len(sent) == 1


class TestManyKeysForOneCheckoutAtOnce:
    def test_are_one_charge_and_refusals_that_name_it(
        self, acme: Shop, stripe: SandboxControl, web: str
    ) -> None:
        shop = acme.at(web)
        checkout, shared = shop.checkout(), new_key()
        keys = [shared] * 10 + [new_key() for _ in range(10)]

        answers = shop.complete_at_once(checkout, keys, "pm_sandbox_slow_250ms")

        winners = {key for key, one in zip(keys, answers, strict=True) if one.status == 200}
        codes = {one.json()["code"] for one in answers if one.status != 200}
        assert len(winners) == 1
        assert codes <= {"checkout_in_progress", "checkout_already_completed"}
        assert stripe.summary(acme.account).charges == 1
        assert len(acme.orders()) == 1


class TestManyCheckoutsAtOnce:
    def test_are_as_many_orders_with_ids_of_their_own(
        self, acme: Shop, stripe: SandboxControl, web: str
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        shop = acme.at(web)
        checkouts = [acme.checkout() for _ in range(200)]

        with ThreadPoolExecutor(50) as pool:
            answers = list(pool.map(lambda one: shop.complete(one, new_key()), checkouts))

        assert Counter(one.status for one in answers) == {200: 200}
        assert len({one.json()["order_id"] for one in answers}) == 200
        assert stripe.summary(acme.account).charges == 200


class TestFiftyWaiters:
    def test_leave_room_for_everybody_else(
        self, acme: Shop, rival: Shop, stripe: SandboxControl, web: str
    ) -> None:
        from concurrent.futures import ThreadPoolExecutor

        shop = acme.at(web)
        checkout, key = shop.checkout(), new_key()
        stripe.gate("slow", account=acme.account)

        with ThreadPoolExecutor(50) as pool:
            waiting = [pool.submit(shop.complete, checkout, key) for _ in range(50)]
            stripe.waiting_at("slow", at_least=1)
            alive = requests.get(f"{web}/healthz", timeout=5)
            other = rival.at(web).complete(rival.checkout(), new_key())
            stripe.open_gate("slow")
            answers = [one.result() for one in waiting]

        assert alive.status_code == 200
        assert other.status == 200
        assert {one.status for one in answers} == {200}
        assert stripe.summary(acme.account).charges == 1


@pytest.mark.parametrize("redis", ["redis://127.0.0.1:1/0", "hung"])
class TestWithoutRedis:
    def test_fifty_equal_requests_are_still_one_charge(
        self,
        redis: str,
        acme: Shop,
        stripe: SandboxControl,
        database: str,
        stripe_url: str,
        tmp_path: Path,
    ) -> None:
        import socket

        with socket.create_server(("127.0.0.1", 0)) as silent:
            url = f"redis://127.0.0.1:{silent.getsockname()[1]}/0" if redis == "hung" else redis
            with web_process(tmp_path, database=database, stripe=stripe_url, REDIS_URL=url) as web:
                shop = acme.at(web)
                checkout, key = shop.checkout(), new_key()
                answers = shop.complete_at_once(checkout, [key] * 50, "pm_sandbox_slow_250ms")
                again = shop.complete(checkout, key, "pm_sandbox_slow_250ms")

        assert Counter(one.status for one in answers) == {200: 50}
        assert len({one.content for one in answers} | {again.content}) == 1
        assert stripe.summary(acme.account).charges == 1
