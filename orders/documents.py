"""The public shape of each object: plain values, as CONTRACT-bound JSON members.

Amounts are integers in minor units, times RFC 3339 in UTC, absent things null.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from audit.models import MutationAttempt
from orders.models import CheckoutSession, Operation, Order


def time_text(moment: datetime | None) -> str | None:
    """Return a time as RFC 3339 in UTC with milliseconds, or None."""
    if moment is None:
        return None
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def order_document(order: Order) -> dict[str, Any]:
    """Return an order as the API shows it."""
    return {
        "object": "order",
        "order_id": order.id,
        "merchant_id": order.merchant_id,
        "checkout_session_id": order.checkout_id,
        "status": order.status,
        "currency": order.currency,
        "amount_total": order.amount_total,
        "amount_captured": order.amount_captured,
        "amount_refunded": order.amount_refunded,
        "amount_refund_pending": order.amount_refund_pending,
        "idempotency_key": order.idempotency_key,
        "generation": order.generation,
        "merchant_order_id": order.merchant_order_id,
        "payment": {
            "handler": order.payment_handler,
            "status": order.payment_status,
            "reference": order.payment_reference,
        },
        "line_items": order.line_items,
        "buyer": order.buyer,
        "shipping_address": order.shipping_address,
        "shipping": {"carrier": order.carrier, "tracking_number": order.tracking_number},
        "metadata": order.metadata,
        "created_at": time_text(order.created_at),
        "updated_at": time_text(order.updated_at),
    }


def operation_document(operation: Operation) -> dict[str, Any]:
    """Return an operation as the API shows it."""
    return {
        "object": "operation",
        "id": operation.id,
        "merchant_id": operation.merchant_id,
        "type": operation.type,
        "status": operation.status,
        "amount": operation.amount,
        "currency": operation.currency,
        "handler": operation.handler,
        "handler_key": operation.handler_key,
        "reference": operation.reference or None,
        "order_id": operation.order_id,
        "checkout_session_id": operation.checkout_id,
        "idempotency_key": operation.idempotency_key,
        "retry_count": operation.retry_count,
        "error": {"code": operation.error_code, "message": operation.error_message}
        if operation.error_code
        else None,
        "created_at": time_text(operation.created_at),
        "submitted_at": time_text(operation.submitted_at),
        "settled_at": time_text(operation.settled_at),
    }


def checkout_document(
    checkout: CheckoutSession,
    *,
    now: datetime,
    order_id: str | None = None,
    operation: Operation | None = None,
) -> dict[str, Any]:
    """Return a checkout session as the API shows it, with its order or operation if any."""
    return {
        "object": "checkout_session",
        "id": checkout.id,
        "merchant_id": checkout.merchant_id,
        "status": checkout.status_at(now),
        "currency": checkout.currency,
        "capture": checkout.capture,
        "line_items": checkout.line_items,
        "amount_subtotal": checkout.amount_subtotal,
        "shipping_amount": checkout.shipping_amount,
        "tax_amount": checkout.tax_amount,
        "discount_amount": checkout.discount_amount,
        "amount_total": checkout.amount_total,
        "buyer": checkout.buyer,
        "shipping_address": checkout.shipping_address,
        "metadata": checkout.metadata,
        "expires_at": time_text(checkout.expires_at),
        "created_at": time_text(checkout.created_at),
        "order_id": order_id,
        "operation": operation_document(operation) if operation else None,
    }


def mutation_document(line: MutationAttempt) -> dict[str, Any]:
    """Return an attempt of the trail as the API shows it."""
    return {
        "object": "mutation",
        "mutation_id": line.mutation_id,
        "merchant_id": line.merchant_id,
        "checkout_session_id": line.checkout_session_id or None,
        "order_id": line.order_id or None,
        "operation_id": line.operation_id or None,
        "idempotency_key": line.idempotency_key or None,
        "generation": line.generation,
        "mutation_type": line.mutation_type,
        "actor": line.actor,
        "attempted_at": time_text(line.attempted_at),
        "completed_at": time_text(line.completed_at),
        "local_status": line.local_status,
        "from_status": line.from_status or None,
        "to_status": line.to_status or None,
        "preconditions": line.preconditions,
        "handler_response": line.handler_response,
        "error_message": line.error_message or None,
        "retry_count": line.retry_count,
        "request_id": line.request_id,
        "traceparent": line.traceparent or None,
    }
