"""Settle: the one way in which an operation ends, whoever brings its outcome.

The request that sent it, the reconciler, a provider's event and the back office all come through
`settle`. Settling twice changes nothing, and the loser of a race never compensates.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import orjson
import structlog
from django.conf import settings
from django.db import transaction

from audit.models import MutationAttempt
from audit.record import record
from idempotency.answers import Answer
from idempotency.claims import answer_key, leave_unresolved, release
from idempotency.models import IdempotencyRecord, OutboxEvent
from idempotency.outbox import publish
from orders import announcements, locks, trail
from orders.documents import operation_document, order_document
from orders.errors import PROBLEM_TYPE, REFUSALS, problem
from orders.handlers.base import Outcome, Result
from orders.models import CheckoutSession, Merchant, Operation, Order
from orders.models.orders import is_captured
from orders.transitions import preconditions

log = structlog.get_logger(__name__)

JSON_TYPE = "application/json"
NOT_SENT = "not_sent"
FIRST_LOOK = timedelta(seconds=5)
LATEST_LOOK = timedelta(hours=4)


@transaction.atomic(durable=True)
def settle(operation_id: str, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    """Give an operation its outcome, with everything that follows from it, in one transaction.

    An operation that already ended keeps its end, and its answer is returned. An outcome that is
    unknown leaves the operation `indeterminate`, keeping its hold on the checkout.
    """
    return settle_locked(locks.operation(operation_id), outcome, actor=actor, now=now)


def settle_locked(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    """Do what `settle` does to an operation that the caller's transaction has locked."""
    if operation.is_final:
        _report_contradiction(operation, outcome, actor)
        return answer_of(operation)
    outcome = _checked(operation, outcome)
    operation.looking_until = None
    if outcome.reference:
        operation.reference = outcome.reference
    if outcome.result is Result.SUCCEEDED:
        return _charge_succeeded(operation, outcome, actor=actor, now=now)
    if outcome.result is Result.DECLINED:
        return _charge_declined(operation, outcome, actor=actor, now=now)
    if outcome.result is Result.NOT_SENT:
        return _not_sent(operation, outcome, actor=actor, now=now)
    return _unknown(operation, outcome, now=now)


def answer_of(operation: Operation) -> Answer:
    """Return what an equal request is told of an operation as it stands."""
    kept = operation.record
    if kept.state == IdempotencyRecord.State.ANSWERED and kept.operation_id == operation.id:
        return Answer(
            status=kept.answer_status or 200,
            body=bytes(kept.answer_body or b""),
            headers=kept.answer_headers,
            final=True,
            replayed=True,
            expires_at=kept.expires_at,
        )
    if operation.status == Operation.Status.FAILED:
        return _nothing_was_charged(operation)
    return under_way(operation)


def under_way(operation: Operation, *, retry_after: int = 5) -> Answer:
    """Return the 202 that says where to ask for the outcome; it is never stored."""
    return Answer(
        status=202,
        body=orjson.dumps(operation_document(operation)),
        headers={
            "Content-Type": JSON_TYPE,
            "Location": f"/merchants/{operation.merchant_id}/operations/{operation.id}",
            "Retry-After": str(retry_after),
        },
    )


def next_look(looks: int, now: datetime) -> datetime:
    """Return when an operation of unknown outcome is looked up next: 5 s, growing to hours."""
    return now + min(FIRST_LOOK * 2 ** min(looks, 20), LATEST_LOOK)


def _checked(operation: Operation, outcome: Outcome) -> Outcome:
    """Do not believe a success about another amount or currency: a person must look at it."""
    if outcome.result is not Result.SUCCEEDED:
        return outcome
    told = (outcome.amount, outcome.currency)
    automatic = operation.checkout.capture == CheckoutSession.Capture.AUTOMATIC
    captured = operation.amount if automatic else 0
    if told == (operation.amount, operation.currency) and outcome.captured_amount == captured:
        return outcome
    log.error("amount_mismatch", operation=operation.id, told=told)
    return Outcome(
        result=Result.UNKNOWN,
        reference=outcome.reference,
        code="amount_mismatch",
        message=(
            f"The provider speaks of {outcome.amount} {outcome.currency}"
            f" ({outcome.captured_amount} captured), the checkout of"
            f" {operation.amount} {operation.currency}."
        ),
        response=outcome.response,
    )


def _charge_succeeded(
    operation: Operation, outcome: Outcome, *, actor: str, now: datetime
) -> Answer:
    operation.succeed()
    order = _new_order(operation, outcome, now=now)
    lines = [
        trail.completed(
            operation,
            response=_told(outcome, operation, actor),
            to_status=Order.Status.CREATED,
        )
    ]
    lines += _confirm_if_automatic(order, operation, now=now)
    order.save(force_insert=True)
    operation.order = order
    _end(operation, now=now)
    operation.checkout.complete()
    operation.checkout.save(update_fields=["status"])
    created = announcements.order_event(
        announcements.ORDER_CREATED, order, now=now, traceparent=operation.traceparent
    )
    answer = Answer(
        status=200,
        body=orjson.dumps(order_document(order)),
        headers={"Content-Type": JSON_TYPE},
    )
    return _finish(operation, answer, lines, [created], result_id=order.id, now=now)


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


def _charge_declined(
    operation: Operation, outcome: Outcome, *, actor: str, now: datetime
) -> Answer:
    operation.error_code = outcome.code
    operation.error_message = outcome.message
    operation.fail()
    _end(operation, now=now)
    _reopen(operation)
    code = "payment_requires_action" if outcome.requires_action else "payment_declined"
    answer = Answer(
        status=REFUSALS[code].status,
        body=problem(
            code,
            outcome.message,
            request_id=operation.request_id,
            decline_code=outcome.decline_code,
            operation=operation_document(operation),
        ),
        headers={"Content-Type": PROBLEM_TYPE},
    )
    lines = [trail.completed(operation, response=_told(outcome, operation, actor))]
    return _finish(operation, answer, lines, [], result_id="", now=now)


def _not_sent(operation: Operation, outcome: Outcome, *, actor: str, now: datetime) -> Answer:
    operation.error_code = NOT_SENT
    operation.error_message = outcome.message
    operation.misconfigured = outcome.misconfigured
    operation.fail()
    _end(operation, now=now)
    _reopen(operation)
    release(operation.record_id)
    record([trail.completed(operation, response=_told(outcome, operation, actor))])
    return _nothing_was_charged(operation)


def _nothing_was_charged(operation: Operation) -> Answer:
    code = (
        "payment_handler_misconfigured"
        if operation.misconfigured
        else "payment_handler_unavailable"
    )
    kind = REFUSALS[code]
    return Answer(
        status=kind.status,
        body=problem(
            code,
            f"{operation.error_message} Nothing was charged; send the same request again with the"
            " same Idempotency-Key.",
            request_id=operation.request_id,
            operation=operation_document(operation),
        ),
        headers={"Content-Type": PROBLEM_TYPE, "Retry-After": str(kind.retry_after)},
    )


def _unknown(operation: Operation, outcome: Outcome, *, now: datetime) -> Answer:
    first_time = operation.status == Operation.Status.SUBMITTING
    operation.error_code = outcome.code
    operation.error_message = outcome.message
    if operation.next_look_at is None:
        operation.next_look_at = next_look(operation.looks, now)
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
        publish([announcements.operation_indeterminate(operation, now=now)])
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


def _reopen(operation: Operation) -> None:
    operation.checkout.reopen()
    operation.checkout.save(update_fields=["status"])


def _finish(
    operation: Operation,
    answer: Answer,
    lines: list[MutationAttempt],
    events: list[OutboxEvent],
    *,
    result_id: str,
    now: datetime,
) -> Answer:
    record(lines)
    if events:
        publish(events)
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


def _report_contradiction(operation: Operation, outcome: Outcome, actor: str) -> None:
    """A success that comes after the operation ended otherwise is money without an order."""
    if outcome.result is Result.SUCCEEDED and operation.status != Operation.Status.SUCCEEDED:
        log.critical(
            "settlement_contradicted",
            operation=operation.id,
            status=operation.status,
            reference=outcome.reference,
            actor=actor,
        )
