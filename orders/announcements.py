"""The events that orders promise to send, as rows of the outbox."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.db.models.functions import Now

from idempotency.models import OutboxEvent
from idempotency.outbox import new_event_id
from orders.documents import operation_document, order_document
from orders.models import Operation, Order

ORDER_INTENT = "serving.checkout.order_intent"
ORDER_CREATED = "sync.order.created"
ORDER_UPDATED = "sync.order.updated"
REFUND_UPDATED = "sync.refund.updated"
OPERATION_INDETERMINATE = "sync.operation.indeterminate"


def _event(
    topic: str,
    *,
    merchant: str,
    subject: str,
    sequence: int,
    payload: dict[str, Any],
    due_in: timedelta = timedelta(0),
    traceparent: str,
) -> OutboxEvent:
    return OutboxEvent(
        event_id=new_event_id(),
        topic=topic,
        merchant=merchant,
        subject=subject,
        sequence=sequence,
        payload={**payload, "sequence": sequence},
        due_at=Now() + due_in,
        traceparent=traceparent,
    )


def order_intent(operation: Operation, *, due_in: timedelta) -> OutboxEvent:
    """The guardian of an intention: due when it is to be sent, or its outcome should stand."""
    return _event(
        ORDER_INTENT,
        merchant=operation.merchant_id,
        subject=operation.id,
        sequence=0,
        payload={"operation_id": operation.id, "checkout_session_id": operation.checkout_id},
        due_in=due_in,
        traceparent=operation.traceparent,
    )


def order_event(topic: str, order: Order, *, traceparent: str) -> OutboxEvent:
    """An order came into being or changed; `order.event_sequence` was counted up for it."""
    return _event(
        topic,
        merchant=order.merchant_id,
        subject=order.id,
        sequence=order.event_sequence,
        payload=order_document(order),
        traceparent=traceparent,
    )


def operation_indeterminate(operation: Operation) -> OutboxEvent:
    """Nobody knows whether an operation moved money; it is being looked up."""
    return _event(
        OPERATION_INDETERMINATE,
        merchant=operation.merchant_id,
        subject=operation.id,
        sequence=1,
        payload=operation_document(operation),
        traceparent=operation.traceparent,
    )
