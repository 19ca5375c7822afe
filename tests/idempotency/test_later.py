"""Notes that are written a moment later: all of them, in order, once, and nobody waits."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from threading import Event, get_ident
from typing import Any, TypeVar

import psycopg
import pytest
from django.db import DataError, InterfaceError, OperationalError, connection, transaction

from idempotency import arrivals, later
from idempotency.later import BATCH, LaterWriter
from idempotency.models import Arrival
from tests.audit.rules import sql
from tests.idempotency.rows import a_claim
from tests.processes import CHECKOUT, database_url_of

LAST = -1
Note = TypeVar("Note")


class Paper:
    """Where notes are written, and what became of them."""

    def __init__(self, before: Callable[[int], object] = lambda _: None) -> None:
        self.batches: list[list[int]] = []
        self.writers: set[int] = set()
        self.tries = 0
        self.complete = Event()
        self._before = before

    def write(self, notes: Sequence[int]) -> None:
        """Write a batch down, unless what comes before it fails."""
        self.tries += 1
        self._before(self.tries)
        self.writers.add(get_ident())
        self.batches.append(list(notes))
        if LAST in notes:
            self.complete.set()

    @property
    def notes(self) -> list[int]:
        """Everything that was written, in order."""
        return [note for batch in self.batches for note in batch]


def fail_at_first(error: Exception) -> Callable[[int], None]:
    """Return what fails the first of several tries."""

    def before(number: int) -> None:
        if number == 1:
            raise error

    return before


class Quiet(LaterWriter[Note]):
    """A writer that writes when it is told to, and has no thread."""

    def _ensure_thread(self) -> None:
        pass


class TestLaterWriter:
    def test_writes_in_a_thread_of_its_own(self) -> None:
        paper = Paper()
        LaterWriter("paper", paper.write).add(LAST)

        assert paper.complete.wait(30)
        assert paper.writers != {get_ident()}

    def test_keeps_the_order_in_batches_of_bounded_size(self) -> None:
        enough = Event()
        paper = Paper(lambda _: enough.wait(30))
        writer = LaterWriter("paper", paper.write)
        expected = [*range(3 * BATCH), LAST]
        for note in expected:
            writer.add(note)
        enough.set()

        assert paper.complete.wait(30)
        assert paper.notes == expected
        assert max(map(len, paper.batches)) == BATCH

    @pytest.mark.parametrize("error", [OperationalError("away"), InterfaceError("closed")])
    def test_keeps_what_could_not_be_written(self, error: Exception) -> None:
        paper = Paper(fail_at_first(error))
        writer = Quiet("paper", paper.write)
        expected = list(range(2 * BATCH + 1))
        for note in expected:
            writer.add(note)
        writer.write_out()
        assert paper.notes == []
        writer.write_out()

        assert paper.notes == expected

    def test_lets_go_of_what_the_database_refuses_for_ever(self) -> None:
        paper = Paper(fail_at_first(DataError("too long")))
        writer = Quiet("paper", paper.write)
        for note in range(BATCH + 1):
            writer.add(note)

        writer.write_out()

        assert paper.notes == [BATCH]

    def test_goes_on_after_a_mistake_of_ours(self) -> None:
        failed = Event()

        def before(number: int) -> None:
            if number == 1:
                failed.set()
                raise ValueError("no note at all")

        paper = Paper(before)
        writer = LaterWriter("paper", paper.write)
        writer.add(1)
        assert failed.wait(30)
        writer.add(LAST)

        assert paper.complete.wait(30)

    def test_lets_the_oldest_go_when_there_are_too_many(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(later, "MOST_KEPT", 3)
        begun, enough = Event(), Event()

        def before(_: int) -> None:
            begun.set()
            enough.wait(30)

        paper = Paper(before)
        writer = LaterWriter("paper", paper.write)
        writer.add(0)
        assert begun.wait(30)
        for note in [1, 2, 3, 4, 5, LAST]:
            writer.add(note)
        enough.set()

        assert paper.complete.wait(30)
        assert paper.notes == [0, 4, 5, LAST]


def an_arrival(outcome: str, key: str) -> Arrival:
    """Return an unwritten arrival."""
    return Arrival(
        merchant="acme",
        key=key,
        subject="cs_1",
        actor="agent:bot",
        request_id="req_1",
        outcome=outcome,
        arrived_at="2026-01-02T12:00:00Z",
    )


def outcomes(key: str) -> list[str]:
    """Return how the arrivals for a key were answered, in the order of their rows."""
    arrived = Arrival.objects.filter(key=key).order_by("id")
    return list(arrived.values_list("outcome", flat=True))


class TestDatabaseAwayAndBack:
    def test_costs_no_note_when_the_table_is_locked(self, database: str) -> None:
        key = a_claim().key
        writer = Quiet("arrivals", Arrival.objects.bulk_create)
        writer.add(an_arrival("first", key))
        sql("SET lock_timeout = '1ms'")
        with psycopg.connect(database_url_of(database)) as other:
            other.execute("LOCK TABLE idempotency_arrival IN ACCESS EXCLUSIVE MODE")
            writer.write_out()
            writer.add(an_arrival("second", key))
            writer.write_out()
        sql("RESET lock_timeout")
        writer.add(an_arrival("third", key))
        writer.write_out()
        writer.write_out()

        assert outcomes(key) == ["first", "second", "third"]

    def test_costs_no_note_when_the_connection_is_cut(self, database: str) -> None:
        key = a_claim().key
        writer = Quiet("arrivals", Arrival.objects.bulk_create)
        writer.add(an_arrival("first", key))
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_backend_pid()")
            pid = cursor.fetchone()
        with psycopg.connect(database_url_of(database), autocommit=True) as other:
            other.execute("SELECT pg_terminate_backend(%s, 10000)", pid)
        writer.write_out()
        connection.close()
        writer.add(an_arrival("second", key))
        writer.write_out()

        assert outcomes(key) == ["first", "second"]


class TestArrivals:
    def test_say_who_asked_for_what_and_how_it_was_answered(self) -> None:
        claim = a_claim(traceparent="00-1")
        arrivals.remember(claim, "replayed", now=arrived_at())
        arrivals.settle_down()
        arrived = Arrival.objects.get(key=claim.key)

        for fact in ("merchant", "subject", "actor", "request_id", "traceparent", "fingerprint"):
            assert getattr(arrived, fact) == getattr(claim, fact)
        assert (arrived.outcome, arrived.arrived_at) == ("replayed", arrived_at())

    def test_are_written_outside_the_callers_transaction(self) -> None:
        claim = a_claim()
        with transaction.atomic():
            arrivals.remember(claim, "mismatch", now=arrived_at())
            transaction.set_rollback(True)
        arrivals.settle_down()

        assert outcomes(claim.key) == ["mismatch"]


def arrived_at() -> Any:
    """Return a time as the database gives it back."""
    return Arrival._meta.get_field("arrived_at").to_python("2026-01-02T12:00:00.123456+00:00")


LEAVE = """
import sys
import django
django.setup()
from django.utils import timezone
from idempotency import arrivals
from idempotency.answers import Claim
for number in range(700):
    arrivals.remember(
        Claim(merchant="acme", key=sys.argv[1], actor="agent:bot", fingerprint="f", route="r",
              subject="cs_1", request_id="req_1"),
        f"note {number}", now=timezone.now(),
    )
sys.exit(3)
"""
FORK = """
import os, sys, time
import django
django.setup()
from idempotency.later import LaterWriter
paper = os.open(sys.argv[1], os.O_WRONLY | os.O_CREAT | os.O_APPEND)
writer = LaterWriter("paper", lambda notes: os.write(paper, "".join(notes).encode()))
writer.add("before\\n")
child = os.fork()
writer.add("child\\n" if child == 0 else "parent\\n")
if child:
    _, ended = os.waitpid(child, 0)
    sys.exit(os.waitstatus_to_exitcode(ended))
# A child that ends without saying goodbye: only its own thread can have written its note.
patience = time.monotonic() + 20
while b"child" not in open(sys.argv[1], "rb").read():
    if time.monotonic() > patience:
        os._exit(1)
os._exit(0)
"""


def run(script: str, argument: str, database: str) -> int:
    """Run a script as a process of its own that uses the test's database; return how it ended."""
    told = subprocess.run(
        [sys.executable, "-c", script, argument],
        cwd=CHECKOUT,
        env={
            **os.environ,
            "DATABASE_URL": database_url_of(database),
            "DJANGO_SETTINGS_MODULE": "sarvex.settings",
        },
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert b"Traceback" not in told.stderr, told.stderr.decode()
    return told.returncode


class TestProcess:
    def test_writes_what_it_noted_before_it_ends(self, database: str) -> None:
        key = f"key-{secrets.token_hex(8)}"

        assert run(LEAVE, key, database) == 3
        assert outcomes(key) == [f"note {number}" for number in range(700)]

    def test_that_was_forked_writes_its_own_notes(self, database: str, tmp_path: Path) -> None:
        paper = tmp_path / "paper"

        assert run(FORK, str(paper), database) == 0
        assert sorted(paper.read_text().splitlines()) == ["before", "child", "parent"]
