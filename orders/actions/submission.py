"""Submit: carry an operation to its provider, at most once, and see it settled."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

import structlog
from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction
from django.utils import timezone

from idempotency.answers import Answer
from orders import locks
from orders.actions.settlement import settle
from orders.answers import under_way
from orders.clock import Moment, database_now
from orders.handlers.base import ChargeOrder, Outcome, Result, handler_key
from orders.handlers.registry import handler_for
from orders.models import CheckoutSession, Operation

log = structlog.get_logger(__name__)

SETTLE_TRIES = 3
TOO_LATE = Outcome(
    result=Result.NOT_SENT,
    code="too_late",
    message="It took too long to come to sending it, so it was not sent.",
)


class SubmittedInsideTransaction(Exception):
    """A provider was about to be called with a transaction open."""


def submit(operation: Operation, *, actor: str, begun_at: Moment) -> Answer:
    """Send an operation whose `submitting` is committed, once, and settle what comes back.

    Having committed `submitting` before the call is what makes a crash readable: an operation
    found there may have moved money, so it is looked up and never sent again. No database
    connection is held during the call. `begun_at` was read before that commit.
    """
    if transaction.get_connection().in_atomic_block:
        raise SubmittedInsideTransaction(operation.id)
    connection.close()
    left = _left_to_begin(begun_at)
    if left <= timedelta(0):
        outcome = TOO_LATE
    else:
        handler = handler_for(operation.handler, operation.merchant)
        outcome = handler.charge(_charge_order(operation, begin_within=left))
    return _settle_surely(operation, outcome, actor=actor)


def _left_to_begin(begun_at: Moment) -> timedelta:
    """Return how long sending may still begin, before others may conclude that nobody sends.

    A process that was frozen between its commit and its call must not send after the operation
    has been looked up, not found and given up.
    """
    latest: timedelta = settings.SARVEX_STALE_AFTER - settings.SARVEX_PROVIDER_TIMEOUT
    return latest - begun_at.ago()


def submit_accepted(operation_id: str) -> bool:
    """Send an operation that was accepted to be sent later; whether it was ours to send.

    Committing `submitting` is the point of no return: of those who would send it and those who
    would cancel it exactly one finds it `accepted`.
    """
    begun_at = Moment.now()
    operation = _begin(operation_id)
    if operation is None:
        return False
    submit(operation, actor=operation.actor, begun_at=begun_at)
    return True


@transaction.atomic(durable=True)
def _begin(operation_id: str) -> Operation | None:
    operation = locks.operation(operation_id)
    if operation.status != Operation.Status.ACCEPTED:
        return None
    operation.begin()
    operation.submitted_at = database_now()
    operation.save(update_fields=["status", "submitted_at"])
    return operation


def _charge_order(operation: Operation, *, begin_within: timedelta) -> ChargeOrder:
    automatic = operation.checkout.capture == CheckoutSession.Capture.AUTOMATIC
    return ChargeOrder(
        handler_key=operation.handler_key,
        amount=operation.amount,
        currency=operation.currency,
        token=operation.handler_request["token"],
        capture=automatic,
        metadata={
            # The first try's id on every try: what the provider sees never changes.
            "sarvex_operation": operation.root_id,
            "sarvex_merchant": operation.merchant_id,
            "sarvex_order": operation.planned_order_id,
        },
        begin_within=begin_within,
    )


def _settle_surely(operation: Operation, outcome: Outcome, *, actor: str) -> Answer:
    """Settle, and whatever goes wrong with that, do not report a charge that was made as failed.

    A connection that breaks may have committed: settling again finds out, since it changes
    nothing the second time. What still cannot be settled stays `submitting` in the database and
    is told as under way; the next equal request, or the reconciler, looks it up.
    """
    for tries_left in reversed(range(SETTLE_TRIES)):
        try:
            answer = settle(operation.id, outcome, actor=actor, now=timezone.now())
            # Somebody else may have settled it first; to this caller it is no replay.
            return replace(answer, replayed=False)
        except (OperationalError, InterfaceError) as error:
            log.warning("settle_interrupted", operation=operation.id, error=type(error).__name__)
            connection.close()
            if not tries_left:
                break
        except Exception:
            log.exception("settle_failed", operation=operation.id, result=outcome.result.value)
            break
    return under_way(operation)


def key_for(operation: Operation, *, step: str = "") -> str:
    """Return the key under which the operation's provider knows it, within the provider's limit."""
    return handler_key(
        merchant=operation.merchant_id,
        key=operation.idempotency_key,
        generation=operation.generation,
        step=step,
        longest=handler_for(operation.handler, operation.merchant).longest_key,
    )
