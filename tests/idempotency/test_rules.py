"""The rules of records and events, each broken once with the rule and once without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from idempotency.models import IdempotencyRecord
from tests.audit.rules import Violation, refused_by, refused_without, rules_of, sql
from tests.idempotency.rows import DAY, State, a_record, a_written_event

ANSWERS_STAND = "stored_answers_stand"
ONE_ANSWER = "only_answered_records_have_an_answer"
ANSWERED = State.ANSWERED
UNFINISHED = (State.OPEN, State.UNRESOLVED, State.RELEASED)
NO_GUESS = "no_stored_answer_is_a_guess"


def two_lives_of_one_generation() -> None:
    first = a_record(state=ANSWERED)
    a_record(state=ANSWERED, key=first.key)


def two_unfinished(state: str) -> Callable[[], None]:
    """Begin a second life while the first has no answer."""

    def breaks() -> None:
        first = a_record(state=state)
        a_record(key=first.key, generation=1)

    return breaks


def changed(record: Callable[[], IdempotencyRecord], column: str, value: Any) -> Violation:
    """Return the violation of changing one column of a record at the database's prompt."""
    row = record.__name__.replace("_", " ")
    return Violation(
        ANSWERS_STAND,
        f"a change of {row}'s {column}",
        lambda: sql(
            f"UPDATE idempotency_idempotencyrecord SET {column} = %s WHERE id = %s",  # noqa: S608
            value,
            record().id,
        ),
    )


def an_open_record() -> IdempotencyRecord:
    return a_record()


def an_answered_record() -> IdempotencyRecord:
    return a_record(state=ANSWERED)


def an_expired_record() -> IdempotencyRecord:
    return a_record(state=ANSWERED, expires_at=timezone.now() - DAY)


def an_answer_taken_back() -> None:
    sql(
        "UPDATE idempotency_idempotencyrecord SET state = 'open', answer_status = NULL,"
        " answered_at = NULL, expires_at = NULL WHERE id = %s",
        an_answered_record().id,
    )


def two_events_of_one_name() -> None:
    first = a_written_event()
    a_written_event(event_id=first.event_id)


def two_events_of_one_number() -> None:
    first = a_written_event()
    a_written_event(subject=first.subject, sequence=first.sequence)


NOW = timezone.now()
WITHOUT_AN_ANSWER = [
    Violation(
        ONE_ANSWER,
        f"an answer without {column}",
        partial(a_record, state=ANSWERED, **{column: None}),
    )
    for column in ("answer_status", "answered_at", "expires_at")
]
TOO_EARLY = [
    Violation(
        ONE_ANSWER,
        f"a record {state} with {column}",
        partial(a_record, state=state, **{column: value}),
    )
    for state in UNFINISHED
    for column, value in (("answer_status", 200), ("expires_at", NOW))
]
GUESSES = [
    Violation(
        NO_GUESS, f"a stored {status}", partial(a_record, state=ANSWERED, answer_status=status)
    )
    for status in (202, 500, 502, 503, 504, 599)
]
OTHER_MEANINGS = [
    changed(an_open_record, column, value)
    for column, value in (
        ("merchant", "rival"),
        ("key", "another"),
        ("generation", 1),
        ("fingerprint", "0" * 64),
        ("actor", "agent:other"),
        ("first_seen_at", NOW - DAY),
    )
]
REWRITTEN = [
    changed(an_answered_record, column, value)
    for column, value in (
        ("answer_status", 402),
        ("answered_at", NOW - DAY),
        ("expires_at", NOW + 2 * DAY),
        ("result_id", "another"),
        ("answer_headers", '{"Location": "/elsewhere"}'),
        ("answer_body", b"another"),
        ("answer_body", None),
    )
]
VIOLATIONS = [
    Violation("one_record_per_key_and_generation", "a second", two_lives_of_one_generation),
    *(
        Violation("one_unfinished_record_per_key", f"a second while {state}", two_unfinished(state))
        for state in UNFINISHED
    ),
    *WITHOUT_AN_ANSWER,
    *TOO_EARLY,
    *GUESSES,
    *OTHER_MEANINGS,
    *REWRITTEN,
    changed(an_expired_record, "answer_body", b"another"),
    Violation(ANSWERS_STAND, "an answer taken back", an_answer_taken_back),
    Violation("one_row_per_event", "a second row", two_events_of_one_name),
    Violation("one_event_per_subject_and_sequence", "a second event", two_events_of_one_number),
    Violation(
        "delivered_or_parked_not_both",
        "an event that is both",
        lambda: a_written_event(delivered_at=NOW, parked_at=NOW),
    ),
    Violation(
        "a_lease_counts_as_an_attempt",
        "a lease without an attempt",
        lambda: a_written_event(lease_until=NOW),
    ),
]


class TestRulesOfRepetition:
    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_refuse_what_breaks_them(self, violation: Violation) -> None:
        assert refused_by(violation.breaks) == violation.rule

    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_are_all_that_refuses_it(self, violation: Violation) -> None:
        assert refused_without(violation) == ""

    def test_are_all_tried_here(self) -> None:
        assert {violation.rule for violation in VIOLATIONS} == rules_of("idempotency")


class TestStoredAnswers:
    def test_may_lose_their_body_after_their_window(self) -> None:
        def forgotten() -> None:
            record = an_expired_record()
            sql(
                "UPDATE idempotency_idempotencyrecord SET answer_body = NULL WHERE id = %s",
                record.id,
            )
            record.refresh_from_db()
            assert (record.answer_body, record.answer_status) == (None, 200)

        assert refused_by(forgotten) == ""

    def test_are_given_to_what_is_open_or_unresolved(self) -> None:
        def given() -> None:
            for state in (State.OPEN, State.UNRESOLVED):
                record = a_record(state=state)
                sql(
                    "UPDATE idempotency_idempotencyrecord SET state = 'answered',"
                    " answer_status = 402, answered_at = now(), expires_at = now() WHERE id = %s",
                    record.id,
                )

        assert refused_by(given) == ""
