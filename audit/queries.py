"""Read the trail: one row for each attempt, told by its newest line."""

from __future__ import annotations

from django.db.models import CharField, Exists, ExpressionWrapper, OuterRef, QuerySet

from audit.models import MutationAttempt

Phase = MutationAttempt.Phase


def attempts(*, merchant_id: str) -> QuerySet[MutationAttempt]:
    """Return the newest line of every attempt at one merchant, oldest attempt first.

    One anti-join on the index of an attempt's lines, so that a page costs as much as its rows.
    """
    of_line = ExpressionWrapper(OuterRef("phase"), output_field=CharField())
    newer = (
        MutationAttempt.objects.annotate(of_line=of_line)
        .filter(mutation_id=OuterRef("mutation_id"))
        .exclude(phase=Phase.ATTEMPTED)
        .exclude(phase=OuterRef("phase"))
        .exclude(of_line=Phase.COMPLETED)
    )
    return MutationAttempt.objects.filter(~Exists(newer), merchant_id=merchant_id).order_by(
        "mutation_id"
    )
