"""Merchants, checkouts, operations and orders, written straight into their tables."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any, TypeVar

from django.utils import timezone

from audit.record import new_mutation_id
from orders.models import ApiKey, CheckoutSession, Merchant, Operation, Order, ProviderEvent
from orders.models.checkouts import new_checkout_id
from orders.models.merchants import new_api_key
from orders.models.operations import new_operation_id
from tests.audit.rules import sql
from tests.idempotency.rows import a_record

# The shortest legal way from a first status to each of the others.
WAYS: dict[type, dict[str, list[str]]] = {
    Order: {
        "created": [],
        "confirmed": ["confirmed"],
        "shipped": ["confirmed", "shipped"],
        "cancelled": ["cancelled"],
        "refunded": ["refunded"],
    },
    Operation: {
        "accepted": [],
        "submitting": ["submitting"],
        "succeeded": ["submitting", "succeeded"],
        "failed": ["submitting", "failed"],
        "indeterminate": ["submitting", "indeterminate"],
        "cancelled": ["cancelled"],
    },
    CheckoutSession: {
        "open": [],
        "completing": ["completing"],
        "completed": ["completing", "completed"],
        "canceled": ["canceled"],
        "expired": ["expired"],
    },
}


def a_name(beginning: str) -> str:
    """Return a name that no other test has."""
    return f"{beginning}-{secrets.token_hex(6)}"


def a_merchant(**facts: Any) -> Merchant:
    """Write a merchant."""
    merchant = Merchant(**{"id": a_name("acme"), "name": "Acme", "currency": "usd", **facts})
    merchant.save(force_insert=True)
    return merchant


def an_api_key(**facts: Any) -> ApiKey:
    """Write a key."""
    _, prefix, digest = new_api_key("agent")
    facts.setdefault("merchant", a_merchant())
    key = ApiKey(**{"role": "agent", "name": "bot", "prefix": prefix, "hash": digest, **facts})
    key.save(force_insert=True)
    return key


def a_checkout(**facts: Any) -> CheckoutSession:
    """Write an open checkout of 3500 usd."""
    facts.setdefault("merchant", a_merchant())
    checkout = CheckoutSession(
        **{
            "id": new_checkout_id(),
            "currency": "usd",
            "line_items": [],
            "amount_subtotal": 3500,
            "amount_total": 3500,
            "expires_at": timezone.now() + timedelta(days=1),
            **facts,
        }
    )
    checkout.save(force_insert=True)
    return checkout


def an_operation(**facts: Any) -> Operation:
    """Write an accepted operation of 3500 usd, a charge unless it says otherwise."""
    checkout = facts.setdefault("checkout", a_checkout())
    facts.setdefault("merchant", checkout.merchant)
    facts.setdefault("record", a_record(merchant=facts["merchant"].id))
    key = facts["record"].key
    facts.setdefault("handler_key", f"{facts['merchant'].id}:{key}")
    operation_id = new_operation_id()
    operation = Operation(
        **{
            "id": operation_id,
            "type": "charge",
            "status": "accepted",
            "amount": 3500,
            "currency": "usd",
            "handler": "stripe",
            "planned_order_id": secrets.token_hex(12),
            "idempotency_key": key,
            "generation": 0,
            "mutation_id": new_mutation_id(),
            "root_id": operation_id,
            "actor": "agent:bot",
            "request_id": "req_1",
            "created_at": timezone.now(),
            **facts,
        }
    )
    operation.save(force_insert=True)
    return operation


def an_order(**facts: Any) -> Order:
    """Write a created order of 3500 usd, captured in full."""
    checkout = facts.setdefault("checkout", a_checkout())
    order = Order(
        **{
            "id": secrets.token_hex(12),
            "merchant": checkout.merchant,
            "status": "created",
            "currency": "usd",
            "amount_total": 3500,
            "amount_captured": 3500,
            "idempotency_key": a_name("key"),
            "generation": 0,
            "actor": "agent:bot",
            "payment_handler": "stripe",
            "payment_status": "captured",
            "payment_reference": a_name("pi"),
            "line_items": [],
            **facts,
        }
    )
    order.save(force_insert=True)
    return order


def a_provider_event(**facts: Any) -> ProviderEvent:
    """Write an event of a provider."""
    facts.setdefault("merchant", a_merchant())
    event = ProviderEvent(
        **{
            "handler": "stripe",
            "event_id": a_name("evt"),
            "type": "payment_intent.succeeded",
            "body_sha256": "0" * 64,
            "received_at": timezone.now(),
            **facts,
        }
    )
    event.save(force_insert=True)
    return event


Row = Order | Operation | CheckoutSession
AnyRow = TypeVar("AnyRow", bound=Row)


def move(row: Row, status: str) -> None:
    """Put a row into a status at the database's prompt, with the times that belong to it."""
    table, key = row._meta.db_table, row._meta.pk.column
    times = ""
    if isinstance(row, Operation):
        ended = status in {"succeeded", "failed", "cancelled"}
        sent = status not in {"accepted", "cancelled"}
        times = (
            f", submitted_at = {'now()' if sent else 'NULL'}"
            f", settled_at = {'now()' if ended else 'NULL'}"
            f", next_look_at = {'now()' if status == 'indeterminate' else 'NULL'}"
        )
    statement = f"UPDATE {table} SET status = %s{times} WHERE {key} = %s"  # noqa: S608
    assert sql(statement, status, row.pk) == 1


def brought_to(row: AnyRow, status: str) -> AnyRow:
    """Bring a fresh row to a status by its shortest legal way, and read it again."""
    for step in WAYS[type(row)][status]:
        move(row, step)
    row.refresh_from_db()
    return row
