"""What is measured, one after the other, each beside what it is to be compared with."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import islice

from orders.sandbox.client import SandboxControl
from sarvex.dev.bench import outbox
from sarvex.dev.bench.goods import ACCOUNT, REPEATS, Goods
from sarvex.dev.bench.load import Result, pour
from sarvex.dev.bench.sizes import Size
from sarvex.dev.bench.stack import Server, Stack
from sarvex.dev.console import say

# The comparison's web server: what the published figures of other layers were taken with.
TWO_BY_FOUR = {"--workers": "2", "--blocking-threads": "4"}
BURST = 50
PROVIDER_MS = 250
NAIVE, FRESH, WARM, COLD = "naive view", "fresh keys", "replays, warm", "replays, cold"
MOST_PER_SECOND = 2_000  # completes that a second may take from the stock


@dataclass
class Row:
    """One way of asking, over all rounds."""

    name: str
    result: Result = field(default_factory=Result)
    web_cpu: float = 0.0
    sandbox_cpu: float = 0.0
    errors: int = 0


@dataclass(frozen=True)
class Burst:
    """Fifty at once for one checkout."""

    seconds: float
    answers: int
    replays: int
    charges: int


@dataclass(frozen=True)
class Memory:
    """The web processes' memory in bytes, early and late."""

    early_requests: int
    early: int
    late_requests: int
    late: int


@dataclass
class Found:
    """All that was measured."""

    rows: list[Row] = field(default_factory=list)
    bursts: list[Burst] = field(default_factory=list)
    memory: Memory | None = None
    drain: outbox.Drain | None = None
    lag: outbox.Lag | None = None


def measure(stack: Stack, size: Size) -> Found:
    """Measure everything."""
    found = Found()
    goods = Goods(stack)
    with stack.running("sandbox", "sandbox") as sandbox:
        sandbox.wait("/healthz")
        stripe = f"http://127.0.0.1:{sandbox.port}"
        found.rows = _compare(stack, goods, sandbox, size, stripe)
        with stack.running("web", "web", STRIPE_API_BASE=stripe) as web:
            web.wait("/readyz")
            found.bursts = [_burst(web, goods, stripe) for _ in range(size.bursts)]
            found.memory = _memory(web, goods, size)
            found.drain, found.lag = outbox.measure(stack, goods, web, size, stripe)
    return found


def _compare(stack: Stack, goods: Goods, sandbox: Server, size: Size, stripe: str) -> list[Row]:
    rows = {name: Row(name) for name in (NAIVE, FRESH, WARM, COLD)}
    with ExitStack() as both:
        options = {"STRIPE_API_BASE": stripe}
        sarvex = both.enter_context(
            stack.running("web-2x4", "web", replaced=TWO_BY_FOUR, **options)
        )
        options["DJANGO_SETTINGS_MODULE"] = "sarvex.dev.bench.naive_settings"
        naive = both.enter_context(stack.running("naive", "web", replaced=TWO_BY_FOUR, **options))
        ways: dict[str, tuple[Server, Callable[[], Iterator[bytes]]]] = {
            NAIVE: (naive, goods.naive),
            FRESH: (sarvex, goods.fresh),
            WARM: (sarvex, goods.warm),
            COLD: (sarvex, goods.cold),
        }
        for server in (sarvex, naive):
            server.wait("/readyz")
        for number in range(size.rounds):
            for name, (web, requests) in ways.items():
                goods.stock(int(MOST_PER_SECOND * (size.warm_up + size.seconds)))
                goods.settle_down()
                pour(web.port, requests(), seconds=size.warm_up)
                one = _measured(rows[name], web, sandbox, requests(), size)
                rate, p99 = one.per_second(), one.latency(0.99)
                say(f"round {number + 1}: {name:13} {rate:6.0f}/s, p99 {p99:.1f} ms")
    return list(rows.values())


def _measured(
    row: Row, web: Server, sandbox: Server, requests: Iterator[bytes], size: Size
) -> Result:
    web_cpu, sandbox_cpu = web.cpu(), sandbox.cpu()
    one = pour(web.port, requests, seconds=size.seconds)
    row.web_cpu += web.cpu() - web_cpu
    row.sandbox_cpu += sandbox.cpu() - sandbox_cpu
    row.errors += one.answers - _as_it_should_be(row.name, one)
    row.result.add(one)
    return one


def _as_it_should_be(name: str, one: Result) -> int:
    """Count the answers that are 200, and replays exactly where there are to be any."""
    replays = one.replays if name in {WARM, COLD} else one.answers - one.replays
    return min(one.statuses[200], replays)


def _burst(web: Server, goods: Goods, stripe: str) -> Burst:
    """Send fifty equal requests at once while the provider takes its time."""
    control = SandboxControl(stripe)
    goods.stock(1)
    before = control.summary(ACCOUNT).charges
    request = next(goods.fresh())
    control.default_delay(PROVIDER_MS)
    try:
        one = pour(web.port, iter([request] * BURST), connections=BURST)
    finally:
        control.default_delay(0)
    charges = control.summary(ACCOUNT).charges - before
    say(f"burst of {BURST}: {one.seconds:.3f} s, {one.statuses[200]} answers, {charges} charge")
    return Burst(one.seconds, one.statuses[200], one.replays, charges)


def _memory(web: Server, goods: Goods, size: Size) -> Memory:
    """Look at the memory after some requests, and after many."""
    looks = []
    for count in (size.memory_early, size.memory_late - size.memory_early):
        goods.stock(count // (1 + REPEATS) + 1)
        pour(web.port, islice(goods.mixed(), count))
        time.sleep(1.0)  # what is written later is written
        looks.append(web.memory())
        say(f"memory: {looks[-1] / 2**20:.0f} MiB")
    return Memory(size.memory_early, looks[0], size.memory_late, looks[1])
