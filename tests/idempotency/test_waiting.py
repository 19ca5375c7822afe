"""Waiting: an equal request gets its owner's answer, and holds nothing while it waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import timedelta
from threading import Barrier

import pytest
from django.conf import settings
from django.db import connection
from django.utils import timezone

from idempotency import replay_cache, waiting
from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, answer_key, leave_unresolved, release
from idempotency.models import IdempotencyRecord
from idempotency.waiting import GROWTH, LONGEST_PAUSE, wait_for_owner
from tests.audit.rules import sql
from tests.idempotency.rows import DAY, a_claim, an_answer, answered, claimed

PATIENT = timedelta(seconds=30)
MANY = 50


class Clock:
    """A clock that goes on only while somebody pauses, and tells what happens meanwhile."""

    def __init__(self, meanwhile: Callable[[int], object] = lambda _: None) -> None:
        self.now = 0.0
        self.pauses: list[float] = []
        self.held: list[bool] = []
        self._meanwhile = meanwhile

    def monotonic(self) -> float:
        """Return the seconds so far."""
        return self.now

    def sleep(self, seconds: float) -> None:
        """Let the pause pass; note first whether its sleeper holds a connection."""
        self.held.append(connection.connection is not None)
        self.pauses.append(seconds)
        self.now += seconds
        self._meanwhile(len(self.pauses))
        connection.close()


SetClock = Callable[[Callable[[int], object]], Clock]


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> SetClock:
    """Have a waiter's pauses pass at once, with something done in each of them."""

    def set_clock(meanwhile: Callable[[int], object]) -> Clock:
        made = Clock(meanwhile)
        monkeypatch.setattr(waiting, "time", made)
        return made

    return set_clock


@pytest.fixture
def without_redis(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Leave Redis alone for the test."""
    monkeypatch.setattr(settings, "REDIS_URL", "redis://127.0.0.1:1/0")
    monkeypatch.setattr(settings, "SARVEX_REDIS_REST", timedelta(hours=1))
    replay_cache._client.cache_clear()
    yield
    replay_cache._client.cache_clear()
    replay_cache.wake_up()


def give_answer(owned: Standing) -> Answer:
    """Answer a key as its owner does."""
    return answer_key(owned.record_id, an_answer(), result_id="", now=timezone.now(), window=DAY)


def after(pause: int, do: Callable[[], object]) -> Callable[[int], object]:
    """Return what does something in one of the pauses."""
    return lambda number: do() if number == pause else None


class TestWaiter:
    @pytest.mark.parametrize("pause", [1, 2, 3, 10])
    def test_gets_the_owners_answer_from_the_database(self, clock: SetClock, pause: int) -> None:
        claim = a_claim()
        owned = claimed(claim)
        clock(after(pause, lambda: give_answer(owned)))
        told = wait_for_owner(claim, at_most=PATIENT)

        assert isinstance(told, Standing)
        assert told.answer is not None
        assert (told.answer.body, told.answer.replayed) == (an_answer().body, True)

    def test_gets_it_from_the_shelf_without_asking_the_database(self, clock: SetClock) -> None:
        claim = a_claim()
        claimed(claim)

        def shelve() -> None:
            replay_cache.keep(
                merchant=claim.merchant,
                key=claim.key,
                fingerprint=claim.fingerprint,
                answer=an_answer(),
                now=timezone.now(),
            )

        clock(after(1, shelve))
        told = wait_for_owner(claim, at_most=PATIENT)

        assert isinstance(told, Answer)
        assert told.body == an_answer().body

    def test_is_told_when_the_owner_released_the_key(self, clock: SetClock) -> None:
        claim = a_claim()
        owned = claimed(claim)
        clock(after(3, lambda: release(owned.record_id)))
        told = wait_for_owner(claim, at_most=PATIENT)

        assert isinstance(told, Standing)
        assert (told.state, told.answer) == ("released", None)

    def test_is_told_when_the_owner_lost_sight_of_it(self, clock: SetClock) -> None:
        claim = a_claim()
        owned = claimed(claim)
        clock(after(3, lambda: leave_unresolved(owned.record_id)))
        told = wait_for_owner(claim, at_most=PATIENT)

        assert isinstance(told, Standing)
        assert told.state == "unresolved"

    def test_is_told_of_what_ended_before_it_came(self, clock: SetClock) -> None:
        claim = a_claim()
        answered(claim)
        waiter = clock(lambda _: None)

        assert isinstance(wait_for_owner(claim, at_most=PATIENT), Standing)
        assert len(waiter.pauses) == 2

    def test_leaves_when_its_time_is_up(self, clock: SetClock) -> None:
        claim = a_claim()
        claimed(claim)
        waiter = clock(lambda _: None)

        assert wait_for_owner(claim, at_most=timedelta(seconds=10)) is None
        assert waiter.now == pytest.approx(10)

    @pytest.mark.parametrize("milliseconds", [5, 10, 24, 60, 1000])
    def test_looks_once_more_before_it_leaves(self, clock: SetClock, milliseconds: int) -> None:
        claim = a_claim()
        owned = claimed(claim)
        at_most = timedelta(milliseconds=milliseconds)
        tried = clock(lambda _: None)
        assert wait_for_owner(claim, at_most=at_most) is None
        clock(after(len(tried.pauses), lambda: give_answer(owned)))

        assert isinstance(wait_for_owner(claim, at_most=at_most), Standing)

    def test_that_may_not_wait_does_not(self, clock: SetClock) -> None:
        claim = a_claim()
        answered(claim)
        waiter = clock(lambda _: None)

        assert wait_for_owner(claim, at_most=timedelta(0)) is None
        assert waiter.pauses == []

    def test_pauses_longer_and_longer_up_to_a_bound(self, clock: SetClock) -> None:
        claim = a_claim()
        claimed(claim)
        waiter = clock(lambda _: None)
        wait_for_owner(claim, at_most=timedelta(seconds=10))

        for shorter, longer in zip(waiter.pauses[:-2], waiter.pauses[1:-1], strict=True):
            assert longer == pytest.approx(min(shorter * GROWTH, LONGEST_PAUSE))
        assert len(waiter.pauses) < 70

    def test_holds_no_connection_in_any_pause(self, clock: SetClock) -> None:
        claim = a_claim()
        claimed(claim)
        waiter = clock(lambda _: None)
        wait_for_owner(claim, at_most=timedelta(seconds=2))

        assert waiter.held == [False] * len(waiter.pauses)
        assert len(waiter.held) > 10

    @pytest.mark.usefixtures("without_redis")
    def test_needs_no_redis(self, clock: SetClock) -> None:
        claim = a_claim()
        owned = claimed(claim)
        clock(after(4, lambda: give_answer(owned)))

        assert isinstance(wait_for_owner(claim, at_most=PATIENT), Standing)

    def test_is_told_when_the_key_is_gone(self, clock: SetClock) -> None:
        claim = a_claim()
        owned = claimed(claim)
        forget = "DELETE FROM idempotency_idempotencyrecord WHERE id = %s"
        waiter = clock(after(3, lambda: sql(forget, owned.record_id)))

        assert wait_for_owner(claim, at_most=PATIENT) is None
        assert len(waiter.pauses) == 4


class TestFiftyWaiters:
    def start(
        self, threads: ThreadPoolExecutor, claim: Claim
    ) -> list[Future[Standing | Answer | None]]:
        """Have fifty threads wait, and return when all of them have begun."""
        begun = Barrier(MANY + 1)

        def wait() -> Standing | Answer | None:
            begun.wait(30)
            try:
                return wait_for_owner(claim, at_most=PATIENT)
            finally:
                connection.close()

        waiters = [threads.submit(wait) for _ in range(MANY)]
        begun.wait(30)
        return waiters

    def test_all_get_the_answer(self) -> None:
        claim = a_claim()
        owned = claimed(claim)
        with ThreadPoolExecutor(MANY) as threads:
            waiters = self.start(threads, claim)
            give_answer(owned)
            told = [waiter.result(30) for waiter in waiters]

        answers = [one.answer if isinstance(one, Standing) else one for one in told]
        assert {answer.body for answer in answers if answer} == {an_answer().body}
        assert None not in answers

    @pytest.mark.usefixtures("without_redis")
    def test_leave_room_for_everybody_else(self) -> None:
        claim = a_claim()
        owned = claimed(claim)
        most = settings.DATABASES["default"]["OPTIONS"]["pool"]["max_size"]
        assert most < MANY
        with ThreadPoolExecutor(MANY) as threads:
            waiters = self.start(threads, claim)
            for _ in range(100):
                connection.close()
                assert claimed(a_claim()).fresh
            assert not any(waiter.done() for waiter in waiters)
            give_answer(owned)
            told = [waiter.result(30) for waiter in waiters]

        assert all(isinstance(one, Standing) and one.answer for one in told)
        connection.close()
        assert IdempotencyRecord.objects.filter(key=claim.key).count() == 1
