"""What a caller presents, and what it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Claim:
    """A key as presented: whose it is, what it is to mean, and where it came from.

    `fingerprint` is a hex SHA-256; `subject` names the resource that the request is about, so
    that every arrival about it can be found whatever its key.
    """

    merchant: str
    key: str
    actor: str
    fingerprint: str
    route: str
    subject: str
    request_id: str
    traceparent: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A status, a body and the few headers that belong to the meaning of both.

    `final` answers are stored and replayed byte for byte; the others say how things stand.
    `expires_at` is when the key of a final answer may be forgotten.
    """

    status: int
    body: bytes
    headers: dict[str, str] = field(default_factory=dict)
    final: bool = False
    replayed: bool = False
    expires_at: datetime | None = None
