"""What an operation's end means for the rows around it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Protocol

from audit.models import MutationAttempt
from idempotency.models import OutboxEvent
from orders.handlers.base import Outcome
from orders.models import Operation


@dataclass(kw_only=True)
class Effect:
    """What was changed, for the trail, the outbox and the caller."""

    document: dict[str, Any]
    result_id: str
    lines: list[MutationAttempt] = field(default_factory=list)
    events: list[OutboxEvent] = field(default_factory=list)
    from_status: str = ""
    to_status: str = ""


class Effects(Protocol):
    """The ends of one type of operation. Both run inside the settling transaction, rows locked."""

    def captured_amount(self, operation: Operation) -> int:
        """Return how much the provider must say it has captured, for its success to be believed."""
        ...

    def succeed(self, operation: Operation, outcome: Outcome, *, now: datetime) -> Effect:
        """Write down what the moved money means; the operation itself is saved by the caller."""
        ...

    def undo(self, operation: Operation, *, now: datetime) -> list[OutboxEvent]:
        """Let go of what the operation held, now that it moved nothing."""
        ...
