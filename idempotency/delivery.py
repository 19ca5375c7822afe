"""Deliver what the outbox promises: at least once each, one lease at a time.

A row is claimed just before it is worked on, in a commit of its own that counts the attempt. The
attempt's number is a fencing token: a worker that was away longer than its lease finds that the
row is no longer its own, and leaves the bookkeeping to whoever has it now.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import timedelta
from random import SystemRandom

import structlog
from django.conf import settings
from django.db import connection
from django.utils.module_loading import import_string

from idempotency.backoff import next_pause
from idempotency.models import OutboxEvent

log = structlog.get_logger(__name__)

Subscriber = Callable[[OutboxEvent], None]
_random = SystemRandom()

# The lease is put into `due_at` too, so that rows under way do not stand at the queue's head.
_CLAIM = """
UPDATE idempotency_outboxevent
SET attempts = attempts + 1,
    lease_until = statement_timestamp() + %(lease)s, due_at = statement_timestamp() + %(lease)s
WHERE id = (
    SELECT id FROM idempotency_outboxevent
    WHERE delivered_at IS NULL AND parked_at IS NULL AND due_at <= statement_timestamp()
    ORDER BY due_at, id
    LIMIT 1
    FOR UPDATE SKIP LOCKED
)
RETURNING *
"""
_MINE = " WHERE id = %(id)s AND attempts = %(token)s AND delivered_at IS NULL AND parked_at IS NULL"


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivered:
    """What one call of `deliver_due` did."""

    delivered: int
    failed: int


def deliver_due(*, at_most: timedelta, one: bool = False) -> Delivered:
    """Deliver due events, the longest due first, until none is left or the time is up.

    `one` stops after the first. A subscriber that fails costs its own event a pause, and holds
    up no other.
    """
    deadline = time.monotonic() + at_most.total_seconds()
    delivered = failed = 0
    while time.monotonic() < deadline:
        event = claim_one()
        if event is None:
            break
        if _deliver(event):
            delivered += 1
        else:
            failed += 1
        if one:
            break
    return Delivered(delivered=delivered, failed=failed)


def claim_one() -> OutboxEvent | None:
    """Take the lease of the event that is due longest, counting the attempt; None if none is.

    Leases and due times are the database's, so workers whose clocks differ agree on them.
    """
    lease = {"lease": settings.SARVEX_OUTBOX_LEASE}
    claimed = list(OutboxEvent.objects.raw(_CLAIM, lease))
    return claimed[0] if claimed else None


def redeliver(event_id: str) -> bool:
    """Make an event due again, delivered or parked as it may be; whether there is such an event.

    One that was parked for its age gets one more try, and is parked again if that fails.
    """
    return _change(
        "SET due_at = statement_timestamp(), delivered_at = NULL, parked_at = NULL,"
        " lease_until = NULL WHERE event_id = %(event_id)s",
        event_id=event_id,
    )


def _deliver(event: OutboxEvent) -> bool:
    for path in settings.OUTBOX_SUBSCRIBERS.get(event.topic, []):
        subscriber: Subscriber = import_string(path)
        try:
            subscriber(event)
        except Exception as error:
            # Whatever went wrong is this event's own: it waits, and the queue goes on.
            log.exception("delivery_failed", topic=event.topic, event_id=event.event_id)
            _put_off(event, error)
            return False
    mine = _change(
        "SET delivered_at = statement_timestamp(), lease_until = NULL, last_error = ''" + _MINE,
        id=event.id,
        token=event.attempts,
    )
    if not mine:
        log.warning("delivery_lease_lost", topic=event.topic, event_id=event.event_id)
    return mine


def _put_off(event: OutboxEvent, error: Exception) -> None:
    claimed_at = event.due_at - settings.SARVEX_OUTBOX_LEASE
    pause = next_pause(attempts=event.attempts, age=claimed_at - event.created_at, random=_random)
    if pause is None:
        log.error("delivery_parked", topic=event.topic, event_id=event.event_id)
    _change(
        "SET due_at = statement_timestamp() + COALESCE(%(pause)s, interval '0'),"
        " parked_at = CASE WHEN %(pause)s::interval IS NULL THEN statement_timestamp() END,"
        " lease_until = NULL, last_error = %(why)s" + _MINE,
        pause=pause,
        why=f"{type(error).__name__}: {error}"[:500],
        id=event.id,
        token=event.attempts,
    )


def _change(change: str, **parameters: object) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE idempotency_outboxevent {change}", parameters)  # type: ignore[arg-type]
        return cursor.rowcount == 1
