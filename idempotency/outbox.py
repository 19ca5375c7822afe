"""Promise to tell somebody: write events in the transaction of what there is to tell."""

from __future__ import annotations

from collections.abc import Iterable

import uuid6
from django.db import transaction

from idempotency.models import OutboxEvent
from idempotency.nudges import nudge_later


class PublishedOutsideTransaction(Exception):
    """An event was written apart from the fact that it announces."""


def new_event_id() -> str:
    """Name an event; the name stays the same however often it is delivered."""
    return f"evt_{uuid6.uuid7().hex}"


def publish(events: Iterable[OutboxEvent]) -> None:
    """Write events with one statement; they stand or fall with the fact that they announce.

    Raises:
        PublishedOutsideTransaction: no transaction is open, so event and fact could part.
    """
    if not transaction.get_connection().in_atomic_block:
        raise PublishedOutsideTransaction("open the transaction of the fact first")
    if OutboxEvent.objects.bulk_create(events):
        transaction.on_commit(nudge_later)
