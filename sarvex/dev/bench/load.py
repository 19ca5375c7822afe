"""A load generator that costs little: raw HTTP/1.1 over kept connections, on one asyncio loop.

It shares its cores with what it measures, so a request is written as prepared bytes, and of an
answer only the status, the length and one header are looked at.
"""

from __future__ import annotations

import asyncio
import time
from array import array
from collections import Counter, deque
from collections.abc import Iterator
from dataclasses import dataclass, field

REPLAYED = b"idempotent-replayed: true"
LOST = 0  # in place of a status: the connection ended


@dataclass
class Result:
    """What came of one pour. Latencies are in seconds; `cpu` is the generator's own, in seconds."""

    seconds: float = 0.0
    cpu: float = 0.0
    latencies: array[float] = field(default_factory=lambda: array("d"))
    statuses: Counter[int] = field(default_factory=Counter)
    replays: int = 0

    @property
    def answers(self) -> int:
        """How many requests were answered, however."""
        return len(self.latencies)

    def add(self, other: Result) -> None:
        """Take another pour's figures into this one."""
        self.seconds += other.seconds
        self.cpu += other.cpu
        self.latencies.extend(other.latencies)
        self.statuses.update(other.statuses)
        self.replays += other.replays

    def per_second(self) -> float:
        """Answers a second."""
        return self.answers / self.seconds if self.seconds else 0.0

    def latency(self, share: float) -> float:
        """The latency, in milliseconds, that this share of the answers did not exceed."""
        return quantile(sorted(self.latencies), share) * 1000


def quantile(ordered: list[float], share: float) -> float:
    """Return the value below which this share of an ordered list lies; 0 for an empty one."""
    return ordered[min(int(len(ordered) * share), len(ordered) - 1)] if ordered else 0.0


def post(path: str, body: bytes, headers: dict[str, str]) -> bytes:
    """Return the bytes of one POST."""
    lines = [f"POST {path} HTTP/1.1", "Host: 127.0.0.1", "Content-Type: application/json"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    lines += [f"Content-Length: {len(body)}", "", ""]
    return "\r\n".join(lines).encode() + body


def pour(
    port: int,
    requests: Iterator[bytes],
    *,
    connections: int = 16,
    seconds: float = 3600.0,
    rate: float | None = None,
) -> Result:
    """Send requests until there are none left or the time is up, and return what came of them.

    Each connection sends its next request when it has its answer; with a `rate` requests are due
    at even distances instead, and a latency counts from the moment at which its request was due.
    """
    return asyncio.run(_Pour(port, requests, seconds, rate).run(connections))


class _Pour:
    """One run of the generator."""

    def __init__(
        self, port: int, requests: Iterator[bytes], seconds: float, rate: float | None
    ) -> None:
        self.port, self.requests = port, requests
        self.seconds, self.rate = seconds, rate
        self.result = Result()
        self.deadline = 0.0
        self.open = 0
        self.idle: deque[_Lane] = deque()
        self.somebody_idle = asyncio.Event()
        self.over = asyncio.Event()

    async def run(self, connections: int) -> Result:
        loop = asyncio.get_running_loop()
        lanes: list[_Lane] = []
        for _ in range(connections):
            _, lane = await loop.create_connection(lambda: _Lane(self), "127.0.0.1", self.port)
            lanes.append(lane)
        self.open = len(lanes)
        cpu, began = time.process_time(), time.perf_counter()
        self.deadline = began + self.seconds
        if self.rate is None:
            for lane in lanes:
                self.ready(lane)
        else:
            self.idle.extend(lanes)
            await self._pace(self.rate, began)
            for lane in list(self.idle):
                lane.close()
        await self.over.wait()
        self.result.seconds = time.perf_counter() - began
        self.result.cpu = time.process_time() - cpu
        return self.result

    async def _pace(self, rate: float, began: float) -> None:
        for number in range(int(self.seconds * rate)):
            due = began + number / rate
            await asyncio.sleep(max(due - time.perf_counter(), 0))
            while self.open and not self.idle:
                self.somebody_idle.clear()
                await self.somebody_idle.wait()
            request = next(self.requests, None) if self.idle else None
            if request is None:
                break
            self.idle.popleft().send(request, due)
        self.rate, self.deadline = None, 0.0  # who comes back from now on is done

    def ready(self, lane: _Lane) -> None:
        """A connection has nothing under way."""
        if self.rate is not None:
            self.idle.append(lane)
            self.somebody_idle.set()
            return
        now = time.perf_counter()
        request = next(self.requests, None) if now < self.deadline else None
        if request is None:
            lane.close()
        else:
            lane.send(request, now)

    def closed(self) -> None:
        """A connection has ended."""
        self.open -= 1
        self.somebody_idle.set()
        if not self.open:
            self.over.set()


class _Lane(asyncio.Protocol):
    """One connection with at most one request under way."""

    transport: asyncio.Transport

    def __init__(self, pour: _Pour) -> None:
        self.pour = pour
        self.sent_at = 0.0
        self.under_way = False
        self.received = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport

    def send(self, request: bytes, at: float) -> None:
        self.sent_at, self.under_way = at, True
        self.transport.write(request)

    def close(self) -> None:
        self.transport.close()

    def data_received(self, data: bytes) -> None:
        self.received = data = self.received + data if self.received else data
        end = data.find(b"\r\n\r\n")
        if end < 0:
            return
        head = data[:end].lower()
        if not _is_whole(data, head, end + 4):
            return
        self.received = b""
        self._note(int(head[9:12]), replayed=REPLAYED in head)
        self.pour.ready(self)

    def connection_lost(self, exc: Exception | None) -> None:
        if self.under_way:
            self._note(LOST, replayed=False)
        self.pour.closed()

    def _note(self, status: int, *, replayed: bool) -> None:
        result = self.pour.result
        result.latencies.append(time.perf_counter() - self.sent_at)
        result.statuses[status] += 1
        result.replays += replayed
        self.under_way = False


def _is_whole(data: bytes, head: bytes, body_at: int) -> bool:
    """Whether an answer's body is all there, going by what its lower-case head says."""
    at = head.find(b"\r\ncontent-length:")
    if at < 0:
        return data.endswith(b"\r\n0\r\n\r\n")  # chunked: nothing follows, since nothing was asked
    end = head.find(b"\r\n", at + 2)
    return len(data) >= body_at + int(head[at + 17 : end if end > 0 else None])
