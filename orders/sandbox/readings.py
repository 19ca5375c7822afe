"""Endpoints that only read: charges, events, payment methods, balance transactions."""

from __future__ import annotations

from typing import Any

import orjson

from . import lists
from .calls import Call
from .cards import card_named
from .errors import no_such
from .forms import many, only, string
from .identifiers import new_id
from .records import Charge, Event, Refund
from .rendering import Document, payment_method, transaction_id
from .rendering import charge as shown


def retrieve_charge(call: Call, object_id: str) -> Document:
    """Return one charge."""
    only(call.form, ("expand",))
    return shown(call.account.charge(object_id))


def list_charges(call: Call) -> Document:
    """Return charges, newest first."""
    only(call.form, lists.COMMON | {"customer", "payment_intent", "transfer_group"})
    customer, intent = string(call.form, "customer"), string(call.form, "payment_intent")
    return lists.page(
        call.account.charges,
        call.form,
        url="/v1/charges",
        show=shown,
        wanted=lambda one: (
            customer in (None, one.customer) and intent in (None, one.payment_intent)
        ),
    )


def _event(event: Event) -> Document:
    document: Document = orjson.loads(event.body)
    return document


def retrieve_event(call: Call, object_id: str) -> Document:
    """Return one event."""
    only(call.form, ("expand",))
    found = call.account.events.get(object_id)
    if found is None:
        raise no_such("event", object_id, param="id")
    return _event(found)


def list_events(call: Call) -> Document:
    """Return events, newest first."""
    only(call.form, lists.COMMON | {"type", "types", "delivery_success"})
    kind = string(call.form, "type")
    types = many(call.form, "types") or ([kind] if kind else [])
    return lists.page(
        call.account.events,
        call.form,
        url="/v1/events",
        show=_event,
        wanted=(lambda one: _matches(one.type, types)) if types else None,
    )


def _matches(kind: str, wanted: list[str]) -> bool:
    return any(kind == one or (one.endswith("*") and kind.startswith(one[:-1])) for one in wanted)


def retrieve_payment_method(call: Call, object_id: str) -> Document:
    """Return a payment method that this account has used, or one of the test names anew."""
    only(call.form, ("expand",))
    name = call.account.methods.get(object_id)
    card = card_named(name or object_id)
    if card is None:
        raise no_such("PaymentMethod", object_id, param="payment_method")
    return payment_method(object_id if name else new_id("pm"), card, call.now)


def retrieve_transaction(call: Call, object_id: str) -> Document:
    """Return the balance transaction of a charge or refund."""
    only(call.form, ("expand",))
    tail = object_id.partition("_")[2]
    charge = call.account.charges.get(f"ch_{tail}")
    if charge is not None and charge.captured:
        return _transaction(charge, "charge", charge.amount_captured)
    refund = call.account.refunds.get(f"re_{tail}")
    if refund is not None:
        return _transaction(refund, "refund", -refund.amount)
    raise no_such("balance transaction", object_id, param="id")


def _transaction(source: Charge | Refund, kind: str, amount: int) -> dict[str, Any]:
    return {
        "id": transaction_id(source.id),
        "object": "balance_transaction",
        "amount": amount,
        "available_on": source.created,
        "balance_type": "payments",
        "created": source.created,
        "currency": source.currency,
        "description": None,
        "exchange_rate": None,
        "fee": 0,
        "fee_details": [],
        "net": amount,
        "reporting_category": kind,
        "source": source.id,
        "status": "available",
        "type": kind,
    }
