"""Everything dies at random while many purchases are made; then the same keys are sent again.

`SARVEX_STORM_REQUESTS` and `SARVEX_STORM_RUNS` make the storms longer.
"""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil
import pytest
import redis
import requests

from orders.sandbox.client import SandboxControl
from sarvex.dev import endpoints, servers
from tests.adversarial.crash_stack import CrashStack, crash_stack
from tests.processes import CHECKOUT
from tests.shop import Reply, Shop, new_key

REQUESTS = int(os.environ.get("SARVEX_STORM_REQUESTS", "120"))
RUNS = int(os.environ.get("SARVEX_STORM_RUNS", "1"))
AT_ONCE = 40
PATIENCE = 90  # seconds for a key to get its final answer after the storm

pytestmark = pytest.mark.timeout(600)


@dataclass
class Sea:
    """A stack of its own on servers of its own, which may all be killed."""

    stack: CrashStack
    shop: Shop
    home: Path


@pytest.fixture(scope="session")
def sea(stripe_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sea]:
    """Start PostgreSQL, Valkey, web, worker and beat for the storms alone."""
    folder = tmp_path_factory.mktemp("sea")
    home = folder / "home"
    home.mkdir()
    found = servers.start(home, kept=False)
    env = {**os.environ, "DATABASE_URL": found.database_url, "REDIS_URL": found.redis_url}

    def manage(*words: str) -> str:
        command = [sys.executable, "manage.py", *words]
        return subprocess.run(
            command, cwd=CHECKOUT, env=env, check=True, capture_output=True, text=True
        ).stdout

    manage("migrate", "--verbosity", "0")
    key = "sk_test_sea" + new_key("").replace("-", "")
    told = json.loads(
        manage("create_merchant", "sea", "--name", "Sea", "--currency", "usd",
               "--stripe-secret-key", key, "--json")
    )  # fmt: skip
    try:
        with crash_stack(
            folder,
            database_url=found.database_url,
            redis_url=found.redis_url,
            stripe=stripe_url,
        ) as stack:
            yield Sea(stack, Shop("sea", told["api_keys"], stack.url, {"account": key}), home)
    finally:
        servers.stop(home)


def kill_something(sea: Sea, dice: random.Random) -> None:
    """Kill one or several processes of the service, whichever the dice name."""
    roots = [sea.stack.web.pid, sea.stack.worker.pid]
    found = [one for root in roots for one in psutil.Process(root).children(recursive=True)]
    for victim in dice.sample(found, k=min(len(found), dice.randint(1, 3))):
        with suppress(psutil.NoSuchProcess):
            victim.kill()


def kill_postgres(sea: Sea, dice: random.Random) -> None:
    """Kill PostgreSQL as a power cut would, and start it again."""
    known = endpoints.read(sea.home)
    assert known is not None
    os.kill(known.postgres_pid, signal.SIGKILL)
    time.sleep(dice.random())
    servers.start(sea.home, kept=False)


def kill_redis(sea: Sea, dice: random.Random) -> None:
    """Flush, hang or kill Redis, and bring it back."""
    known = endpoints.read(sea.home)
    assert known is not None
    choice = dice.choice(["flush", "hang", "kill"])
    if choice == "flush":
        redis.Redis.from_url(known.redis_url).flushall()
    elif choice == "hang":
        os.kill(known.valkey_pid, signal.SIGSTOP)
        time.sleep(1 + dice.random())
        os.kill(known.valkey_pid, signal.SIGCONT)
    else:
        os.kill(known.valkey_pid, signal.SIGKILL)
        time.sleep(dice.random())
        servers.start(sea.home, kept=False)


def send(shop: Shop, checkout: str, key: str) -> Reply | None:
    """Send one completion whose answer may never come."""
    try:
        return shop.complete(checkout, key)
    except requests.RequestException:
        return None


def ask_until_final(shop: Shop, checkout: str, key: str) -> Reply:
    """Send the same request again until its answer is final."""
    deadline = time.monotonic() + PATIENCE
    told = None
    while time.monotonic() < deadline:
        told = send(shop, checkout, key)
        if told is not None and told.status == 200:
            return told
        assert told is None or told.status == 202 or told.json()["retryable"], told.content
        time.sleep(0.2)
    raise AssertionError(f"no final answer for {key}: {told and told.content!r}")


def all_orders(shop: Shop, checkouts: set[str]) -> list[str]:
    """Return the order ids of the checkouts, page by page."""
    found, cursor = [], ""
    while True:
        told = shop.get(f"{{m}}/orders?limit=100{cursor}").json()
        found += [
            one["order_id"] for one in told["data"] if one["checkout_session_id"] in checkouts
        ]
        if told["next_cursor"] is None:
            return found
        cursor = f"&cursor={told['next_cursor']}"


@pytest.mark.parametrize("run", range(RUNS))
@pytest.mark.parametrize("strike", [kill_something, kill_postgres, kill_redis])
class TestAStorm:
    def test_ends_as_one_charge_one_order_and_one_answer_for_each_key(
        self,
        sea: Sea,
        stripe: SandboxControl,
        strike: Callable[[Sea, random.Random], None],
        run: int,
    ) -> None:
        shop, account, dice = sea.shop, sea.shop.headers["account"], random.Random(run)
        sea.stack.wait_until_up()
        before = stripe.summary(account).charges
        purchases = [(shop.checkout(), new_key("storm")) for _ in range(REQUESTS)]
        with ThreadPoolExecutor(AT_ONCE) as pool:
            sent = [pool.submit(send, shop, *one) for one in purchases]
            # Servers end with the thread that started them, so the wind blows from this one.
            while not all(one.done() for one in sent):
                time.sleep(0.3 + dice.random() / 2)
                strike(sea, dice)
            during = [one.result() for one in sent]
        sea.stack.wait_until_up()
        with ThreadPoolExecutor(AT_ONCE) as pool:
            after = list(pool.map(lambda one: ask_until_final(shop, *one), purchases))
            again = list(pool.map(lambda one: ask_until_final(shop, *one), purchases))

        assert stripe.summary(account).charges - before == REQUESTS
        orders = all_orders(shop, {checkout for checkout, _ in purchases})
        assert len(orders) == len(set(orders)) == REQUESTS
        assert [one.content for one in again] == [one.content for one in after]
        heard = [(a, b) for a, b in zip(during, after, strict=True) if a and a.status == 200]
        assert all(a.content == b.content for a, b in heard)
