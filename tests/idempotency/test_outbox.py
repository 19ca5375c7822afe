"""The outbox: events stand or fall with what they announce."""

from __future__ import annotations

import secrets

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from idempotency.models import OutboxEvent
from idempotency.outbox import PublishedOutsideTransaction, new_event_id, publish
from tests.audit.rules import undone
from tests.idempotency.rows import an_event


@pytest.fixture
def subject() -> str:
    """Something that only this test announces."""
    return secrets.token_hex(8)


def announced(subject: str) -> list[int]:
    """Return the numbers of the events about a subject."""
    events = OutboxEvent.objects.filter(subject=subject).order_by("sequence")
    return list(events.values_list("sequence", flat=True))


class TestPublish:
    def test_refuses_to_part_the_event_from_the_fact(self, subject: str) -> None:
        with pytest.raises(PublishedOutsideTransaction):
            publish([an_event(subject=subject)])

        assert announced(subject) == []

    def test_stands_with_the_fact(self, subject: str) -> None:
        with transaction.atomic():
            publish([an_event(subject=subject, sequence=number) for number in (1, 2, 3)])

        assert announced(subject) == [1, 2, 3]

    def test_falls_with_the_fact(self, subject: str) -> None:
        with undone():
            publish([an_event(subject=subject)])

        assert announced(subject) == []

    def test_writes_all_events_with_one_statement(self, subject: str) -> None:
        with transaction.atomic(), CaptureQueriesContext(connection) as asked:
            publish([an_event(subject=subject, sequence=number) for number in range(1, 6)])

        assert len(asked) == 1

    def test_of_nothing_is_nothing(self) -> None:
        with transaction.atomic(), CaptureQueriesContext(connection) as asked:
            publish([])

        assert len(asked) == 0


class TestEventIds:
    def test_sort_as_they_were_made(self) -> None:
        made = [new_event_id() for _ in range(2000)]

        assert made == sorted(set(made))
