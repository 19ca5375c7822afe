"""Row locks, always taken in the order key, checkout, operation, order.

The two statements that every purchase needs are compiled once for the process: the ORM would
compile them anew for every request, for longer than PostgreSQL takes to answer them.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from itertools import islice
from typing import Any, TypeVar

from django.db import connection, models
from django.db.models import Exists

from idempotency.models import IdempotencyRecord
from orders.models import CheckoutSession, Merchant, Operation, Order

Row = TypeVar("Row", bound=models.Model)
Statement = tuple[str, tuple[Any, ...]]

# What the statements are compiled with, in the place of ids.
CHECKOUT, MERCHANT, OPERATION, PLANNED_ORDER = ":checkout", ":merchant", ":operation", ":order"


def checkout(
    *, merchant_id: str, checkout_id: str, planned_order_id: str = ""
) -> CheckoutSession | None:
    """Lock a merchant's checkout; None when there is no such checkout.

    `order_id_is_taken` tells of it whether some order already has the planned id.
    """
    values = _first_row(
        _checkout_statement(),
        {PLANNED_ORDER: planned_order_id, CHECKOUT: checkout_id, MERCHANT: merchant_id},
    )
    if values is None:
        return None
    locked = _next_object(CheckoutSession, values)
    locked.__dict__["order_id_taken"] = next(values)
    locked.merchant = _next_object(Merchant, values)
    return locked


def order_id_is_taken(checkout: CheckoutSession) -> bool:
    """Whether an order had the id that was planned when the checkout was locked."""
    return bool(checkout.__dict__["order_id_taken"])


def operation(operation_id: str) -> Operation:
    """Lock an operation with its key and checkout, in that order, with one statement.

    PostgreSQL locks the rows of one result row in the order in which `FOR UPDATE OF` names the
    tables. Raises `Operation.DoesNotExist`.
    """
    values = _first_row(_operation_statement(), {OPERATION: operation_id})
    if values is None:
        raise Operation.DoesNotExist(operation_id)
    locked = _next_object(Operation, values)
    # In the order in which the model names them: that is how the ORM selects them.
    locked.merchant = _next_object(Merchant, values)
    locked.checkout = _next_object(CheckoutSession, values)
    locked.record = _next_object(IdempotencyRecord, values)
    return locked


def order(order_id: str) -> Order:
    """Lock an order. Raises `Order.DoesNotExist`."""
    return Order.objects.select_for_update(of=("self",)).select_related("merchant").get(id=order_id)


@lru_cache(maxsize=1)
def _checkout_statement() -> Statement:
    return (
        CheckoutSession.objects.select_for_update(of=("self",))
        .select_related("merchant")
        .annotate(order_id_taken=Exists(Order.objects.filter(id=PLANNED_ORDER)))
        .filter(merchant_id=MERCHANT, id=CHECKOUT)
        .query.sql_with_params()
    )


@lru_cache(maxsize=1)
def _operation_statement() -> Statement:
    return (
        Operation.objects.select_for_update(of=("record", "checkout", "self"))
        .select_related("record", "checkout", "merchant")
        .filter(id=OPERATION)
        .query.sql_with_params()
    )


def _first_row(statement: Statement, given: dict[str, str]) -> Iterator[Any] | None:
    """Ask with the given values in place of the names that the statement was compiled with."""
    sql, parameters = statement
    with connection.cursor() as cursor:
        cursor.execute(sql, [given.get(one, one) for one in parameters])
        row = cursor.fetchone()
    return None if row is None else iter(row)


def _next_object(model: type[Row], values: Iterator[Any]) -> Row:
    """Return an object made of as many values as its model has columns."""
    names, readers = _columns(model)
    made = list(islice(values, len(names)))
    for place, reader in readers:
        made[place] = reader(made[place], None, connection)
    return model.from_db(connection.alias, names, made)


@lru_cache
def _columns(model: type[models.Model]) -> tuple[list[str], list[tuple[int, Any]]]:
    """Return a model's attributes, and what reads the values that are not taken as they come."""
    fields = model._meta.concrete_fields
    readers = [
        (place, field.from_db_value)
        for place, field in enumerate(fields)
        if hasattr(field, "from_db_value")
    ]
    return [field.attname for field in fields], readers
