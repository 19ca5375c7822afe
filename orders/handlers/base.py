"""What a payment handler promises.

A handler moves money at one provider when told to, once for each key, and says afterwards what
the provider knows. It opens no transaction, touches no model and never sends twice by itself.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import Any, Protocol


class Result(StrEnum):
    """What became of one request to a provider."""

    SUCCEEDED = "succeeded"
    DECLINED = (
        "declined"  # the provider's final no: nothing moved, and asking again changes nothing
    )
    NOT_SENT = "not_sent"  # proven to have had no effect; the same request may be sent again
    UNKNOWN = "unknown"  # anything else: money may have moved


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A provider's answer in Sarvex's words.

    `amount` and `captured_amount` are minor units of `currency` as the provider tells them.
    `response` holds allow-listed fields only: it is kept in the trail and shown to people.
    `misconfigured` says that the provider refused the merchant's credentials.
    """

    result: Result
    reference: str = ""
    amount: int | None = None
    captured_amount: int = 0
    currency: str = ""
    code: str = ""
    decline_code: str = ""
    message: str = ""
    requires_action: bool = False
    misconfigured: bool = False
    response: dict[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Cut what a provider says to what can be stored: no text of its stops a settling."""
        for name, most in (
            ("code", 64),
            ("decline_code", 64),
            ("message", 500),
            ("reference", 255),
        ):
            object.__setattr__(self, name, getattr(self, name).replace("\0", "")[:most])


@dataclass(frozen=True, slots=True, kw_only=True)
class ChargeOrder:
    """One charge to be made. Every field is the same on every send under the same `handler_key`.

    `amount` is in minor units. `metadata` lets the provider's list be searched for the charge.
    A request that cannot begin within `begin_within` must not be sent any more.
    """

    handler_key: str
    amount: int
    currency: str
    token: str
    capture: bool
    metadata: dict[str, str]
    begin_within: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Sighting:
    """What is known of an operation that is to be looked up at its provider.

    `sent_ago` and `first_sent_ago` (of the first try under the key) are durations and not times:
    the provider's clock need not agree with ours.
    """

    operation_id: str
    reference: str
    amount: int
    currency: str
    sent_ago: timedelta
    first_sent_ago: timedelta


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A provider's event, its signature verified, in Sarvex's words.

    `outcome` is what the event says of a charge, or None when it is about something else;
    `operation_id` is the one that the charge was sent with. `evidence` is allow-listed.
    """

    event_id: str
    type: str
    reference: str
    operation_id: str
    outcome: Outcome | None
    evidence: dict[str, Any]
    body_sha256: str


class ForgedEvent(Exception):
    """Nobody who knows the merchant's secret signed this event, or it was signed too long ago."""


class Handler(Protocol):
    """An adapter to one provider, with one merchant's credentials."""

    name: str
    # The longest key that the provider takes; longer ones are hashed.
    longest_key: int

    def charge(self, order: ChargeOrder) -> Outcome:
        """Make a charge, with one request to the provider. Never raises for what it answers."""
        ...

    def look_up_charge(self, sighting: Sighting) -> Outcome:
        """Say what the provider knows of a charge; moves nothing.

        `NOT_SENT` means that the provider shows no trace of it, which proves something only
        once the request can no longer arrive. `UNKNOWN` means that it cannot say now.
        """
        ...

    def read_event(self, raw: bytes, headers: Mapping[str, str], *, now: datetime) -> Notice:
        """Verify an event over its raw bytes, and read it. Raises `ForgedEvent`."""
        ...


AMBIGUOUS = re.compile(r":(\d+|capture|refund|void)$")


def handler_key(*, merchant: str, key: str, generation: int, step: str = "", longest: int) -> str:
    """Return the key under which a provider sees an operation: the same on every resend.

    `{merchant}:{key}`, then the generation when it is not the first, then the step when one
    operation makes several calls; hashed (SHA-256, hex) where the provider takes less.
    """
    parts = [merchant, key, *([str(generation)] if generation else []), *([step] if step else [])]
    whole = ":".join(parts)
    if not generation and AMBIGUOUS.search(key):
        # `K:1` in its first life must not be taken for the second life of `K`, or a step of it.
        whole = ":".join([merchant, key, "0", *([step] if step else [])])
    return whole if len(whole) <= longest else sha256(whole.encode()).hexdigest()[:longest]
