"""Read the trail: one row for each attempt, told by its newest line."""

from __future__ import annotations

from django.db.models import Exists, OuterRef, Q, QuerySet

from audit.models import MutationAttempt

PHASES_AFTER = {
    MutationAttempt.Phase.ATTEMPTED: [
        MutationAttempt.Phase.UNRESOLVED,
        MutationAttempt.Phase.COMPLETED,
    ],
    MutationAttempt.Phase.UNRESOLVED: [MutationAttempt.Phase.COMPLETED],
}


def attempts(*, merchant_id: str) -> QuerySet[MutationAttempt]:
    """Return the newest line of every attempt at one merchant, oldest attempt first."""
    later = MutationAttempt.objects.filter(mutation_id=OuterRef("mutation_id"))
    superseded = Q()
    for phase, after in PHASES_AFTER.items():
        superseded |= Q(phase=phase) & Q(Exists(later.filter(phase__in=after)))
    return (
        MutationAttempt.objects.filter(merchant_id=merchant_id)
        .exclude(superseded)
        .order_by("mutation_id")
    )
