"""Pages that stay put while rows are added: by key, never by offset."""

from __future__ import annotations

from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

import orjson
from django.core.exceptions import ValidationError
from django.db.models import F, Func, Model, QuerySet, Value
from django.db.models.lookups import GreaterThan, LessThan

from orders.errors import Invalid

DEFAULT_LIMIT, MOST = 20, 100
Row = TypeVar("Row", bound=Model)


class _Both(Func):
    """`ROW(a, b)`, which PostgreSQL compares as a pair and looks up in an index on both."""

    function = "ROW"
    output_field = None  # type: ignore[assignment]


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
    cursor = _cursor([getattr(shown[-1], name) for name in names]) if more else None
    return {"data": [document(row) for row in shown], "next_cursor": cursor}


def _limit(text: str | None) -> int:
    if text is None:
        return DEFAULT_LIMIT
    if not (text.isascii() and text.isdigit() and len(text) < 5 and 1 <= int(text) <= MOST):
        raise Invalid(
            f"The limit must be from 1 to {MOST}.", errors={"limit": [f"Must be from 1 to {MOST}."]}
        )
    return int(text)


def _cursor(values: list[Any]) -> str:
    spelt = [one.isoformat() if isinstance(one, datetime) else one for one in values]
    return urlsafe_b64encode(orjson.dumps(spelt)).decode().rstrip("=")


def _after(rows: QuerySet[Row], names: list[str], cursor: str, *, backwards: bool) -> QuerySet[Row]:
    try:
        values = orjson.loads(urlsafe_b64decode(cursor + "=" * (-len(cursor) % 4)))
        fields: list[Any] = [rows.model._meta.get_field(name) for name in names]
        typed = [one.to_python(value) for one, value in zip(fields, list(values), strict=True)]
    except (ValueError, TypeError, ValidationError) as error:
        raise Invalid(
            "The cursor is not one that this list gave out.", errors={"cursor": ["Not a cursor."]}
        ) from error
    compare = LessThan if backwards else GreaterThan
    if len(names) == 1:
        return rows.filter(compare(F(names[0]), Value(typed[0])))
    return rows.filter(compare(_Both(*map(F, names)), _Both(*map(Value, typed))))
