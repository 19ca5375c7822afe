"""One request to an endpoint, as the endpoints see it."""

from __future__ import annotations

from dataclasses import dataclass

from .accounts import Account
from .forms import Form
from .records import Record


@dataclass(slots=True)
class Call:
    """Whose request it is, what it asks, and under which names."""

    account: Account
    form: Form
    now: int
    request_id: str
    key: str | None = None
    wrong_amount: bool = False  # a fault: act on another amount than the one asked for

    def save(self, record: Record) -> None:
        """Keep a record that is new or has changed."""
        self.account.save(record)

    def emit(self, kind: str, record: Record) -> None:
        """Record an event of this request."""
        self.account.emit(kind, record, request=self.request_id, key=self.key)
