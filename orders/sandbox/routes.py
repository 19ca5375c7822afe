"""Which endpoint a method and a path mean."""

from __future__ import annotations

from collections.abc import Callable

from . import disputes, payment_intents, readings, refunds, settling
from .calls import Call
from .errors import Refused
from .forms import Form
from .rendering import Document

OnAll = Callable[[Call], Document]
OnOne = Callable[[Call, str], Document]

_ALL: dict[tuple[str, str], OnAll] = {
    ("POST", "payment_intents"): payment_intents.create,
    ("GET", "payment_intents"): payment_intents.list_all,
    ("POST", "refunds"): refunds.create,
    ("GET", "refunds"): refunds.list_all,
    ("GET", "charges"): readings.list_charges,
    ("GET", "events"): readings.list_events,
    ("GET", "disputes"): disputes.list_all,
}
_ONE: dict[tuple[str, str, str], OnOne] = {
    ("GET", "payment_intents", ""): payment_intents.retrieve,
    ("POST", "payment_intents", ""): payment_intents.update,
    ("POST", "payment_intents", "confirm"): payment_intents.confirm,
    ("POST", "payment_intents", "capture"): settling.capture,
    ("POST", "payment_intents", "cancel"): settling.cancel,
    ("GET", "refunds", ""): refunds.retrieve,
    ("POST", "refunds", ""): refunds.update,
    ("POST", "refunds", "cancel"): refunds.cancel,
    ("GET", "charges", ""): readings.retrieve_charge,
    ("GET", "events", ""): readings.retrieve_event,
    ("GET", "disputes", ""): disputes.retrieve,
    ("GET", "payment_methods", ""): readings.retrieve_payment_method,
    ("GET", "balance_transactions", ""): readings.retrieve_transaction,
}


def confirms(method: str, path: str, form: Form) -> str | None:
    """Return the id of the payment intent that the request confirms, "" for a new one."""
    parts = path.split("/")[2:]
    if method != "POST" or parts[0] != "payment_intents":
        return None
    if len(parts) == 3 and parts[2] == "confirm":
        return parts[1]
    return "" if len(parts) == 1 and form.get("confirm") == "true" else None


def find(method: str, path: str) -> OnAll:
    """Return the endpoint, with its id bound to it.

    Raises: Refused 404 for what the sandbox does not have.
    """
    parts = path.split("/")[2:]
    if len(parts) == 1:
        on_all = _ALL.get((method, parts[0]))
        if on_all is not None:
            return on_all
    elif len(parts) in (2, 3) and parts[1]:
        on_one = _ONE.get((method, parts[0], parts[2] if len(parts) == 3 else ""))
        if on_one is not None:
            object_id = parts[1]
            return lambda call: on_one(call, object_id)
    raise Refused(404, f"Unrecognized request URL ({method}: {path}).")
