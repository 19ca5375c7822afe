"""What a caller is told of an operation: under way, ended, declined, or never sent."""

from __future__ import annotations

from typing import Any

import orjson

from idempotency.answers import Answer
from idempotency.models import IdempotencyRecord
from orders.documents import operation_document
from orders.errors import PROBLEM_TYPE, REFUSALS, problem
from orders.handlers.base import Outcome
from orders.models import Operation

JSON_TYPE = "application/json"
RETRY_AFTER = "5"  # seconds: the first look at an unknown outcome comes about then


def done(document: dict[str, Any]) -> Answer:
    """Return the 200 of something that is done; it becomes final when it is stored."""
    return Answer(status=200, body=orjson.dumps(document), headers={"Content-Type": JSON_TYPE})


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
    if operation.status == Operation.Status.FAILED and not operation.contradicted_by:
        return nothing_was_sent(operation)
    return under_way(operation)


def under_way(operation: Operation) -> Answer:
    """Return the 202 that says where to ask for the outcome; it is never stored."""
    return Answer(
        status=202,
        body=orjson.dumps(operation_document(operation)),
        headers={
            "Content-Type": JSON_TYPE,
            "Location": f"/merchants/{operation.merchant_id}/operations/{operation.id}",
            "Retry-After": RETRY_AFTER,
        },
    )


def declined(operation: Operation, outcome: Outcome) -> Answer:
    """Return the provider's final no."""
    code = "payment_requires_action" if outcome.requires_action else "payment_declined"
    return Answer(
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


def nothing_was_sent(operation: Operation) -> Answer:
    """Return the 503 (or 502, for refused credentials) that says that nothing happened."""
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
