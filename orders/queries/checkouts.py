"""A checkout session as its reader may see it."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from idempotency.models import Arrival, IdempotencyRecord
from orders import access
from orders.access import Principal
from orders.documents import checkout_document, time_text
from orders.models import Operation

MOST_ATTEMPTS = 200


def checkout_as_seen_by(principal: Principal, checkout_id: str, *, now: datetime) -> dict[str, Any]:
    """Return the session, its order or operation, and for the merchant every try to complete it.

    An agent sees its own operation only. Raises `NotFound`.
    """
    checkout = access.checkout(principal, checkout_id)
    operation = (
        Operation.objects.filter(checkout=checkout, type=Operation.Type.CHARGE)
        .order_by("-created_at", "-id")
        .first()
    )
    order_id = operation.order_id if operation else None
    if principal.is_agent and operation is not None and operation.actor != principal.actor:
        operation = order_id = None
    seen = checkout_document(checkout, now=now, order_id=order_id, operation=operation)
    if not principal.is_agent:
        seen["complete_attempts"] = complete_attempts(principal.merchant_id, checkout_id)
    return seen


def complete_attempts(merchant_id: str, checkout_id: str) -> list[dict[str, Any]]:
    """Return who tried to complete a checkout, under which key and with what outcome, oldest first.

    The first request of each key stands in its record; the ones after it are arrivals.
    """
    records = IdempotencyRecord.objects.filter(
        merchant=merchant_id, subject=checkout_id, route="complete_checkout"
    ).order_by("id")[:MOST_ATTEMPTS]
    tries = [(one.first_seen_at, one.actor, one.key, "fresh", one.request_id) for one in records]
    later = Arrival.objects.filter(merchant=merchant_id, subject=checkout_id).order_by("id")
    tries += [
        (one.arrived_at, one.actor, one.key, one.outcome, one.request_id)
        for one in later[:MOST_ATTEMPTS]
    ]
    return [
        {
            "time": time_text(moment),
            "actor": actor,
            "idempotency_key": key or None,
            "outcome": outcome,
            "request_id": request_id,
        }
        for moment, actor, key, outcome, request_id in sorted(tries, key=lambda one: one[0])
    ]
