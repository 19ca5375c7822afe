"""Pages that stay put while rows are added: by key, never by offset."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any, TypeVar

import orjson
from django.core.exceptions import ValidationError
from django.db.models import Model, Q, QuerySet

from orders.errors import Invalid

DEFAULT_LIMIT, MOST = 20, 100
Row = TypeVar("Row", bound=Model)


def page(
    rows: QuerySet[Row],
    *,
    document: Callable[[Row], dict[str, Any]],
    order: tuple[str, ...],
    parameters: dict[str, str],
) -> dict[str, Any]:
    """Return `{"data": […], "next_cursor": …}` for one page of `rows`.

    `order` names one or two columns, the last one unique; both ascending, or both with a minus.
    `parameters` may hold `limit` (1 to 100, default 20) and `cursor`.

    Raises:
        Invalid: the limit or the cursor is not one of ours.
    """
    limit = _limit(parameters.get("limit"))
    names = [name.lstrip("-") for name in order]
    if parameters.get("cursor"):
        rows = _after(rows, names, parameters["cursor"], backwards=order[0].startswith("-"))
    found = list(rows.order_by(*order)[: limit + 1])
    more, shown = len(found) > limit, found[:limit]
    cursor = _cursor(shown[-1], names) if more else None
    return {"data": [document(row) for row in shown], "next_cursor": cursor}


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST):
        raise Invalid(
            f"The limit must be from 1 to {MOST}.", errors={"limit": [f"Must be from 1 to {MOST}."]}
        )
    return int(text)


def _cursor(last: Model, names: list[str]) -> str:
    """Spell where a page ended: which list it was of, and the columns of its last row."""
    values = [getattr(last, name) for name in names]
    spelt = [one.isoformat() if isinstance(one, datetime) else one for one in values]
    return urlsafe_b64encode(orjson.dumps([last._meta.model_name, *spelt])).decode().rstrip("=")


def _after(rows: QuerySet[Row], names: list[str], cursor: str, *, backwards: bool) -> QuerySet[Row]:
    try:
        typed = _read(rows.model, names, cursor)
    except (ValueError, TypeError, ValidationError) as error:
        raise Invalid(
            "The cursor is not one that this list gave out.", errors={"cursor": ["Not a cursor."]}
        ) from error
    past = "lt" if backwards else "gt"
    first, last = names[0], names[-1]
    if first == last:
        return rows.filter(**{f"{last}__{past}": typed[0]})
    # The first condition is the range that an index is read from, the second one its edge.
    return rows.filter(**{f"{first}__{past}e": typed[0]}).filter(
        Q(**{f"{first}__{past}": typed[0]}) | Q(**{f"{last}__{past}": typed[1]})
    )


def _read(model: type[Model], names: list[str], cursor: str) -> list[Any]:
    """Return a cursor's columns; whatever cannot have been spelt by `_cursor` is refused."""
    whose, *values = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
    if whose != model._meta.model_name:
        raise ValueError("a cursor of another list")
    return [_typed(model, name, value) for name, value in zip(names, values, strict=True)]


def _typed(model: type[Model], name: str, value: Any) -> Any:
    if not isinstance(value, str) or "\0" in value:
        raise TypeError("columns are spelt as text")
    field: Any = model._meta.get_field(name)
    typed = field.to_python(value)
    if isinstance(typed, datetime) and typed.utcoffset() != timedelta(0):
        raise ValueError("times are spelt in UTC")
    return typed
