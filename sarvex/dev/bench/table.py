"""The table that `make bench` prints."""

from __future__ import annotations

from statistics import median

from sarvex.dev.bench.outbox import RATE
from sarvex.dev.bench.phases import BURST, PROVIDER_MS, Burst, Found, Memory, Row

MIB = 2**20


def lines(found: Found) -> list[str]:
    """Lay everything out."""
    told = _comparison(found.rows)
    told += _bursts(found.bursts)
    if found.memory:
        told.append(_memory(found.memory))
    if found.drain:
        rate = found.drain.events / found.drain.seconds
        told.append(
            f"outbox, 2 worker processes: {rate:.0f} deliveries/s"
            f" ({found.drain.events} events in {found.drain.seconds:.1f} s)"
        )
    if found.lag:
        lag, done = found.lag, found.lag.completes
        told.append(
            f"outbox lag under {RATE} completes/s: p50 {lag.p50:.3f} s, p99 {lag.p99:.3f} s"
            f" ({done.per_second():.0f}/s reached, p50 {done.latency(0.5):.1f} ms,"
            f" p99 {done.latency(0.99):.1f} ms, {done.answers - done.statuses[200]} errors)"
        )
    return told


def _comparison(rows: list[Row]) -> list[str]:
    """Rows with what they cost: CPU is milliseconds a request, the generator's the share of one."""
    head = (
        f"{'':15}{'req/s':>8}{'p50 ms':>9}{'p99 ms':>9}{'errors':>8}{'/ naive':>9}"
        f"{'web CPU ms':>12}{'sandbox':>9}{'generator':>11}"
    )
    told = ["2 workers x 4 threads, 16 connections, a provider without latency", head]
    naive = rows[0].result.per_second() or 1.0
    for row in rows:
        one = row.result
        count = one.answers or 1
        told.append(
            f"{row.name:15}{one.per_second():>8.0f}{one.latency(0.5):>9.1f}"
            f"{one.latency(0.99):>9.1f}{row.errors:>8}{one.per_second() / naive:>9.2f}"
            f"{row.web_cpu / count * 1000:>12.2f}{row.sandbox_cpu / count * 1000:>9.2f}"
            f"{one.cpu / one.seconds if one.seconds else 0:>11.0%}"
        )
    return told


def _bursts(bursts: list[Burst]) -> list[str]:
    if not bursts:
        return []
    worst = max(burst.charges for burst in bursts)
    line = (
        f"burst of {BURST}, provider takes {PROVIDER_MS} ms:"
        f" {median(burst.seconds for burst in bursts):.3f} s,"
        f" {min(burst.answers for burst in bursts)} answers,"
        f" {min(burst.replays for burst in bursts)} replays, {worst} charge"
        f" (median of {len(bursts)})"
    )
    return [line]


def _memory(memory: Memory) -> str:
    grown = memory.late / memory.early - 1 if memory.early else 0.0
    return (
        f"web processes' memory: {memory.early / MIB:.0f} MiB after"
        f" {memory.early_requests:,} requests, {memory.late / MIB:.0f} MiB after"
        f" {memory.late_requests:,} ({grown:+.1%})"
    )
