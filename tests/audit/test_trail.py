"""The trail: what it takes, what it keeps, and how it is read."""

from __future__ import annotations

import secrets

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext

from audit.models import MutationAttempt
from audit.queries import attempts
from audit.record import RecordedOutsideTransaction, new_mutation_id, record
from orders.models import Merchant
from tests.audit.lines import Phase, a_line, a_written_line, days_ago, open_the_prune_door
from tests.audit.rules import sql, undone

FOREIGN_KEYS = """
SELECT conname FROM pg_constraint
WHERE contype = 'f' AND 'audit_mutationattempt'::regclass IN (conrelid, confrelid)
"""


@pytest.fixture
def acme() -> str:
    """An id that only this test's lines have; the trail itself knows no merchants."""
    return f"acme-{secrets.token_hex(4)}"


@pytest.fixture
def rival() -> str:
    """Another one."""
    return f"rival-{secrets.token_hex(4)}"


def write(*lines: MutationAttempt) -> None:
    """Record lines in a transaction of their own."""
    with transaction.atomic():
        record(lines)


class TestRecord:
    def test_writes_all_lines_with_one_statement(self, acme: str) -> None:
        with transaction.atomic(), CaptureQueriesContext(connection) as asked:
            record([a_line(merchant_id=acme) for _ in range(5)])

        assert len(asked) == 1
        assert attempts(merchant_id=acme).count() == 5

    def test_refuses_to_write_apart_from_the_effect(self, acme: str) -> None:
        with pytest.raises(RecordedOutsideTransaction):
            record([a_line(merchant_id=acme)])

        assert not attempts(merchant_id=acme).exists()

    def test_takes_its_lines_back_with_the_effect(self, acme: str) -> None:
        with undone():
            record([a_line(merchant_id=acme)])

        assert not attempts(merchant_id=acme).exists()


class TestMutationIds:
    def test_sort_as_they_were_made(self) -> None:
        made = [new_mutation_id() for _ in range(2000)]

        assert made == sorted(set(made))

    def test_fit_their_column(self) -> None:
        assert len(new_mutation_id()) <= 40


class TestAttempts:
    def test_are_told_by_their_newest_line(self, acme: str) -> None:
        first, second, third = (new_mutation_id() for _ in range(3))
        write(
            a_line(merchant_id=acme, mutation_id=first),
            a_line(merchant_id=acme, mutation_id=second),
            a_line(merchant_id=acme, mutation_id=third),
        )
        write(a_line(merchant_id=acme, mutation_id=second, phase=Phase.UNRESOLVED))
        write(a_line(merchant_id=acme, mutation_id=third, phase=Phase.UNRESOLVED))
        write(a_line(merchant_id=acme, mutation_id=third, phase=Phase.COMPLETED))

        told = [(line.mutation_id, line.phase) for line in attempts(merchant_id=acme)]

        assert told == [
            (first, Phase.ATTEMPTED),
            (second, Phase.UNRESOLVED),
            (third, Phase.COMPLETED),
        ]

    def test_need_no_unresolved_line_to_be_completed(self, acme: str) -> None:
        mutation = new_mutation_id()
        write(
            a_line(merchant_id=acme, mutation_id=mutation, phase=Phase.COMPLETED),
            a_line(merchant_id=acme, mutation_id=mutation),
        )

        assert [line.phase for line in attempts(merchant_id=acme)] == [Phase.COMPLETED]

    def test_stand_in_the_order_of_their_beginning(self, acme: str) -> None:
        earlier, later = new_mutation_id(), new_mutation_id()
        write(a_line(merchant_id=acme, mutation_id=later, phase=Phase.COMPLETED))
        write(a_line(merchant_id=acme, mutation_id=earlier, phase=Phase.COMPLETED))

        assert [line.mutation_id for line in attempts(merchant_id=acme)] == [earlier, later]

    def test_show_nothing_of_another_merchant(self, acme: str, rival: str) -> None:
        write(a_line(merchant_id=acme), a_line(merchant_id=rival))

        assert [line.merchant_id for line in attempts(merchant_id=acme)] == [acme]
        assert [line.merchant_id for line in attempts(merchant_id=rival)] == [rival]
        assert not attempts(merchant_id="").exists()


class TestLines:
    def test_refer_to_nothing_that_could_take_them_along(self) -> None:
        with connection.cursor() as cursor:
            cursor.execute(FOREIGN_KEYS)

            assert cursor.fetchall() == []

    def test_outlive_what_they_name(self, acme: str) -> None:
        with undone():
            Merchant(id=acme, name="Acme", currency="usd").save(force_insert=True)
            line = a_written_line(merchant_id=acme, checkout_session_id="cs_1", order_id="1")
            assert sql("DELETE FROM orders_merchant WHERE id = %s", acme) == 1

            assert attempts(merchant_id=acme).get() == line


class TestPruneDoor:
    def test_lets_old_lines_go(self, acme: str) -> None:
        with undone():
            a_written_line(merchant_id=acme, recorded_at=days_ago(91))
            young = a_written_line(merchant_id=acme, recorded_at=days_ago(1))
            open_the_prune_door(days_ago(90))

            gone = sql(
                "DELETE FROM audit_mutationattempt WHERE merchant_id = %s AND recorded_at < %s",
                acme,
                days_ago(90),
            )

            assert gone == 1
            assert list(attempts(merchant_id=acme)) == [young]

    def test_closes_with_the_transaction(self, acme: str) -> None:
        with undone():
            open_the_prune_door(days_ago(0))

        with connection.cursor() as cursor:
            cursor.execute("SELECT current_setting('sarvex.prune_audit_before', true)")

            assert cursor.fetchone() in {(None,), ("",)}
