"""The guardian of an intention: sees to it that what was written down comes to an end."""

from __future__ import annotations

from idempotency.models import OutboxEvent
from orders.actions import reconcile, submission
from orders.clock import database_now
from orders.models import Operation

ACTOR = "system:guardian"


def guard_intention(event: OutboxEvent) -> None:
    """End the intention that the event is about, if nobody has.

    An operation that ended is left alone, one that was never sent is sent, and one that may have
    been sent is looked up once nobody can still be sending it.
    """
    operation = Operation.objects.get(id=event.payload["operation_id"])
    if operation.is_final:
        return
    if operation.status == Operation.Status.ACCEPTED:
        submission.submit_accepted(operation.id)
        return
    reconcile.look_up(operation.id, actor=ACTOR, now=database_now())
