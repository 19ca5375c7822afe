"""The two machines and the checkout's, as ARCHITECTURE.md and MISSION.md draw them."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from orders.models import CheckoutSession, Operation, Order
from tests.audit.rules import Violation, sql
from tests.orders.models.rows import (
    WAYS,
    Row,
    a_checkout,
    a_merchant,
    an_operation,
    an_order,
    brought_to,
    move,
)

ORDERS = "orders_move_forward_only"
OPERATIONS = "operations_move_forward_only"
CHECKOUTS = "checkouts_move_forward_only"

Edge = tuple[str, str]

EDGES: dict[str, set[Edge]] = {
    ORDERS: {
        ("created", "confirmed"),
        ("created", "cancelled"),
        ("created", "refunded"),
        ("confirmed", "shipped"),
        ("confirmed", "refunded"),
    },
    OPERATIONS: {
        ("accepted", "submitting"),
        ("accepted", "cancelled"),
        ("submitting", "succeeded"),
        ("submitting", "failed"),
        ("submitting", "indeterminate"),
        ("indeterminate", "succeeded"),
        ("indeterminate", "failed"),
    },
    CHECKOUTS: {
        ("open", "completing"),
        ("open", "canceled"),
        ("open", "expired"),
        ("completing", "completed"),
        ("completing", "open"),
    },
}
# An order is written when its money is there, an operation on the request's path as submitting.
BEGINNINGS = {
    ORDERS: {"created", "confirmed"},
    OPERATIONS: {"accepted", "submitting"},
    CHECKOUTS: {"open"},
}
WRITE: dict[str, Callable[..., Row]] = {
    ORDERS: an_order,
    OPERATIONS: an_operation,
    CHECKOUTS: a_checkout,
}
STATUSES = {
    ORDERS: list(WAYS[Order]),
    OPERATIONS: list(WAYS[Operation]),
    CHECKOUTS: list(WAYS[CheckoutSession]),
}
AGREED: dict[str, dict[str, Any]] = {
    ORDERS: {
        "merchant_id": None,
        "checkout_id": None,
        "idempotency_key": "another",
        "generation": 1,
        "currency": "eur",
        "amount_total": 3501,
    },
    OPERATIONS: {
        "merchant_id": None,
        "checkout_id": None,
        "type": "refund",
        "handler": "another",
        "handler_key": "another",
        "amount": 3501,
        "currency": "eur",
    },
    CHECKOUTS: {"merchant_id": None, "currency": "eur", "line_items": '[{"sku": "another"}]'},
}
ANOTHER: dict[str, Callable[[], Row | Any]] = {
    "merchant_id": a_merchant,
    "checkout_id": a_checkout,
}


def times_of(rule: str, status: str) -> dict[str, Any]:
    """Return what a row of a status has to say so that no other rule refuses it."""
    if rule != OPERATIONS:
        return {}
    row = brought_to(an_operation(), status)
    return {name: getattr(row, name) for name in ("submitted_at", "settled_at", "next_look_at")}


def go(rule: str, old: str, new: str) -> None:
    """Bring a row to one status by the legal way, and then put it into another."""
    move(brought_to(WRITE[rule](), old), new)


def begin(rule: str, status: str) -> None:
    """Write a row that begins in a status."""
    WRITE[rule](status=status, **times_of(rule, status))


def change(rule: str, column: str, value: Any) -> None:
    """Change what was agreed at the database's prompt."""
    row = WRITE[rule]()
    new = ANOTHER[column]().pk if value is None else value
    table, key = row._meta.db_table, row._meta.pk.column
    sql(f"UPDATE {table} SET {column} = %s WHERE {key} = %s", new, row.pk)  # noqa: S608


def change_the_price() -> None:
    """Change a checkout's price and its parts, so that the sum is right."""
    sql(
        "UPDATE orders_checkoutsession SET amount_subtotal = 1, amount_total = 1 WHERE id = %s",
        a_checkout().pk,
    )


def delete(rule: str, status: str) -> None:
    """Delete a row at the database's prompt."""
    row = brought_to(WRITE[rule](), status)
    table, key = row._meta.db_table, row._meta.pk.column
    sql(f"DELETE FROM {table} WHERE {key} = %s", row.pk)  # noqa: S608


PAIRS = [
    (rule, old, new)
    for rule, statuses in STATUSES.items()
    for old in statuses
    for new in statuses
    if old != new
]
FORBIDDEN = [
    *(
        Violation(rule, f"{old} to {new}", partial(go, rule, old, new))
        for rule, old, new in PAIRS
        if (old, new) not in EDGES[rule]
    ),
    *(
        Violation(rule, f"beginning {status}", partial(begin, rule, status))
        for rule, statuses in STATUSES.items()
        for status in statuses
        if status not in BEGINNINGS[rule]
    ),
    *(
        Violation(rule, f"another {column}", partial(change, rule, column, value))
        for rule, columns in AGREED.items()
        for column, value in columns.items()
    ),
    Violation(CHECKOUTS, "another price", change_the_price),
    *(
        Violation(rule, f"a deletion when {status}", partial(delete, rule, status))
        for rule, statuses in STATUSES.items()
        for status in statuses
    ),
]
