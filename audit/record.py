"""Write lines of the trail, in the caller's transaction."""

from __future__ import annotations

from collections.abc import Iterable

import uuid6
from django.db import transaction

from audit.models import MutationAttempt


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
    MutationAttempt.objects.bulk_create(lines)
