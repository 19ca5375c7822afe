"""Answer an equal request from how its key stands: replay, wait for the owner, or look it up."""

from __future__ import annotations

from datetime import datetime

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError

from idempotency import arrivals
from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, State
from idempotency.waiting import wait_for_owner
from orders.actions import keys, reconcile
from orders.answers import answer_of, under_way
from orders.clock import database_now
from orders.models import Operation

log = structlog.get_logger(__name__)


def stand(
    claim: Claim, standing: Standing, *, patient: bool = True, now: datetime
) -> Answer | None:
    """Answer an equal request from how its key stands; None when the caller is to try again.

    A caller that is not `patient` is told at once how things stand.
    """
    if standing.answer is not None:
        arrivals.remember(claim, "replayed", now=now)
        return standing.answer
    if standing.state == State.RELEASED:
        return None
    operation = Operation.objects.select_related("record").get(id=standing.operation_id)
    try:
        return _of_operation(claim, standing, operation, patient=patient, now=now)
    except (OperationalError, InterfaceError) as error:
        # Something was begun under this key, whatever the database can say of it at this moment.
        log.warning("standing_unreadable", operation=operation.id, error=type(error).__name__)
        return under_way(operation)


def _of_operation(
    claim: Claim, standing: Standing, operation: Operation, *, patient: bool, now: datetime
) -> Answer | None:
    if operation.status == Operation.Status.ACCEPTED or not patient:
        arrivals.remember(claim, "in_progress", now=now)
        return answer_of(operation)
    if standing.state == State.UNRESOLVED or reconcile.sender_is_gone(
        operation, now=database_now()
    ):
        return _look_up(claim, standing, now=now)
    owned = wait_for_owner(claim, at_most=settings.SARVEX_DUPLICATE_WAIT)
    if isinstance(owned, Answer) or (owned is not None and owned.answer is not None):
        arrivals.remember(claim, "waited", now=now)
        return owned if isinstance(owned, Answer) else owned.answer
    if owned is not None:
        # The owner ended without a final answer; its waiters hear the same and do not pile in.
        arrivals.remember(claim, "indeterminate", now=now)
        return _as_it_stands(owned)
    answer = reconcile.look_up(standing.operation_id, actor=claim.actor, now=database_now())
    if answer.final:
        arrivals.remember(claim, "waited", now=now)
        return answer
    arrivals.remember(claim, "in_progress", now=now)
    raise keys.RequestInProgress(
        "The same request is still being worked on. Ask again with the same Idempotency-Key."
    )


def _look_up(claim: Claim, standing: Standing, *, now: datetime) -> Answer | None:
    """Ask the provider; None when it shows that nothing was sent, so that the caller may send."""
    answer = reconcile.look_up(standing.operation_id, actor=claim.actor, now=database_now())
    operation = Operation.objects.select_related("record").get(id=standing.operation_id)
    if operation.status == Operation.Status.FAILED and not answer.final:
        # Nothing was sent: the key is free, or another equal request has it by now.
        return None
    outcome = "replayed" if answer.final else "indeterminate"
    arrivals.remember(claim, outcome, now=now)
    return answer


def _as_it_stands(standing: Standing) -> Answer:
    operation = Operation.objects.select_related("record").get(id=standing.operation_id)
    return answer_of(operation)
