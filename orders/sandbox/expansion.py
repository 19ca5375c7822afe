"""`expand`: ids in an answer replaced by the objects they name."""

from __future__ import annotations

from typing import Any

from .accounts import Account, Shelf
from .cards import CARDS, card_named
from .errors import invalid
from .forms import Form, many
from .rendering import Document, payment_method, render

_EXPANDABLE = {"latest_charge", "payment_intent", "charge", "payment_method", "dispute"}
DEEPEST = 4  # https://docs.stripe.com/api/expanding_objects


def check(form: Form) -> None:
    """Refuse what cannot be expanded, before anything is done.

    Raises: Refused 400.
    """
    for path in many(form, "expand"):
        steps = path.split(".")
        if len(steps) > DEEPEST:
            raise invalid(f"You cannot expand more than {DEEPEST} levels: {path}", param="expand")
        if any(step not in _EXPANDABLE and step != "data" for step in steps):
            raise invalid(f"This property cannot be expanded ({path}).", param="expand")


def expand(account: Account, form: Form, document: Document) -> Document:
    """Replace what the request's `expand` names, in place; what is not there stays so."""
    for path in many(form, "expand"):
        _expand(account, document, path.split("."))
    return document


def _expand(account: Account, document: Document, steps: list[str]) -> None:
    step, rest = steps[0], steps[1:]
    if step == "data" and isinstance(document.get("data"), list):
        for one in document["data"]:
            if rest:
                _expand(account, one, rest)
        return
    if isinstance(document.get(step), str):
        document[step] = _object(account, document[step])
    if rest and isinstance(document.get(step), dict):
        _expand(account, document[step], rest)


def _object(account: Account, object_id: str) -> Document | str:
    if object_id.startswith("pm_"):
        card = card_named(account.methods.get(object_id, "")) or CARDS["pm_card_visa"]
        return payment_method(object_id, card, account.clock.now())
    shelves: dict[str, Shelf[Any]] = {
        "pi": account.intents,
        "ch": account.charges,
        "re": account.refunds,
        "dp": account.disputes,
    }
    shelf = shelves.get(object_id.partition("_")[0])
    found = shelf.get(object_id) if shelf else None
    return object_id if found is None else render(found)
