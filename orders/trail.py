"""What the audit trail is told of checkouts, orders and operations."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from audit.models import MutationAttempt
from audit.record import new_mutation_id
from idempotency.answers import Claim
from orders.models import Operation, Order

Phase = MutationAttempt.Phase

# What an operation is called in the trail: a charge creates an order.
MUTATION_TYPE = {
    Operation.Type.CHARGE: "create",
    Operation.Type.CAPTURE: "capture",
    Operation.Type.REFUND: "refund",
    Operation.Type.VOID: "void",
}


def _about(operation: Operation, **facts: Any) -> MutationAttempt:
    return MutationAttempt(
        mutation_id=operation.mutation_id,
        mutation_type=MUTATION_TYPE[Operation.Type(operation.type)],
        merchant_id=operation.merchant_id,
        checkout_session_id=operation.checkout_id,
        order_id=operation.planned_order_id,
        operation_id=operation.id,
        idempotency_key=operation.idempotency_key,
        generation=operation.generation,
        attempted_at=operation.created_at,
        retry_count=operation.retry_count,
        request_id=operation.request_id,
        traceparent=operation.traceparent,
        local_status=operation.status,
        **facts,
    )


def attempted(operation: Operation, preconditions: list[dict[str, Any]]) -> MutationAttempt:
    """The intent is written down and about to be sent."""
    return _about(
        operation, phase=Phase.ATTEMPTED, actor=operation.actor, preconditions=preconditions
    )


def unresolved(operation: Operation, *, response: dict[str, Any]) -> MutationAttempt:
    """Nobody knows whether the money moved."""
    return _about(
        operation,
        phase=Phase.UNRESOLVED,
        actor=operation.actor,
        handler_response=response,
        error_message=operation.error_message,
    )


def completed(
    operation: Operation,
    *,
    response: dict[str, Any],
    from_status: str = "",
    to_status: str = "",
) -> MutationAttempt:
    """The outcome stands; `handler_response` says who brought it when it was not the sender."""
    return _about(
        operation,
        phase=Phase.COMPLETED,
        actor=operation.actor,
        completed_at=operation.settled_at,
        handler_response=response,
        error_message=operation.error_message,
        from_status=from_status,
        to_status=to_status,
    )


def contradicted(
    operation: Operation, *, response: dict[str, Any], now: datetime
) -> MutationAttempt:
    """The provider moved money although the operation had ended without moving any."""
    line = _about(
        operation,
        phase=Phase.COMPLETED,
        actor=operation.actor,
        completed_at=now,
        handler_response=response,
        error_message=operation.error_message,
    )
    line.mutation_id, line.local_status = new_mutation_id(), "contradicted"
    return line


def transitioned(
    order: Order,
    *,
    from_status: str,
    preconditions: list[dict[str, Any]],
    actor: str,
    request_id: str,
    traceparent: str,
    now: datetime,
) -> MutationAttempt:
    """An order went from one status to its present one."""
    return MutationAttempt(
        mutation_id=new_mutation_id(),
        phase=Phase.COMPLETED,
        mutation_type="transition",
        merchant_id=order.merchant_id,
        checkout_session_id=order.checkout_id,
        order_id=order.id,
        idempotency_key=order.idempotency_key,
        generation=order.generation,
        actor=actor,
        attempted_at=now,
        completed_at=now,
        local_status="succeeded",
        from_status=from_status,
        to_status=order.status,
        preconditions=preconditions,
        request_id=request_id,
        traceparent=traceparent,
    )


def of_checkout(
    claim: Claim, *, mutation_type: str, to_status: str, now: datetime
) -> MutationAttempt:
    """A checkout was opened or canceled; no money was involved."""
    return MutationAttempt(
        mutation_id=new_mutation_id(),
        phase=Phase.COMPLETED,
        mutation_type=mutation_type,
        merchant_id=claim.merchant,
        checkout_session_id=claim.subject,
        idempotency_key=claim.key,
        actor=claim.actor,
        attempted_at=now,
        completed_at=now,
        local_status="succeeded",
        to_status=to_status,
        request_id=claim.request_id,
        traceparent=claim.traceparent,
    )


def refused(
    claim: Claim,
    *,
    mutation_type: str,
    code: str,
    reason: str,
    preconditions: list[dict[str, Any]],
    now: datetime,
    order_id: str = "",
    from_status: str = "",
    to_status: str = "",
) -> MutationAttempt:
    """Somebody asked for a change that the state of things does not allow."""
    return MutationAttempt(
        mutation_id=new_mutation_id(),
        phase=Phase.COMPLETED,
        mutation_type=mutation_type,
        merchant_id=claim.merchant,
        checkout_session_id=claim.subject if claim.subject.startswith("cs_") else "",
        order_id=order_id,
        idempotency_key=claim.key,
        actor=claim.actor,
        attempted_at=now,
        completed_at=now,
        local_status="refused",
        from_status=from_status,
        to_status=to_status,
        preconditions=preconditions,
        handler_response={"code": code},
        error_message=reason,
        request_id=claim.request_id,
        traceparent=claim.traceparent,
    )
