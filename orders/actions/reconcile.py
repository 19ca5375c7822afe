"""Reconcile: find out what became of operations whose outcome is not known. Never sends."""

from __future__ import annotations

from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q

from idempotency.answers import Answer
from orders import locks
from orders.actions.settlement import pause_before_look, settle, settle_locked
from orders.answers import answer_of
from orders.clock import database_now
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
    asking = _begin(operation_id, actor=actor, now=now, reference=reference)
    if isinstance(asking, Answer):
        return asking
    sighting, name, merchant, is_gone = asking
    connection.close()
    outcome = handler_for(name, merchant).look_up_charge(sighting)
    now = database_now()
    outcome = _counted(outcome, sighting)
    if outcome.result is Result.UNKNOWN and not is_gone:
        return _leave_to_sender(operation_id)
    return settle(operation_id, outcome, actor=actor, now=now)


def is_being_looked_up(operation: Operation, *, now: datetime) -> bool:
    """Whether somebody is asking the provider about it at this moment."""
    return operation.looking_until is not None and operation.looking_until > now


def sender_is_gone(operation: Operation, *, now: datetime) -> bool:
    """Whether it was sent so long ago, by the database's clock, that nobody can be sending it."""
    submitted_at = operation.submitted_at
    return submitted_at is not None and submitted_at + settings.SARVEX_STALE_AFTER <= now


def operations_to_look_up(now: datetime) -> list[str]:
    """Return the operations that are due for a look, the longest overdue first, 500 at the most."""
    stale = now - settings.SARVEX_STALE_AFTER
    due = Operation.objects.filter(
        Q(status=Operation.Status.INDETERMINATE, next_look_at__lte=now)
        | Q(status=Operation.Status.SUBMITTING, submitted_at__lte=stale)
    ).order_by("next_look_at", "id")
    return list(due.values_list("id", flat=True)[:500])


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
    )
    return sighting, operation.handler, operation.merchant, is_gone


def _counted(outcome: Outcome, sighting: Sighting) -> Outcome:
    """Count an absence only if, when the provider was asked, the request could no longer arrive."""
    too_soon = sighting.sent_ago < settings.SARVEX_STALE_AFTER
    if outcome.result is Result.NOT_SENT and too_soon:
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
