"""A charge's end: its order stands, or its checkout is open again."""

from __future__ import annotations

from datetime import datetime

from audit.models import MutationAttempt
from idempotency.models import OutboxEvent
from orders import announcements, trail
from orders.actions.effects.base import Effect
from orders.documents import order_document
from orders.handlers.base import Outcome
from orders.models import CheckoutSession, Merchant, Operation, Order
from orders.models.orders import is_captured
from orders.transitions import preconditions


class ChargeEffects:
    """What charging a checkout brings about."""

    def captured_amount(self, operation: Operation) -> int:
        """Return the whole amount, or nothing where it is only reserved."""
        automatic = operation.checkout.capture == CheckoutSession.Capture.AUTOMATIC
        return operation.amount if automatic else 0

    def succeed(self, operation: Operation, outcome: Outcome, *, now: datetime) -> Effect:
        """Make the order, confirm it where that is automatic, and complete the checkout."""
        order = _new_order(operation, outcome, now=now)
        lines = _confirm_if_automatic(order, operation, now=now)
        order.save(force_insert=True)
        operation.order = order
        operation.checkout.complete()
        operation.checkout.save(update_fields=["status"])
        created = announcements.order_event(
            announcements.ORDER_CREATED, order, traceparent=operation.traceparent
        )
        return Effect(
            document=order_document(order),
            result_id=order.id,
            lines=lines,
            events=[created],
            to_status=Order.Status.CREATED,
        )

    def undo(self, operation: Operation, *, now: datetime) -> list[OutboxEvent]:
        """Open the checkout again."""
        operation.checkout.reopen()
        operation.checkout.save(update_fields=["status"])
        return []


def _new_order(operation: Operation, outcome: Outcome, *, now: datetime) -> Order:
    checkout = operation.checkout
    captured = outcome.captured_amount
    return Order(
        id=operation.planned_order_id,
        merchant=operation.merchant,
        checkout=checkout,
        currency=operation.currency,
        amount_total=operation.amount,
        amount_captured=captured,
        idempotency_key=operation.idempotency_key,
        generation=operation.generation,
        actor=operation.actor,
        merchant_order_id=checkout.metadata.get("merchant_order_id"),
        payment_handler=operation.handler,
        payment_status=Order.Payment.CAPTURED if captured else Order.Payment.AUTHORIZED,
        payment_reference=outcome.reference,
        line_items=checkout.line_items,
        buyer=operation.handler_request.get("buyer") or checkout.buyer,
        shipping_address=checkout.shipping_address,
        metadata=checkout.metadata,
        event_sequence=1,
        created_at=now,
        updated_at=now,
    )


def _confirm_if_automatic(
    order: Order, operation: Operation, *, now: datetime
) -> list[MutationAttempt]:
    """Confirm at once what is captured, unless the merchant confirms by hand."""
    if not is_captured(order) or operation.merchant.confirm != Merchant.Confirm.AUTOMATIC:
        return []
    checked = preconditions(order, Order.Status.CONFIRMED)
    order.confirm()
    return [
        trail.transitioned(
            order,
            from_status=Order.Status.CREATED,
            preconditions=checked,
            actor="system:auto-confirm",
            request_id=operation.request_id,
            traceparent=operation.traceparent,
            now=now,
        )
    ]
