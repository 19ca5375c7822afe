"""A database that is away, Redis that is away, and a pool that is empty."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from sys import executable
from typing import Any

import pytest
import requests
from django.db import connection, transaction
from django.db.migrations.executor import MigrationExecutor

from orders.models import CheckoutSession
from orders.sandbox.client import SandboxControl
from sarvex import health
from tests.orders.api.problems import PAY, problem
from tests.processes import free_port, running, web_process
from tests.shop import BASKET, Reply, Shop, new_key


def web_with(folder: Path, **env: str) -> tuple[list[str], str, dict[str, str]]:
    """Return the command, address and environment of a small web server."""
    port = free_port()
    command = [str(Path(executable).parent / "granian"), "--interface", "wsgi", "--no-ws"]
    command += ["--port", str(port), "--blocking-threads", "8", "sarvex.wsgi:application"]
    return command, f"http://127.0.0.1:{port}", env


@pytest.fixture(scope="module")
def without_database(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a web server whose database nobody answers for."""
    folder = tmp_path_factory.mktemp("away")
    away = f"postgres://sarvex:secret-word@127.0.0.1:{free_port()}/sarvex"
    command, url, env = web_with(folder, DATABASE_URL=away)
    with running(command, url=f"{url}/healthz", log=folder / "web.log", env=env):
        yield url


class TestWithoutADatabase:
    def test_the_process_is_alive_and_not_ready_and_refuses_what_it_is_asked(
        self, without_database: str, quiet: Shop
    ) -> None:
        shop = quiet.at(without_database)
        checkout = f"/checkout/cs_{'0' * 32}"

        with ThreadPoolExecutor(6) as pool:  # each waits five seconds for a connection
            ready = pool.submit(shop.call, "GET", "/readyz")
            told = [
                pool.submit(shop.call, "GET", f"/merchants/{quiet.id}/orders", role="merchant"),
                pool.submit(shop.call, "POST", "/checkout", BASKET, role="merchant"),
                pool.submit(shop.call, "POST", f"{checkout}/complete", PAY, key=new_key()),
                pool.submit(shop.call, "POST", f"/handlers/stripe/{quiet.id}/events", {}),
            ]
            alive = requests.get(f"{without_database}/healthz", timeout=5)
            stranger = requests.post(f"{without_database}/checkout", timeout=5)

        assert (alive.status_code, alive.json()) == (200, {"status": "ok"})
        assert alive.elapsed.total_seconds() < 2
        assert ready.result().status == 503
        assert ready.result().json()["checks"]["database"] == "down"
        assert "Retry-After" in ready.result().headers
        for one in told:
            problem(one.result(), "service_unavailable")
            assert b"secret-word" not in one.result().content
        assert stranger.status_code == 401


class TestReadiness:
    def test_tells_what_it_rests_on(self, quiet: Shop) -> None:
        told = quiet.call("GET", "/readyz")

        assert told.status == 200
        assert told.json() == {"status": "ready", "checks": {"database": "ok", "redis": "ok"}}

    def test_does_not_need_redis(
        self,
        database: str,
        stripe_url: str,
        stripe: SandboxControl,
        acme: Shop,
        tmp_path: Path,
    ) -> None:
        dead = f"redis://127.0.0.1:{free_port()}/0"
        with web_process(
            tmp_path, database=database, stripe=stripe_url, workers=1, REDIS_URL=dead
        ) as url:
            shop, key = acme.at(url), new_key()
            ready = shop.call("GET", "/readyz")
            checkout = shop.checkout()
            paid, again = shop.complete(checkout, key), shop.complete(checkout, key)

        assert ready.status == 200
        assert ready.json()["checks"] == {"database": "ok", "redis": "down"}
        assert (paid.status, again.replayed) == (200, True)
        assert stripe.summary(acme.account).charges == 1

    def test_is_not_given_while_migrations_are_missing(
        self, quiet: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        class Behind(MigrationExecutor):
            def migration_plan(self, *_: Any, **__: Any) -> list[Any]:
                return [(object(), False)]

        monkeypatch.setattr(health, "_migrated", False)
        monkeypatch.setattr(health, "MigrationExecutor", Behind)

        told = quiet.call("GET", "/readyz")

        assert told.status == 503
        assert told.json()["checks"]["database"] == "migrations are missing"


class TestAnEmptyPool:
    def test_is_told_as_unavailable_and_not_stored_under_the_key(
        self,
        database: str,
        stripe_url: str,
        stripe: SandboxControl,
        acme: Shop,
        tmp_path: Path,
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        with web_process(
            tmp_path, database=database, stripe=stripe_url, workers=1, SARVEX_DB_CONNECTIONS="1"
        ) as url:
            shop = acme.at(url)
            shop.call("GET", f"/checkout/{checkout}", role="agent")  # the API key is known
            with transaction.atomic(), ThreadPoolExecutor(6) as pool:
                # Whoever gets the one connection waits for this lock with it.
                CheckoutSession.objects.select_for_update().get(id=checkout)
                told = list(pool.map(lambda _: shop.complete(checkout, key), range(6)))
                alive = shop.call("GET", "/healthz")
            connection.close()
            paid, again = shop.complete(checkout, key), shop.complete(checkout, key)

        for one in told:
            problem(one, "service_unavailable")
            assert one.headers["Idempotency-Key"] == key
        assert alive.status == 200
        assert (paid.status, paid.replayed, again.replayed) == (200, False, True)
        assert stripe.summary(acme.account).charges == 1

    def test_serves_many_requests_with_one_connection(
        self, database: str, stripe_url: str, stripe: SandboxControl, acme: Shop, tmp_path: Path
    ) -> None:
        with web_process(
            tmp_path, database=database, stripe=stripe_url, workers=1, SARVEX_DB_CONNECTIONS="1"
        ) as url:
            shop = acme.at(url)
            stripe.fault("delay", ms=300, times=None, account=acme.account)

            def buy(number: int) -> Reply:
                return shop.complete(shop.checkout(), f"k{number}")

            with ThreadPoolExecutor(16) as pool:
                told = list(pool.map(buy, range(16)))

        assert [one.status for one in told] == [200] * 16
