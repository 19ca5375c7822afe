"""Row locks, always taken in the order key, checkout, operation, order."""

from __future__ import annotations

from django.db.models import Exists

from orders.models import CheckoutSession, Operation, Order


def checkout(
    *, merchant_id: str, checkout_id: str, planned_order_id: str = ""
) -> CheckoutSession | None:
    """Lock one merchant's checkout; None when there is no such checkout.

    `order_id_is_taken` tells of it whether some order already has the planned id.
    """
    taken = Exists(Order.objects.filter(id=planned_order_id))
    return (
        CheckoutSession.objects.select_for_update(of=("self",))
        .select_related("merchant")
        .annotate(order_id_taken=taken)
        .filter(merchant_id=merchant_id, id=checkout_id)
        .first()
    )


def order_id_is_taken(checkout: CheckoutSession) -> bool:
    """Whether an order had the id that was planned when the checkout was locked."""
    return bool(checkout.__dict__["order_id_taken"])


def operation(operation_id: str) -> Operation:
    """Lock an operation with its key and checkout, in that order, with one statement.

    PostgreSQL locks the rows of one result row in the order in which `FOR UPDATE OF` names the
    tables. Raises `Operation.DoesNotExist`.
    """
    return (
        Operation.objects.select_for_update(of=("record", "checkout", "self"))
        .select_related("record", "checkout", "merchant")
        .get(id=operation_id)
    )


def order(order_id: str) -> Order:
    """Lock an order. Raises `Order.DoesNotExist`."""
    return Order.objects.select_for_update(of=("self",)).select_related("merchant").get(id=order_id)
