"""Lines of the trail, as tests write them."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from audit.models import MutationAttempt
from audit.record import new_mutation_id
from tests.audit.rules import sql

Phase = MutationAttempt.Phase


def a_line(**facts: Any) -> MutationAttempt:
    """Return an unwritten line, of an attempt of its own unless it says otherwise."""
    now = timezone.now()
    phase = facts.setdefault("phase", Phase.ATTEMPTED)
    facts.setdefault("completed_at", now if phase == Phase.COMPLETED else None)
    return MutationAttempt(
        **{
            "mutation_id": new_mutation_id(),
            "mutation_type": "refund",
            "merchant_id": "acme",
            "actor": "agent:bot",
            "attempted_at": now,
            "local_status": "submitting",
            **facts,
        }
    )


def a_written_line(**facts: Any) -> MutationAttempt:
    """Write a line and return it."""
    line = a_line(**facts)
    line.save(force_insert=True)
    return line


def days_ago(days: int) -> datetime:
    """Return a time in the past."""
    return timezone.now() - timedelta(days=days)


def open_the_prune_door(before: datetime | None) -> None:
    """Do what a prune does first: say, for its own transaction, which lines may go."""
    told = before.isoformat() if before else ""
    sql("SELECT set_config('sarvex.prune_audit_before', %s, true)", told)
