"""Write lines of the trail, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import chain
from typing import Any

import uuid6
from django.db import connection, models, transaction

from audit.models import MutationAttempt

# What `bulk_create` would say, spelt once: compiling it takes longer than carrying it out.
_BY_DATABASE = {"id", "recorded_at"}
_FIELDS = [one for one in MutationAttempt._meta.concrete_fields if one.name not in _BY_DATABASE]
_COLUMNS = ", ".join(str(field.column) for field in _FIELDS)
_INSERT = f"INSERT INTO {MutationAttempt._meta.db_table} ({_COLUMNS}) VALUES "  # noqa: S608
_ROW = f"({', '.join(['%s'] * len(_FIELDS))})"


class RecordedOutsideTransaction(Exception):
    """A line of the trail was written apart from the effect that it reports."""


def new_mutation_id() -> str:
    """Name an attempt; names sort by the time at which they were made (UUIDv7, RFC 9562)."""
    return f"mut_{uuid6.uuid7().hex}"


def record(lines: Iterable[MutationAttempt]) -> None:
    """Append lines to the trail with one statement; they stand or fall with the caller's effect.

    Raises:
        RecordedOutsideTransaction: no transaction is open, so line and effect could part.
    """
    if not transaction.get_connection().in_atomic_block:
        raise RecordedOutsideTransaction("open the transaction of the effect first")
    rows = [[_written(field, line) for field in _FIELDS] for line in lines]
    if rows:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT + ", ".join([_ROW] * len(rows)), list(chain(*rows)))


def _written(field: models.Field[Any, Any], line: MutationAttempt) -> Any:
    return field.get_db_prep_save(getattr(line, field.attname), connection)
