"""What is bought: a merchant, checkouts made beforehand, and the requests that complete them."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Iterator
from itertools import islice

import psycopg
import redis
import uuid6
from psycopg import sql

from sarvex.dev.bench.load import post
from sarvex.dev.bench.stack import Stack

MERCHANT = "bench"
ACCOUNT = "sk_test_bench"
AMOUNT = 3500
LINE_ITEMS = [{"sku": "TEE-M", "name": "Black tee", "quantity": 2, "unit_amount": 1500}]
BUYER = {"email": "buyer@example.com", "name": "A Buyer"}
PAYMENT = {"payment": {"handler": "stripe", "token": "pm_card_visa"}}
PURCHASE = {"amount": AMOUNT, "currency": "usd", "token": "pm_card_visa"}

REPEATS = 9  # of each request that is mixed in, where memory is measured

CHECKOUTS = """
INSERT INTO orders_checkoutsession
    (id, merchant_id, status, currency, capture, line_items, amount_subtotal, shipping_amount,
     tax_amount, discount_amount, amount_total, buyer, metadata, expires_at)
SELECT id, %s, 'open', 'usd', 'automatic', %s, 3000, 500, 0, 0, %s, %s, '{}',
       now() + interval '1 day'
FROM unnest(%s::text[]) AS id
"""
NAIVE_TABLE = """
CREATE TABLE bench_naiveorder (
    id varchar(40) PRIMARY KEY, merchant_id varchar(64) NOT NULL, amount bigint NOT NULL,
    currency varchar(3) NOT NULL, reference varchar(255) NOT NULL, created_at timestamptz NOT NULL
)
"""


class Goods:
    """One merchant's open checkouts, and the keys under which the others were completed."""

    def __init__(self, stack: Stack) -> None:
        told = stack.manage(
            *("create_merchant", MERCHANT, "--name", "Bench", "--currency", "usd", "--json"),
            *("--stripe-secret-key", ACCOUNT),
        )
        self.database = psycopg.connect(stack.database_url, autocommit=True)
        self.redis = redis.Redis.from_url(stack.redis_url)
        self.database.execute(NAIVE_TABLE)
        self._authorization = f"Bearer {json.loads(told)['api_keys']['agent']}"
        self._open: deque[str] = deque()
        self.sent: list[bytes] = []  # requests that completed a checkout, to be repeated

    def stock(self, count: int) -> None:
        """Have at least so many open checkouts."""
        missing = count - len(self._open)
        if missing <= 0:
            return
        ids = [f"cs_{uuid6.uuid7().hex}" for _ in range(missing)]
        said = (MERCHANT, json.dumps(LINE_ITEMS), AMOUNT, json.dumps(BUYER), ids)
        self.database.execute(CHECKOUTS, said)
        self._open.extend(ids)

    def settle_down(self) -> None:
        """Let PostgreSQL do now what it would otherwise do in the middle of a measurement."""
        found = self.database.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'")
        tables = sql.SQL(", ").join(sql.Identifier(name) for (name,) in found)
        self.database.execute(sql.SQL("VACUUM ANALYZE {}").format(tables))

    def fresh(self) -> Iterator[bytes]:
        """Complete one open checkout after the other, each under a key of its own."""
        body = json.dumps(PAYMENT).encode()
        while self._open:
            checkout_id = self._open.popleft()
            headers = {
                "Authorization": self._authorization,
                "Idempotency-Key": f"key-{checkout_id}",
            }
            request = post(f"/checkout/{checkout_id}/complete", body, headers)
            self.sent.append(request)
            yield request

    def warm(self) -> Iterator[bytes]:
        """Repeat requests whose answers are in the replay cache."""
        while True:
            yield from self.sent[-1000:]

    def cold(self) -> Iterator[bytes]:
        """Repeat requests, each once before the replay cache is emptied again."""
        while True:
            self.redis.flushdb()
            yield from self.sent

    def mixed(self) -> Iterator[bytes]:
        """Complete one checkout, repeat `REPEATS` requests, and so on."""
        repeated = self.warm()
        for request in self.fresh():
            yield request
            yield from islice(repeated, REPEATS)

    def naive(self) -> Iterator[bytes]:
        """Buy without a key."""
        body = json.dumps(PURCHASE).encode()
        request = post("/naive", body, {"Authorization": self._authorization})
        while True:
            yield request
