"""The trail's rules, each broken once with the rule and once without it."""

from __future__ import annotations

import pytest
from django.utils import timezone

from tests.audit.lines import Phase, a_written_line, days_ago, open_the_prune_door
from tests.audit.rules import Violation, refused_by, refused_without, rules_of, sql

APPEND_ONLY = "audit_trail_is_append_only"
TRUNCATED = "audit_trail_is_never_truncated"


def two_lines_for_one_phase() -> None:
    first = a_written_line()
    a_written_line(mutation_id=first.mutation_id)


def a_change() -> None:
    line = a_written_line()
    sql("UPDATE audit_mutationattempt SET actor = 'nobody' WHERE id = %s", line.id)


def a_change_through_the_door() -> None:
    line = a_written_line(recorded_at=days_ago(100))
    open_the_prune_door(days_ago(90))
    sql("UPDATE audit_mutationattempt SET actor = 'nobody' WHERE id = %s", line.id)


def a_deletion() -> None:
    line = a_written_line(recorded_at=days_ago(10_000))
    sql("DELETE FROM audit_mutationattempt WHERE id = %s", line.id)


def a_deletion_of_a_young_line_through_the_door() -> None:
    line = a_written_line(recorded_at=days_ago(89))
    open_the_prune_door(days_ago(90))
    sql("DELETE FROM audit_mutationattempt WHERE id = %s", line.id)


def a_deletion_through_a_door_closed_again() -> None:
    line = a_written_line(recorded_at=days_ago(100))
    open_the_prune_door(None)
    sql("DELETE FROM audit_mutationattempt WHERE id = %s", line.id)


def a_truncation_through_the_door() -> None:
    a_written_line(recorded_at=days_ago(100))
    open_the_prune_door(timezone.now())
    sql("TRUNCATE audit_mutationattempt")


VIOLATIONS = [
    Violation("one_line_per_attempt_and_phase", "a second line", two_lines_for_one_phase),
    Violation(
        "completed_lines_say_when",
        "an end without a time",
        lambda: a_written_line(phase=Phase.COMPLETED, completed_at=None),
    ),
    Violation(
        "completed_lines_say_when",
        "a time without an end",
        lambda: a_written_line(phase=Phase.UNRESOLVED, completed_at=timezone.now()),
    ),
    Violation(APPEND_ONLY, "a change", a_change),
    Violation(APPEND_ONLY, "a change of an old line", a_change_through_the_door),
    Violation(APPEND_ONLY, "a deletion", a_deletion),
    Violation(APPEND_ONLY, "a prune of young lines", a_deletion_of_a_young_line_through_the_door),
    Violation(APPEND_ONLY, "a prune of nothing", a_deletion_through_a_door_closed_again),
    Violation(TRUNCATED, "TRUNCATE", lambda: sql("TRUNCATE audit_mutationattempt"), APPEND_ONLY),
    Violation(TRUNCATED, "TRUNCATE in a prune", a_truncation_through_the_door, APPEND_ONLY),
]


class TestRulesOfTheTrail:
    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_refuse_what_breaks_them(self, violation: Violation) -> None:
        assert refused_by(violation.breaks) == (violation.says or violation.rule)

    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_are_all_that_refuses_it(self, violation: Violation) -> None:
        assert refused_without(violation) == ""

    def test_are_all_tried_here(self) -> None:
        assert {violation.rule for violation in VIOLATIONS} == rules_of("audit")
