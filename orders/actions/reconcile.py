"""Reconcile: find out what became of operations whose outcome is not known. Never sends."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, QuerySet

from idempotency.answers import Answer
from orders import locks
from orders.actions.settlement import pause_before_look, settle, settle_locked
from orders.answers import answer_of
from orders.clock import Moment, database_now
from orders.handlers.base import Outcome, Result, Sighting
from orders.handlers.registry import handler_for
from orders.models import Merchant, Operation

log = structlog.get_logger(__name__)

# A look is one or a few requests; should its owner die, another may look after this long.
LOOK_MARGIN = timedelta(seconds=5)

STALE = Outcome(
    result=Result.UNKNOWN,
    code="sender_vanished",
    message="Whoever sent it did not come back; the provider is being asked.",
)


def look_up(operation_id: str, *, actor: str, now: datetime, reference: str = "") -> Answer:
    """Ask the provider what became of an operation, settle what it says, and tell how it stands.

    Of several at once one asks, and the others are told how things stand. An operation whose
    sender may still be at work is settled if the provider already knows its end, and is otherwise
    left to its sender. `now` is the database's time; `reference` is the provider's id, where the
    caller was told it.
    """
    began_at = Moment.now()
    asking = _begin(operation_id, actor=actor, now=now, reference=reference)
    if isinstance(asking, Answer):
        return asking
    sighting, name, merchant, is_gone = asking
    connection.close()
    outcome = handler_for(name, merchant).look_up_charge(sighting)
    now = database_now()
    outcome = _counted(outcome, sighting, took=began_at.ago())
    if outcome.result is not Result.SUCCEEDED and not is_gone:
        # Whoever is still sending it may have more to come: only what is done is done.
        return _leave_to_sender(operation_id)
    return settle(operation_id, outcome, actor=actor, now=now)


def is_being_looked_up(operation: Operation, *, now: datetime) -> bool:
    """Whether somebody is asking the provider about it at this moment."""
    return operation.looking_until is not None and operation.looking_until > now


def sender_is_gone(operation: Operation, *, now: datetime) -> bool:
    """Whether it was sent so long ago, by the database's clock, that nobody can be sending it."""
    submitted_at = operation.submitted_at
    return submitted_at is not None and submitted_at + settings.SARVEX_STALE_AFTER <= now


def look_up_what_is_due(*, actor: str, at_most: timedelta) -> Iterator[tuple[str, str]]:
    """Look up each operation that is due for it, and yield its id and status, until none is left.

    Stops early when the time is up. One that cannot be looked up says so in the log and holds up
    no other. Several of these at once ask once each: what one has looked at is no longer due.
    """
    deadline = time.monotonic() + at_most.total_seconds()
    failed: list[str] = []
    while time.monotonic() < deadline:
        now = database_now()
        operation_id = _due(now).exclude(id__in=failed).values_list("id", flat=True).first()
        if operation_id is None:
            return
        try:
            look_up(operation_id, actor=actor, now=now)
        except Exception:
            log.exception("look_up_failed", operation=operation_id)
            failed.append(operation_id)
        yield operation_id, Operation.objects.values_list("status", flat=True).get(id=operation_id)


def _due(now: datetime) -> QuerySet[Operation]:
    """Return what is due for a look and is not being looked at, the longest overdue first."""
    stale = now - settings.SARVEX_STALE_AFTER
    return (
        Operation.objects.filter(
            Q(status=Operation.Status.INDETERMINATE, next_look_at__lte=now)
            | Q(status=Operation.Status.SUBMITTING, submitted_at__lte=stale)
        )
        .exclude(looking_until__gt=now)
        .order_by("next_look_at", "id")
    )


@transaction.atomic(durable=True)
def _begin(
    operation_id: str, *, actor: str, now: datetime, reference: str
) -> Answer | tuple[Sighting, str, Merchant, bool]:
    """Take the look; a vanished sender's operation becomes `indeterminate` before it."""
    operation = locks.operation(operation_id)
    if operation.is_final or operation.submitted_at is None:
        return answer_of(operation)
    if is_being_looked_up(operation, now=now):
        return answer_of(operation)
    is_gone = operation.status == Operation.Status.INDETERMINATE or sender_is_gone(
        operation, now=now
    )
    if operation.status == Operation.Status.SUBMITTING and is_gone:
        settle_locked(operation, STALE, actor=actor, now=now)
    operation.looking_until = now + settings.SARVEX_PROVIDER_TIMEOUT + LOOK_MARGIN
    operation.looks += 1
    if operation.status == Operation.Status.INDETERMINATE:
        operation.next_look_at = now + pause_before_look(operation.looks)
    operation.save(update_fields=["looking_until", "looks", "next_look_at"])
    sighting = Sighting(
        operation_id=operation.root_id,
        reference=operation.reference or reference,
        amount=operation.amount,
        currency=operation.currency,
        sent_ago=now - operation.submitted_at,
        first_sent_ago=now - _first_submitted_at(operation),
    )
    return sighting, operation.handler, operation.merchant, is_gone


def _first_submitted_at(operation: Operation) -> Any:
    """Return when the first try under the operation's key was sent."""
    first = operation.submitted_at
    if operation.retry_count:
        first = (
            Operation.objects.filter(root_id=operation.root_id)
            .exclude(submitted_at=None)
            .order_by("retry_count")
            .values_list("submitted_at", flat=True)[0]
        )
    return first


def _counted(outcome: Outcome, sighting: Sighting, *, took: timedelta) -> Outcome:
    """Count an absence only if, when the provider was asked, the request could no longer arrive.

    A look that took longer than a look can take looked at another time than it thinks.
    """
    too_soon = sighting.sent_ago < settings.SARVEX_STALE_AFTER
    too_slow = took > settings.SARVEX_PROVIDER_TIMEOUT + LOOK_MARGIN
    if outcome.result is Result.NOT_SENT and (too_soon or too_slow):
        return Outcome(
            result=Result.UNKNOWN,
            code="not_seen_yet",
            message="The provider shows no trace of it, but the request may still arrive.",
        )
    return outcome


@transaction.atomic(durable=True)
def _leave_to_sender(operation_id: str) -> Answer:
    operation = locks.operation(operation_id)
    if not operation.is_final:
        operation.looking_until = None
        operation.save(update_fields=["looking_until"])
    return answer_of(operation)
