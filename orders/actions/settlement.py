"""Settle: the one way in which an operation ends, whoever brings its outcome.

The request that sent it, the reconciler, a provider's event and the back office all come through
`settle`. Settling twice changes nothing, and the loser of a race never compensates.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models.functions import Now

from audit.record import record
from idempotency.answers import Answer
from idempotency.claims import answer_key, leave_unresolved, release
from idempotency.outbox import publish
from orders import announcements, locks, trail
from orders.actions.effects.base import Effects
from orders.actions.effects.charge import ChargeEffects
from orders.answers import answer_of, declined, done, nothing_was_sent, under_way
from orders.handlers.base import Outcome, Result
from orders.models import Operation

log = structlog.get_logger(__name__)

NOT_SENT = "not_sent"
FIRST_LOOK = timedelta(seconds=5)
LATEST_LOOK = timedelta(hours=4)

EFFECTS: dict[str, Effects] = {Operation.Type.CHARGE: ChargeEffects()}


@transaction.atomic(durable=True)
def settle(operation_id: str, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    """Give an operation its outcome, with everything that follows from it, in one transaction.

    An operation that already ended keeps its end, and its answer is returned. An outcome that is
    unknown leaves the operation `indeterminate`, keeping what it holds.
    """
    return settle_locked(locks.operation(operation_id), outcome, actor=actor, now=now)


def settle_locked(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    """Do what `settle` does to an operation that the caller's transaction has locked."""
    if operation.is_final:
        if outcome.result is Result.SUCCEEDED and operation.status != Operation.Status.SUCCEEDED:
            return _contradicted(operation, outcome, actor=actor, now=now)
        return answer_of(operation)
    outcome = _believed(operation, outcome)
    operation.looking_until = None
    if outcome.reference:
        operation.reference = outcome.reference
    if outcome.result is Result.SUCCEEDED:
        return _succeeded(operation, outcome, actor=actor, now=now)
    if outcome.result is Result.DECLINED:
        return _declined(operation, outcome, actor=actor, now=now)
    if outcome.result is Result.NOT_SENT:
        return _not_sent(operation, outcome, actor=actor, now=now)
    return _unknown(operation, outcome)


def pause_before_look(looks: int) -> timedelta:
    """Return how long an operation of unknown outcome rests between looks: 5 s, then hours."""
    return min(FIRST_LOOK * 2 ** min(looks, 20), LATEST_LOOK)


def _believed(operation: Operation, outcome: Outcome) -> Outcome:
    """Do not believe a success about another amount or currency: a person must look at it."""
    if outcome.result is not Result.SUCCEEDED:
        return outcome
    told = (outcome.amount, outcome.currency, outcome.captured_amount)
    captured = EFFECTS[operation.type].captured_amount(operation)
    if told == (operation.amount, operation.currency, captured):
        return outcome
    log.error("amount_mismatch", operation=operation.id, told=told)
    return Outcome(
        result=Result.UNKNOWN,
        reference=outcome.reference,
        code="amount_mismatch",
        message=(
            f"The provider speaks of {outcome.amount} {outcome.currency}"
            f" ({outcome.captured_amount} captured), the operation of"
            f" {operation.amount} {operation.currency} ({captured} captured)."
        ),
        response=outcome.response,
    )


def _succeeded(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    operation.succeed()
    effect = EFFECTS[operation.type].succeed(operation, outcome, now=now)
    _end(operation, now=now)
    line = trail.completed(
        operation,
        response=_told(outcome, operation, actor),
        from_status=effect.from_status,
        to_status=effect.to_status,
    )
    record([line, *effect.lines])
    publish(effect.events)
    return _store(operation, done(effect.document), result_id=effect.result_id, now=now)


def _declined(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    operation.error_code, operation.error_message = outcome.code, outcome.message
    operation.fail()
    _end(operation, now=now)
    _let_go(operation, outcome, actor=actor, now=now)
    return _store(operation, declined(operation, outcome), result_id="", now=now)


def _not_sent(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    operation.error_code, operation.error_message = NOT_SENT, outcome.message
    operation.misconfigured = outcome.misconfigured
    operation.fail()
    _end(operation, now=now)
    _let_go(operation, outcome, actor=actor, now=now)
    release(operation.record_id)
    return nothing_was_sent(operation)


def _let_go(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> None:
    publish(EFFECTS[operation.type].undo(operation, now=now))
    record([trail.completed(operation, response=_told(outcome, operation, actor))])


def _unknown(operation: Operation, outcome: Outcome) -> Answer:
    first_time = operation.status == Operation.Status.SUBMITTING
    operation.error_code, operation.error_message = outcome.code, outcome.message
    if operation.next_look_at is None:
        operation.next_look_at = Now() + pause_before_look(operation.looks)
    if first_time:
        operation.lose_sight()
    operation.save(
        update_fields=[
            "status",
            "reference",
            "error_code",
            "error_message",
            "next_look_at",
            "looking_until",
        ]
    )
    if first_time:
        leave_unresolved(operation.record_id)
        record([trail.unresolved(operation, response=outcome.response)])
        publish([announcements.operation_indeterminate(operation)])
    return under_way(operation)


def _end(operation: Operation, *, now: datetime) -> None:
    operation.settled_at, operation.next_look_at = now, None
    if operation.status == Operation.Status.SUCCEEDED:
        operation.error_code = operation.error_message = ""
    operation.save(
        update_fields=[
            "status",
            "reference",
            "error_code",
            "error_message",
            "settled_at",
            "next_look_at",
            "looking_until",
            "order",
            "misconfigured",
        ]
    )


def _store(operation: Operation, answer: Answer, *, result_id: str, now: datetime) -> Answer:
    return answer_key(
        operation.record_id,
        answer,
        result_id=result_id,
        now=now,
        window=settings.SARVEX_REPLAY_WINDOW,
    )


def _told(outcome: Outcome, operation: Operation, actor: str) -> dict[str, Any]:
    """Return the provider's answer as the trail keeps it, with who brought it."""
    told = {**outcome.response, "result": outcome.result.value}
    if outcome.reference:
        told["reference"] = outcome.reference
    if outcome.decline_code:
        told["decline_code"] = outcome.decline_code
    if actor != operation.actor:
        told["settled_by"] = actor
    return told


def _contradicted(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    """Keep hold of money that moved although the operation had ended without moving any.

    It is told as under way, never as "nothing was charged": an equal request finds the movement
    under the same provider key, and until then it stands out for a person.
    """
    log.critical(
        "settlement_contradicted",
        operation=operation.id,
        status=operation.status,
        reference=outcome.reference,
        actor=actor,
    )
    if not operation.contradicted_by:
        operation.contradicted_by = outcome.reference
        operation.error_code = "contradicted"
        operation.error_message = (
            f"The provider made {outcome.reference} although this had been taken for not sent."
        )
        operation.save(update_fields=["contradicted_by", "error_code", "error_message"])
        record([trail.contradicted(operation, response=_told(outcome, operation, actor), now=now)])
    return under_way(operation)
