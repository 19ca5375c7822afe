"""Cancel an operation: take back what was accepted and not sent yet."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import transaction

from audit.record import record
from idempotency.answers import Answer, Claim
from idempotency.claims import answer_key
from idempotency.outbox import publish
from orders import locks, trail
from orders.actions.settlement import EFFECTS
from orders.answers import done
from orders.documents import operation_document
from orders.errors import Refusal
from orders.models import Operation


class AlreadySent(Refusal):
    """The operation may have reached its provider: it cannot be taken back."""

    code = "invalid_transition"


def cancel_operation(*, operation_id: str, claim: Claim, now: datetime) -> Answer:
    """Drop an accepted operation; it races the worker that would send it, and one of them wins.

    The key it was asked under stays cancelled too: a late retry does not bring it back.
    Cancelling twice changes nothing.

    Raises:
        AlreadySent: it was sent, or has ended.
    """
    try:
        return _cancel(operation_id, claim, now=now)
    except AlreadySent as refusal:
        with transaction.atomic(durable=True):
            record(
                [
                    trail.refused(
                        claim,
                        mutation_type="cancel_operation",
                        code=refusal.code,
                        reason=refusal.detail,
                        preconditions=[{"name": "not_sent", "passed": False}],
                        now=now,
                    )
                ]
            )
        raise


@transaction.atomic(durable=True)
def _cancel(operation_id: str, claim: Claim, *, now: datetime) -> Answer:
    operation = locks.operation(operation_id)
    if operation.status == Operation.Status.CANCELLED:
        return done(operation_document(operation))
    if operation.status != Operation.Status.ACCEPTED:
        raise AlreadySent(
            "Only an operation that has not been sent can be cancelled.",
            violations=[f"An operation is cancelled from accepted; this is {operation.status}."],
        )
    operation.cancel()
    operation.settled_at = now
    operation.save(update_fields=["status", "settled_at"])
    publish(EFFECTS[operation.type].undo(operation, now=now))
    told = {"cancelled_by": claim.actor}
    record([trail.completed(operation, response=told)])
    return answer_key(
        operation.record_id,
        done(operation_document(operation)),
        result_id="",
        now=now,
        window=settings.SARVEX_REPLAY_WINDOW,
    )
