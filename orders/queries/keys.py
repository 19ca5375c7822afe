"""What became of a request: everything that is known of an idempotency key."""

from __future__ import annotations

from typing import Any

from idempotency.models import Arrival, IdempotencyRecord
from orders.access import Principal
from orders.documents import operation_document, time_text
from orders.errors import NotFound
from orders.models import Operation

MOST_ARRIVALS = 500


def key_as_seen_by(principal: Principal, key: str) -> dict[str, Any]:
    """Return what a key means in its newest life, and every request that arrived for it.

    An agent sees a key only if the request that gave it its meaning was its own.
    Raises `NotFound`.
    """
    lives = IdempotencyRecord.objects.filter(merchant=principal.merchant_id, key=key)
    newest = lives.defer("answer_body", "answer_headers").order_by("-generation").first()
    if newest is None or (principal.is_agent and newest.actor != principal.actor):
        raise NotFound("No request with this key has begun anything.")
    operation = Operation.objects.filter(id=newest.operation_id).first()
    return {
        "object": "idempotency_key",
        "merchant_id": newest.merchant,
        "idempotency_key": newest.key,
        "generation": newest.generation,
        "state": newest.state,
        "route": newest.route,
        "subject": newest.subject or newest.result_id or None,
        "actor": newest.actor,
        "fingerprint": newest.fingerprint,
        "first_seen_at": time_text(newest.first_seen_at),
        "answered_at": time_text(newest.answered_at),
        "expires_at": time_text(newest.expires_at),
        "answer_status": newest.answer_status,
        "order_id": operation.order_id if operation else None,
        "operation": operation_document(operation) if operation else None,
        "arrivals": _arrivals(principal, key),
    }


def _arrivals(principal: Principal, key: str) -> list[dict[str, Any]]:
    first = IdempotencyRecord.objects.filter(merchant=principal.merchant_id, key=key)
    later = Arrival.objects.filter(merchant=principal.merchant_id, key=key).order_by("id")
    if principal.is_agent:
        first, later = first.filter(actor=principal.actor), later.filter(actor=principal.actor)
    seen = [(one.first_seen_at, one.actor, one.request_id, "fresh") for one in first]
    seen += [
        (one.arrived_at, one.actor, one.request_id, one.outcome) for one in later[:MOST_ARRIVALS]
    ]
    return [
        {"time": time_text(moment), "actor": actor, "request_id": request_id, "outcome": outcome}
        for moment, actor, request_id, outcome in sorted(seen, key=lambda one: one[0])
    ]
