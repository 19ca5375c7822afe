"""Gates hold requests until a test opens them: races become steps."""

from __future__ import annotations

import asyncio
from collections import deque
from typing import Any


class Gate:
    """Holds whoever comes until it is opened, one by one or for good."""

    def __init__(self) -> None:
        self.is_open = False
        self.passed = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._changed = asyncio.Event()

    @property
    def waiting(self) -> int:
        """Return how many wait."""
        return len(self._waiting)

    async def wait(self) -> None:
        """Return once the gate lets this one through."""
        if not self.is_open:
            ticket: asyncio.Future[None] = asyncio.get_running_loop().create_future()
            self._waiting.append(ticket)
            self._changed.set()
            try:
                await ticket
            finally:
                if ticket in self._waiting:
                    self._waiting.remove(ticket)
        self.passed += 1

    def open(self, count: int | None = None) -> int:
        """Let `count` of the waiting through, or all of them and whoever comes later."""
        if count is None:
            self.is_open = True
        through = len(self._waiting) if count is None else min(count, len(self._waiting))
        for _ in range(through):
            ticket = self._waiting.popleft()
            if not ticket.done():
                ticket.set_result(None)
        return through

    def close(self) -> None:
        """Hold whoever comes from now on."""
        self.is_open = False

    async def at_least(self, count: int, timeout: float) -> bool:
        """Wait until `count` are waiting; say whether they came."""
        deadline = asyncio.get_running_loop().time() + timeout
        while self.waiting < count:
            left = deadline - asyncio.get_running_loop().time()
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), max(0.0, left))
            except TimeoutError:
                return False
        return True

    def told(self, name: str) -> dict[str, Any]:
        """Return what the control path shows."""
        return {"name": name, "open": self.is_open, "waiting": self.waiting, "passed": self.passed}


class Gates:
    """Gates by name, made when first spoken of."""

    def __init__(self) -> None:
        self.by_name: dict[str, Gate] = {}

    def named(self, name: str) -> Gate:
        """Return the gate of this name."""
        gate = self.by_name.get(name)
        if gate is None:
            gate = self.by_name[name] = Gate()
        return gate

    def clear(self) -> None:
        """Let everybody go and forget all gates."""
        for gate in self.by_name.values():
            gate.open()
        self.by_name.clear()
