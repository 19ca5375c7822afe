"""Why an order may or may not go somewhere, in words that a person can read out.

The rules themselves stand on the model (`@transition`, `PRECONDITIONS`); nobody repeats them.
"""

from __future__ import annotations

from typing import Any

from orders.models import Order
from orders.models.orders import PRECONDITIONS

REACHED_FROM: dict[str, list[str]] = {
    Order.Status.CONFIRMED: [Order.Status.CREATED],
    Order.Status.SHIPPED: [Order.Status.CONFIRMED],
    Order.Status.CANCELLED: [Order.Status.CREATED],
    Order.Status.REFUNDED: [Order.Status.CREATED, Order.Status.CONFIRMED],
}

WORDS = {
    "captured": "its money has not been captured",
    "stock": "the merchant says that the goods are not in stock",
    "nothing_captured": "its money has been captured; refund it instead",
    "all_captured_money_back": "not all of its captured money has been refunded",
}


def preconditions(order: Order, to: str) -> list[dict[str, Any]]:
    """Return each named precondition of going there and whether it holds now."""
    starts = [{"name": "status", "passed": order.status in REACHED_FROM[to]}]
    return starts + [{"name": name, "passed": holds(order)} for name, holds in PRECONDITIONS[to]]


def can_transition(order: Order, to: str) -> list[str]:
    """Return what stands in the way of an order's going there; an empty list when nothing does."""
    violations = []
    if order.status not in REACHED_FROM[to]:
        sources = " or ".join(REACHED_FROM[to])
        violations.append(f"An order becomes {to} from {sources}; this one is {order.status}.")
    violations += [
        f"The order cannot become {to}: {WORDS[name]}."
        for name, holds in PRECONDITIONS[to]
        if not holds(order)
    ]
    return violations
