"""Lists: newest first, by cursor, unmoved by what is added meanwhile.

https://docs.stripe.com/api/pagination
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from .accounts import Named, Shelf
from .errors import invalid, no_such
from .forms import Form, integer, string
from .rendering import Document

T = TypeVar("T", bound=Named)
COMMON = frozenset({"limit", "starting_after", "ending_before", "created", "expand"})
_FOREVER = 1 << 60


def page(
    shelf: Shelf[T],
    form: Form,
    *,
    url: str,
    show: Callable[[T], Document],
    wanted: Callable[[T], bool] | None = None,
) -> Document:
    """Return one page of a list."""
    limit = integer(form, "limit", least=1) or 10
    if limit > 100:
        raise invalid("This value must be less than or equal to 100.", param="limit",
                      code="parameter_invalid_integer")  # fmt: skip
    least, most = created_range(form)
    places = shelf.between(least, most)
    backwards = string(form, "ending_before") is not None
    places = _from_cursor(shelf, form, places)
    found: list[T] = []
    more = False
    for place in places if backwards else reversed(places):
        item = shelf.items[place]
        if least <= item.created <= most and (wanted is None or wanted(item)):
            if len(found) == limit:
                more = True
                break
            found.append(item)
    if backwards:
        found.reverse()
    return {
        "object": "list",
        "data": [show(item) for item in found],
        "has_more": more,
        "url": url,
    }


def _from_cursor(shelf: Shelf[Any], form: Form, places: range) -> range:
    after, before = string(form, "starting_after"), string(form, "ending_before")
    if after and before:
        raise invalid("Give starting_after or ending_before, not both.", param="starting_after")
    name = "starting_after" if after else "ending_before"
    cursor = after or before
    if cursor is None:
        return places
    place = shelf.place(cursor)
    if place is None:
        raise no_such("object", cursor, param=name, status=400)
    if after:
        return range(places.start, max(places.start, min(places.stop, place)))
    return range(max(places.start, place + 1), max(places.stop, place + 1))


def created_range(form: Form) -> tuple[int, int]:
    """Return the first and last second that `created` lets through."""
    given = form.get("created")
    if given is None:
        return 0, _FOREVER
    if isinstance(given, str):
        exact = integer(form, "created") or 0
        return exact, exact
    least, most = 0, _FOREVER
    for name in given:
        bound = integer(given, name)
        if bound is None or name not in {"gt", "gte", "lt", "lte"}:
            raise invalid(f"Received unknown parameter: created[{name}]",
                          param=f"created[{name}]", code="parameter_unknown")  # fmt: skip
        if name[0] == "g":
            least = max(least, bound + (name == "gt"))
        else:
            most = min(most, bound - (name == "lt"))
    return least, most
