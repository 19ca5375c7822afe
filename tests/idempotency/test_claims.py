"""Claims: a key gets its meaning once, keeps it, and may get another after its window."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Event

import pytest
from django.db import IntegrityError, connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from idempotency.answers import Answer, Claim
from idempotency.claims import (
    Standing,
    answer_key,
    claim_key,
    leave_unresolved,
    read_key,
    release,
    take_again,
)
from idempotency.models import IdempotencyRecord
from tests.audit.rules import undone
from tests.idempotency.rows import DAY, State, a_claim, a_record, an_answer, answered, claimed
from tests.idempotency.together import at_once

MOMENT = timedelta(microseconds=1)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
FOR_EVER = datetime(9999, 1, 1, tzinfo=UTC)
MANY = 50
WAITERS_FOR_US = """
SELECT count(*) FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""


def lives_of(claim: Claim) -> list[tuple[int, str]]:
    """Return the generation and state of every record of a key."""
    records = IdempotencyRecord.objects.filter(merchant=claim.merchant, key=claim.key)
    return list(records.order_by("generation").values_list("generation", "state"))


def wait_until_somebody_waits() -> None:
    """Return when another claim waits for this transaction's end, as PostgreSQL tells."""
    with connection.cursor() as cursor:
        while True:
            cursor.execute(WAITERS_FOR_US)
            if cursor.fetchone() != (0,):
                return


class TestFreshClaim:
    def test_gives_the_key_its_meaning(self) -> None:
        claim = a_claim(traceparent="00-1", subject="cs_9")
        standing = claimed(claim, operation_id="op_9", now=NOON)

        assert (standing.fresh, standing.generation, standing.state) == (True, 0, "open")
        assert (standing.operation_id, standing.first_seen_at) == ("op_9", NOON)
        assert standing.answer is None
        record = IdempotencyRecord.objects.get(id=standing.record_id)
        for fact in ("merchant", "key", "actor", "fingerprint", "route", "subject", "request_id"):
            assert getattr(record, fact) == getattr(claim, fact)
        assert record.traceparent == "00-1"

    def test_is_taken_back_with_its_transaction(self) -> None:
        claim = a_claim()
        with undone():
            claim_key(claim, operation_id="op_1", now=NOON)

        assert read_key(merchant=claim.merchant, key=claim.key) is None
        assert claimed(claim).fresh

    def test_costs_one_statement(self) -> None:
        with undone(), CaptureQueriesContext(connection) as asked:
            claim_key(a_claim(), operation_id="op_1", now=NOON)

        assert len(asked) == 1

    def test_of_another_merchant_or_key_stands_for_itself(self) -> None:
        claim = a_claim()

        assert claimed(claim).fresh
        assert claimed(a_claim(merchant="rival", key=claim.key)).fresh
        assert claimed(a_claim(key=claim.key + "x")).fresh
        assert claimed(a_claim(key=claim.key.upper())).fresh

    @pytest.mark.parametrize("key", ["k" * 255, "a:b", "%s", "'; --", "\\", "{}", "~!@#$%^&*()"])
    def test_takes_any_visible_key(self, key: str) -> None:
        claim = a_claim(merchant=a_claim().key, key=key)

        assert claimed(claim).fresh
        assert not claimed(claim).fresh


class TestSecondClaim:
    @pytest.mark.parametrize("fingerprint", ["f" * 64, "0" * 64])
    def test_is_told_what_the_key_means(self, fingerprint: str) -> None:
        claim = a_claim()
        first = claimed(claim, operation_id="op_1", now=NOON)
        other = a_claim(key=claim.key, fingerprint=fingerprint, actor="agent:other")
        second = claimed(other, operation_id="op_2", now=NOON + DAY)

        assert not second.fresh
        assert second.record_id == first.record_id
        assert (second.fingerprint, second.operation_id) == (claim.fingerprint, "op_1")
        assert second.first_seen_at == NOON

    def test_is_told_the_answer(self) -> None:
        claim = a_claim()
        answer = answered(claim, now=NOON)
        told = claimed(claim, now=NOON).answer

        assert told is not None
        assert (told.status, told.body, told.headers) == (
            answer.status,
            answer.body,
            answer.headers,
        )
        assert (told.final, told.replayed) == (True, True)
        assert told.expires_at == answer.expires_at == NOON + DAY

    def test_changes_nothing(self) -> None:
        claim = a_claim()
        claimed(claim)
        [before] = IdempotencyRecord.objects.filter(key=claim.key).values()
        claimed(a_claim(key=claim.key, actor="agent:other", subject="cs_2"))

        assert list(IdempotencyRecord.objects.filter(key=claim.key).values()) == [before]

    def test_waits_for_the_first_to_commit(self) -> None:
        claim = a_claim()
        with ThreadPoolExecutor(1) as threads:
            with transaction.atomic():
                first = claim_key(claim, operation_id="op_1", now=NOON)
                other = threads.submit(claimed_apart, claim)
                wait_until_somebody_waits()
            second = other.result()

        assert not second.fresh
        assert second.record_id == first.record_id

    def test_takes_the_firsts_place_when_that_is_rolled_back(self) -> None:
        claim = a_claim()
        with ThreadPoolExecutor(1) as threads:
            with undone():
                first = claim_key(claim, operation_id="op_1", now=NOON)
                other = threads.submit(claimed_apart, claim)
                wait_until_somebody_waits()
            second = other.result()

        assert second.fresh
        assert second.record_id != first.record_id
        assert lives_of(claim) == [(0, "open")]


def claimed_apart(claim: Claim) -> Standing:
    """Claim from another thread, and give its connection back."""
    try:
        return claimed(claim, operation_id="op_2", now=NOON)
    finally:
        connection.close()


class TestFiftyClaimsAtOnce:
    @pytest.mark.parametrize("_round", range(10))
    def test_make_one_key(self, _round: int) -> None:
        claim = a_claim()
        standings = at_once(MANY, lambda number: claimed(claim, operation_id=f"op_{number}"))

        [fresh] = [standing for standing in standings if standing.fresh]
        assert len(standings) == MANY
        assert {one.record_id for one in standings} == {fresh.record_id}
        assert {one.operation_id for one in standings} == {fresh.operation_id}
        assert lives_of(claim) == [(0, "open")]

    @pytest.mark.parametrize("_round", range(5))
    def test_begin_one_next_generation(self, _round: int) -> None:
        claim = a_claim()
        answered(claim, now=NOON)
        standings = at_once(MANY, lambda _: claimed(claim, now=NOON + DAY))

        assert [standing.fresh for standing in standings].count(True) == 1
        assert {standing.generation for standing in standings} == {1}
        assert lives_of(claim) == [(0, "answered"), (1, "open")]

    def test_of_fifty_keys_are_all_fresh(self) -> None:
        claims = [a_claim() for _ in range(MANY)]
        standings = at_once(MANY, lambda number: claimed(claims[number]))

        assert all(standing.fresh for standing in standings)

    @pytest.mark.parametrize("_round", range(5))
    def test_replay_what_the_one_of_them_answered(self, _round: int) -> None:
        claim = a_claim()
        written = Event()

        def claim_and_answer(_: int) -> Answer | None:
            standing = claimed(claim)
            if standing.fresh:
                answer_key(
                    standing.record_id, an_answer(), result_id="", now=timezone.now(), window=DAY
                )
                written.set()
            written.wait(30)
            return claimed(claim).answer

        answers = at_once(MANY, claim_and_answer)

        assert {answer.body for answer in answers if answer} == {an_answer().body}
        assert None not in answers


class TestWindow:
    def test_holds_to_the_last_microsecond(self) -> None:
        claim = a_claim()
        answered(claim, now=NOON)

        assert not claimed(claim, now=NOON + DAY - MOMENT).fresh
        next_life = claimed(claim, operation_id="op_2", now=NOON + DAY)
        assert (next_life.fresh, next_life.generation, next_life.answer) == (True, 1, None)
        assert (next_life.first_seen_at, next_life.operation_id) == (NOON + DAY, "op_2")

    def test_opens_again_for_another_meaning(self) -> None:
        claim = a_claim()
        answered(claim, now=NOON)
        other = a_claim(key=claim.key, fingerprint="0" * 64, actor="agent:other")

        assert claimed(other, now=NOON + DAY).fingerprint == "0" * 64
        assert claimed(claim, now=NOON + DAY).fingerprint == "0" * 64

    def test_comes_and_goes_for_every_generation(self) -> None:
        claim = a_claim()
        for generation in range(4):
            now = NOON + generation * DAY
            standing = claimed(claim, now=now)
            assert (standing.fresh, standing.generation) == (True, generation)
            answer_key(standing.record_id, an_answer(), result_id="", now=now, window=DAY)

        assert lives_of(claim) == [(generation, "answered") for generation in range(4)]
        newest = read_key(merchant=claim.merchant, key=claim.key)
        assert newest is not None
        assert newest.generation == 3

    @pytest.mark.parametrize("state", [State.OPEN, State.UNRESOLVED, State.RELEASED])
    def test_does_not_close_on_what_has_no_answer(self, state: str) -> None:
        claim = a_claim()
        a_record(key=claim.key, state=state, first_seen_at=NOON)
        standing = claimed(claim, now=FOR_EVER)

        assert (standing.fresh, standing.state, standing.generation) == (False, state, 0)
        assert lives_of(claim) == [(0, state)]


class TestReleasedKey:
    def released(self, claim: Claim) -> int:
        """Claim a key and say that nothing happened under it."""
        standing = claimed(claim)
        assert release(standing.record_id)
        return standing.record_id

    def test_is_not_taken_by_a_claim_alone(self) -> None:
        claim = a_claim()
        self.released(claim)

        assert claimed(claim).state == "released"
        assert not claimed(claim).fresh

    def test_is_taken_again_with_its_operation(self) -> None:
        claim = a_claim()
        record_id = self.released(claim)

        assert take_again(record_id, operation_id="op_2", after="op_1")
        standing = claimed(claim)
        assert (standing.state, standing.operation_id) == ("open", "op_2")

    @pytest.mark.parametrize("_round", range(5))
    def test_is_taken_again_by_exactly_one_of_many(self, _round: int) -> None:
        claim = a_claim()
        record_id = self.released(claim)

        def take(number: int) -> bool:
            with transaction.atomic(durable=True):
                return take_again(record_id, operation_id=f"op_{number}", after="op_1")

        taken = at_once(MANY, take)

        assert taken.count(True) == 1
        assert claimed(claim).operation_id == f"op_{taken.index(True)}"

    def test_is_not_taken_again_after_an_operation_that_another_try_has_replaced(self) -> None:
        claim = a_claim()
        record_id = self.released(claim)
        assert take_again(record_id, operation_id="op_2", after="op_1")
        assert release(record_id)

        assert not take_again(record_id, operation_id="op_3", after="op_1")

    def test_stays_released_when_its_taker_is_rolled_back(self) -> None:
        claim = a_claim()
        record_id = self.released(claim)
        with undone():
            assert take_again(record_id, operation_id="op_2", after="op_1")

        assert claimed(claim).state == "released"
        assert claimed(claim).operation_id == "op_1"

    @pytest.mark.parametrize("state", [State.OPEN, State.UNRESOLVED, State.ANSWERED])
    def test_is_the_only_one_that_is_taken_again(self, state: str) -> None:
        record = a_record(state=state)

        assert not take_again(record.id, operation_id="op_2", after="")
        record.refresh_from_db()
        assert (record.state, record.operation_id) == (state, "")


class TestStates:
    @pytest.mark.parametrize(
        ("state", "released", "unresolved"),
        [
            (State.OPEN, True, True),
            (State.UNRESOLVED, True, False),
            (State.RELEASED, False, False),
            (State.ANSWERED, False, False),
        ],
    )
    def test_are_left_from_some_others_only(
        self, state: str, released: bool, unresolved: bool
    ) -> None:
        assert release(a_record(state=state).id) is released
        assert leave_unresolved(a_record(state=state).id) is unresolved

    def test_of_an_unknown_key_are_none(self) -> None:
        claim = a_claim()

        assert read_key(merchant=claim.merchant, key=claim.key) is None

    def test_of_another_merchants_key_are_none(self) -> None:
        claim = a_claim()
        claimed(claim)

        assert read_key(merchant="rival", key=claim.key) is None

    def test_are_read_without_a_claim(self) -> None:
        claim = a_claim()
        claimed(claim)
        standing = read_key(merchant=claim.merchant, key=claim.key)

        assert standing is not None
        assert not standing.fresh


class TestAnswer:
    HEADERS = st.dictionaries(
        st.text(st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=20),
        st.text(st.characters(min_codepoint=0x20, max_codepoint=0x7E), max_size=40),
        max_size=4,
    )

    @given(
        status=st.integers(200, 499).filter(lambda status: status != 202),
        body=st.binary(max_size=300),
        headers=HEADERS,
    )
    def test_is_replayed_byte_for_byte(
        self, status: int, body: bytes, headers: dict[str, str]
    ) -> None:
        claim = a_claim()
        answered(claim, an_answer(status=status, body=body, headers=headers), now=NOON)
        told = claimed(claim, now=NOON).answer

        assert told is not None
        assert (told.status, told.body, told.headers) == (status, body, headers)

    def test_says_that_it_is_final_and_not_a_replay(self) -> None:
        answer = answered(a_claim(), an_answer(final=False, expires_at=None), now=NOON)

        assert (answer.final, answer.replayed, answer.expires_at) == (True, False, NOON + DAY)

    def test_takes_a_body_as_large_as_a_request_may_be(self) -> None:
        claim = a_claim()
        body = bytes(range(256)) * 1024
        answered(claim, an_answer(body=body))
        told = claimed(claim).answer

        assert told is not None
        assert told.body == body

    @pytest.mark.parametrize("status", [202, 500, 502, 503, 504])
    def test_is_never_a_guess(self, status: int) -> None:
        claim = a_claim()

        with pytest.raises(IntegrityError, match="no_stored_answer_is_a_guess"):
            answered(claim, an_answer(status=status))
        assert claimed(claim).state == "open"

    def test_is_given_once(self) -> None:
        claim = a_claim()
        answered(claim, an_answer(body=b"first"))
        record_id = claimed(claim).record_id

        with pytest.raises(IntegrityError, match="stored_answers_stand"):
            answer_key(
                record_id, an_answer(body=b"other"), result_id="", now=timezone.now(), window=DAY
            )
        told = claimed(claim).answer
        assert told is not None
        assert told.body == b"first"

    def test_is_given_by_one_of_many(self) -> None:
        claim = a_claim()
        record_id = claimed(claim).record_id

        def give(number: int) -> bool:
            answer = an_answer(body=b"%d" % number)
            try:
                answer_key(record_id, answer, result_id="", now=timezone.now(), window=DAY)
            except IntegrityError:
                return False
            return True

        given_by = at_once(10, give)
        told = claimed(claim).answer

        assert given_by.count(True) == 1
        assert told is not None
        assert told.body == b"%d" % given_by.index(True)
