"""Events on their way to those who registered for them: signed, in the background, tried again.

By default an endpoint gets its events one after the other, in the order in which they happened,
which is more than Stripe promises: held events can be released in another order, or several times.
"""

from __future__ import annotations

import asyncio
import logging
import random
import time
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import aiohttp

from .accounts import Account
from .identifiers import new_id
from .records import Event
from .signatures import signature

log = logging.getLogger(__name__)

PATIENCE = 10.0  # seconds that a receiver may take
RETRY_AFTER = (0.5, 2.0, 8.0, 30.0)  # seconds; Stripe goes on for three days, a rehearsal need not
AGENT = "Stripe/1.0 (+https://stripe.com/docs/webhooks)"


@dataclass(slots=True)
class Endpoint:
    """Who gets the events of one account, or of all of them."""

    url: str
    secret: str
    account: str | None = None
    events: list[str] = field(default_factory=lambda: ["*"])
    id: str = field(default_factory=lambda: new_id("we"))

    def wants(self, account: str, kind: str) -> bool:
        """Say whether an account's event of this kind goes here."""
        mine = self.account is None or self.account == account
        return mine and ("*" in self.events or kind in self.events)


@dataclass(slots=True)
class Delivery:
    """One try to bring one event."""

    event: str
    type: str
    endpoint: str
    attempt: int
    at: float
    status: int | None = None
    error: str | None = None

    @property
    def arrived(self) -> bool:
        """Say whether the receiver took it."""
        return self.status is not None and 200 <= self.status < 300


class Webhooks:
    """All endpoints, what is on its way to them, and what is held back."""

    def __init__(self) -> None:
        self.endpoints: list[Endpoint] = []
        self.deliveries: deque[Delivery] = deque(maxlen=5_000)
        self.held: list[tuple[Endpoint, Event]] = []
        self.holding = False
        self._queues: dict[str, asyncio.Queue[tuple[Event, int]]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._session: aiohttp.ClientSession | None = None
        self._clock: Callable[[], float] = time.time

    def tell_time_by(self, clock: Callable[[], float]) -> None:
        """Sign with this clock."""
        self._clock = clock

    def offer(self, account: Account, event: Event) -> None:
        """Send an event to everybody who wants it, or hold it."""
        for endpoint in self.endpoints:
            if endpoint.wants(account.key, event.type):
                if self.holding:
                    self.held.append((endpoint, event))
                else:
                    self._enqueue(endpoint, event)

    def release(self, order: str, copies: int) -> int:
        """Send what was held: as_made, reversed or shuffled, each so many times."""
        batch = [one for one in self.held for _ in range(copies)]
        if order == "reversed":
            batch.reverse()
        elif order == "shuffled":
            random.shuffle(batch)
        self.held.clear()
        self.holding = False
        for endpoint, event in batch:
            self._enqueue(endpoint, event)
        return len(batch)

    def _enqueue(self, endpoint: Endpoint, event: Event, attempt: int = 1) -> None:
        queue = self._queues.get(endpoint.id)
        if queue is None:
            queue = self._queues[endpoint.id] = asyncio.Queue()
            task = asyncio.get_running_loop().create_task(self._work(endpoint, queue))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)
        queue.put_nowait((event, attempt))

    async def _work(self, endpoint: Endpoint, queue: asyncio.Queue[tuple[Event, int]]) -> None:
        while True:
            event, attempt = await queue.get()
            if endpoint not in self.endpoints:
                continue
            delivery = await self.send(endpoint, event, attempt=attempt)
            if not delivery.arrived and attempt <= len(RETRY_AFTER):
                asyncio.get_running_loop().call_later(
                    RETRY_AFTER[attempt - 1], self._enqueue, endpoint, event, attempt + 1
                )

    async def send(self, endpoint: Endpoint, event: Event, *, attempt: int = 1) -> Delivery:
        """Bring one event once, and say what came of it."""
        delivery = Delivery(event.id, event.type, endpoint.id, attempt, self._clock())
        self.deliveries.append(delivery)
        signed = signature(event.body, endpoint.secret, int(self._clock()))
        try:
            delivery.status = await self.post(endpoint.url, event.body, signed)
        except (aiohttp.ClientError, TimeoutError, OSError, ValueError) as error:
            delivery.error = f"{type(error).__name__}: {error}"
        return delivery

    async def post(self, url: str, body: bytes, signed: str) -> int:
        """Send a body with a signature, right or not, and return the status."""
        if self._session is None:
            timeout = aiohttp.ClientTimeout(total=PATIENCE)
            self._session = aiohttp.ClientSession(timeout=timeout, trust_env=False)
        headers = {
            "Content-Type": "application/json; charset=utf-8",
            "Stripe-Signature": signed,
            "User-Agent": AGENT,
        }
        async with self._session.post(
            url, data=body, headers=headers, allow_redirects=False
        ) as answer:
            await answer.read()
            return answer.status

    async def settled(self, timeout: float) -> bool:
        """Wait until nothing is on its way; say whether that came to be."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            if self.waiting == 0 and all(one.status or one.error for one in self.deliveries):
                return True
            await asyncio.sleep(0.01)
        return False

    @property
    def waiting(self) -> int:
        """Return how many wait for their turn."""
        return sum(queue.qsize() for queue in self._queues.values())

    def remove(self, object_id: str | None) -> int:
        """Forget one endpoint, or all of them."""
        before = len(self.endpoints)
        self.endpoints = [one for one in self.endpoints if object_id not in (None, one.id)]
        return before - len(self.endpoints)

    def told(self) -> dict[str, Any]:
        """Return what the control path shows."""
        return {
            "endpoints": self.endpoints,
            "holding": self.holding,
            "held": len(self.held),
            "waiting": self.waiting,
            "deliveries": list(self.deliveries),
        }

    async def close(self) -> None:
        """End every delivery."""
        for task in list(self._tasks):
            task.cancel()
            with suppress(asyncio.CancelledError):
                await task
        if self._session is not None:
            await self._session.close()
