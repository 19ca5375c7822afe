"""How fast the outbox is emptied, and how long an event waits while completes come in."""

from __future__ import annotations

import time
from dataclasses import dataclass

from celery import Celery

from sarvex.dev.bench.goods import Goods
from sarvex.dev.bench.load import Result, pour
from sarvex.dev.bench.sizes import Size
from sarvex.dev.bench.stack import Server, Stack
from sarvex.dev.console import say
from sarvex.dev.refusals import Refused

RATE = 200  # completes a second while the lag is measured
LOOK = 0.25  # seconds between looks at what is left
PATIENCE = 600.0  # seconds for everything to be delivered

LEFT = "SELECT count(*) FROM idempotency_outboxevent WHERE delivered_at IS NULL"
LATER = "UPDATE idempotency_outboxevent SET due_at = now() + interval '1 hour'"
NOW = "UPDATE idempotency_outboxevent SET due_at = now() WHERE delivered_at IS NULL"
LAGS = """
SELECT count(*),
       percentile_cont(0.5) WITHIN GROUP (ORDER BY delivered_at - created_at),
       percentile_cont(0.99) WITHIN GROUP (ORDER BY delivered_at - created_at)
FROM idempotency_outboxevent WHERE topic = 'sync.order.created' AND id > %s
"""


@dataclass(frozen=True)
class Drain:
    """A backlog, emptied by two worker processes."""

    events: int
    seconds: float


@dataclass(frozen=True)
class Lag:
    """From an event's transaction to its delivery, in seconds, beside what completing took."""

    events: int
    p50: float
    p99: float
    completes: Result


def measure(stack: Stack, goods: Goods, web: Server, size: Size, stripe: str) -> tuple[Drain, Lag]:
    """Have a backlog emptied, then complete checkouts at a steady rate."""
    goods.database.execute(LATER)
    _fill(goods, web, size)
    goods.redis.flushdb()  # old nudges
    with (
        stack.running("worker", "worker", STRIPE_API_BASE=stripe),
        stack.running("beat", "beat", STRIPE_API_BASE=stripe),
    ):
        _wait_for_worker(stack)
        return _drain(stack, goods), _lag(goods, web, size)


def _fill(goods: Goods, web: Server, size: Size) -> None:
    """Have at least the backlog's size of events, two for each order."""
    missing = size.backlog - _left(goods)
    if missing > 0:
        goods.stock(missing // 2 + 1)
        pour(web.port, goods.fresh())
    goods.database.execute(LATER)


def _drain(stack: Stack, goods: Goods) -> Drain:
    goods.settle_down()
    began_with = _left(goods)
    goods.database.execute(NOW)
    queue = Celery(broker=stack.redis_url)
    began = time.monotonic()
    for _ in range(2):
        queue.send_task("idempotency.deliver_due", ignore_result=True)
    _wait_until_delivered(goods)
    drain = Drain(began_with, time.monotonic() - began)
    say(f"outbox: {began_with} events in {drain.seconds:.1f} s")
    return drain


def _lag(goods: Goods, web: Server, size: Size) -> Lag:
    goods.stock(int(RATE * size.paced) + 1)
    goods.settle_down()
    newest = goods.database.execute("SELECT max(id) FROM idempotency_outboxevent").fetchone()
    completes = pour(web.port, goods.fresh(), seconds=size.paced, rate=RATE)
    _wait_until_delivered(goods, topic="sync.order.created")
    found = goods.database.execute(LAGS, newest).fetchone()
    if found is None or not found[0]:
        raise Refused("no event was delivered while completes came in")
    count, p50, p99 = found
    lag = Lag(count, p50.total_seconds(), p99.total_seconds(), completes)
    say(f"lag under {RATE} completes/s: p50 {lag.p50:.3f} s, p99 {lag.p99:.3f} s")
    return lag


def _left(goods: Goods, topic: str = "") -> int:
    of_topic = " AND topic = %s" if topic else ""
    row = goods.database.execute(LEFT + of_topic, [topic] if topic else []).fetchone()
    return int(row[0]) if row else 0


def _wait_until_delivered(goods: Goods, topic: str = "") -> None:
    deadline = time.monotonic() + PATIENCE
    while _left(goods, topic):
        if time.monotonic() > deadline:
            raise Refused("the workers do not come to an end with the outbox")
        time.sleep(LOOK)


def _wait_for_worker(stack: Stack) -> None:
    """Return when a worker answers."""
    queue = Celery(broker=stack.redis_url)
    deadline = time.monotonic() + PATIENCE
    while not queue.control.ping(timeout=1.0):
        if time.monotonic() > deadline:
            raise Refused("no worker answers")
