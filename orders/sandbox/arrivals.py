"""The log of every request that arrived, and what became of it."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

from .forms import Form

KEPT = 20_000  # the newest; counts are kept apart and lose nothing


@dataclass(slots=True)
class Arrival:
    """One request to the API."""

    number: int
    at: float
    method: str
    path: str
    request_id: str
    account: str | None = None
    idempotency_key: str | None = None
    params: Form = field(default_factory=dict)
    state: str = "in_progress"  # then answered or dropped
    status: int | None = None
    acted: bool = False
    replayed: bool = False
    faults: list[str] = field(default_factory=list)


class Arrivals:
    """The newest arrivals, oldest first."""

    def __init__(self) -> None:
        self.newest: deque[Arrival] = deque(maxlen=KEPT)
        self.total = 0

    def new(self, *, at: float, method: str, path: str, request_id: str) -> Arrival:
        """Note a request that has just arrived."""
        self.total += 1
        arrival = Arrival(self.total, at, method, path, request_id)
        self.newest.append(arrival)
        return arrival

    def matching(self, wanted: dict[str, str]) -> list[Arrival]:
        """Return arrivals whose named members equal the given values."""
        return [
            one
            for one in self.newest
            if all(_text(getattr(one, name, None)) == value for name, value in wanted.items())
        ]

    def forget(self, account: str | None) -> None:
        """Forget an account's arrivals, or all."""
        kept = [one for one in self.newest if account is not None and one.account != account]
        self.newest = deque(kept, maxlen=KEPT)


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
