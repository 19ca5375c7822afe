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


def expand(account: Account, form: Form, document: Document) -> Document:
    """Replace what the request's `expand` names, in place.

    Raises: Refused 400 for a property that is no reference to another object.
    """
    for path in many(form, "expand"):
        steps = path.split(".")
        if len(steps) > DEEPEST:
            raise invalid(f"You cannot expand more than {DEEPEST} levels: {path}", param="expand")
        _expand(account, document, steps, path)
    return document


def _expand(account: Account, document: Document, steps: list[str], path: str) -> None:
    step, rest = steps[0], steps[1:]
    if step == "data" and isinstance(document.get("data"), list):
        for one in document["data"]:
            _expand(account, one, rest, path)
        return
    if step not in _EXPANDABLE or step not in document:
        raise invalid(f"This property cannot be expanded ({path}).", param="expand")
    if isinstance(document[step], str):
        document[step] = _object(account, document[step])
    if rest and isinstance(document[step], dict):
        _expand(account, document[step], rest, path)


def _object(account: Account, id: str) -> Document | str:
    if id.startswith("pm_"):
        card = card_named(account.methods.get(id, "")) or CARDS["pm_card_visa"]
        return payment_method(id, card, account.clock.now())
    shelves: dict[str, Shelf[Any]] = {
        "pi": account.intents,
        "ch": account.charges,
        "re": account.refunds,
        "dp": account.disputes,
    }
    shelf = shelves.get(id.partition("_")[0])
    found = shelf.get(id) if shelf else None
    return id if found is None else render(found)
