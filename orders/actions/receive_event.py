"""Receive a provider's event: keep it, and let it settle what it is about, once."""

from __future__ import annotations

from datetime import datetime

import structlog
from django.db import transaction
from django.utils import timezone

from orders.actions import reconcile
from orders.actions.settlement import settle
from orders.clock import database_now
from orders.errors import ServiceUnavailable
from orders.handlers.base import Notice, Result
from orders.models import Merchant, Operation, ProviderEvent

log = structlog.get_logger(__name__)


class EventNotSettledYet(ServiceUnavailable):
    """Somebody else is asking the provider about it already; the event should come again."""


def receive_event(*, merchant: Merchant, handler: str, notice: Notice, now: datetime) -> str:
    """Take a verified event, and return in a few words what it did.

    What an event says is not believed by its order of arrival: an operation that has not ended is
    looked up at the provider, and what the provider says now is settled. An operation that ended
    stays as it is. An event that was worked on before does nothing.

    Raises:
        EventNotSettledYet: the provider should send it again.
    """
    event = _keep(merchant, handler, notice, now=now)
    if event.processed_at is not None:
        return "seen before"
    effect = _work_on(merchant, event, notice, now=now)
    with transaction.atomic(durable=True):
        event.processed_at, event.effect = timezone.now(), effect
        event.save(update_fields=["processed_at", "effect", "operation_id"])
    return effect


def _keep(merchant: Merchant, handler: str, notice: Notice, *, now: datetime) -> ProviderEvent:
    with transaction.atomic(durable=True):
        event, _ = ProviderEvent.objects.get_or_create(
            merchant=merchant,
            handler=handler,
            event_id=notice.event_id,
            defaults={
                "type": notice.type,
                "reference": notice.reference,
                "evidence": notice.evidence,
                "body_sha256": notice.body_sha256,
                "received_at": now,
            },
        )
    return event


def _work_on(merchant: Merchant, event: ProviderEvent, notice: Notice, *, now: datetime) -> str:
    if notice.outcome is None:
        return "nothing that moves money here"
    operation = _operation_of(merchant, event.handler, notice)
    if operation is None:
        return "no operation of ours"
    event.operation_id = operation.id
    actor = f"system:{event.handler}-event"
    if operation.is_final:
        contradicts = notice.outcome.result is Result.SUCCEEDED
        if contradicts and operation.status != Operation.Status.SUCCEEDED:
            settle(operation.id, notice.outcome, actor=actor, now=now)
            return f"contradicts an operation that had ended {operation.status}"
        return f"the operation had ended {operation.status}"
    if operation.submitted_at is None:
        return "the operation has not been sent"
    now = database_now()
    if reconcile.is_being_looked_up(operation, now=now):
        raise EventNotSettledYet("The operation is being looked up; send the event again.")
    reconcile.look_up(operation.id, actor=actor, now=now, reference=notice.reference)
    status = Operation.objects.values_list("status", flat=True).get(id=operation.id)
    return f"looked up: {status}"


def _operation_of(merchant: Merchant, handler: str, notice: Notice) -> Operation | None:
    """Match an event to its own attempt: by the id that it was sent with, newest try first."""
    if not notice.operation_id:
        return None
    return (
        Operation.objects.filter(merchant=merchant, handler=handler, root_id=notice.operation_id)
        .order_by("-retry_count")
        .first()
    )
