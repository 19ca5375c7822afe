"""The shelf of answers: right or empty, and never in the way."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from threading import Thread

import pytest
import redis
from django.conf import settings
from django.db import connection
from hypothesis import given
from hypothesis import strategies as st

from idempotency import replay_cache
from idempotency.answers import Answer, Claim
from tests.idempotency.rows import DAY, a_claim, an_answer

MOMENT = timedelta(microseconds=1)
NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
LASTING = an_answer(expires_at=NOON + DAY)
SHELF = "sarvex:replay:*"


@pytest.fixture
def server() -> Iterator[redis.Redis]:
    """The real server, its shelf empty, asked past Sarvex."""
    client = redis.Redis.from_url(settings.REDIS_URL, protocol=2)
    wipe(client)
    yield client
    client.close()


@pytest.fixture
def redis_at(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Have Sarvex look for Redis elsewhere until the test ends; a rest takes an hour."""

    def look_at(url: str) -> None:
        monkeypatch.setattr(settings, "REDIS_URL", url)
        monkeypatch.setattr(settings, "SARVEX_REDIS_REST", timedelta(hours=1))
        replay_cache._client.cache_clear()

    yield look_at
    replay_cache._client.cache_clear()
    replay_cache.wake_up()


class Port:
    """A port of this machine that takes connections and never answers; it counts them."""

    def __init__(self) -> None:
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=100)
        self._listener.setblocking(False)
        self._taken: list[socket.socket] = []

    @property
    def url(self) -> str:
        """Where Redis would be, if it were there."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}/0"

    def connections(self) -> int:
        """Return how many connections were made so far; the kernel makes them without us."""
        while True:
            try:
                self._taken.append(self._listener.accept()[0])
            except BlockingIOError:
                return len(self._taken)

    def close(self) -> None:
        """From now on the port refuses."""
        for one in [*self._taken, self._listener]:
            one.close()


@pytest.fixture
def silent_port() -> Iterator[Port]:
    """A hung Redis."""
    with closing(Port()) as port:
        yield port


def wipe(server: redis.Redis) -> None:
    """Empty the shelf."""
    for name in entries(server):
        server.delete(name)


def entries(server: redis.Redis) -> list[bytes]:
    """Return the names of what is on the shelf."""
    return list(server.scan_iter(match=SHELF, count=1000))


def keep(claim: Claim, answer: Answer = LASTING, *, now: datetime = NOON) -> None:
    """Put an answer on the shelf."""
    replay_cache.keep(
        merchant=claim.merchant,
        key=claim.key,
        fingerprint=claim.fingerprint,
        answer=answer,
        now=now,
    )


def find(claim: Claim, *, fingerprint: str = "", now: datetime = NOON) -> Answer | None:
    """Look on the shelf."""
    return replay_cache.find(
        merchant=claim.merchant,
        key=claim.key,
        fingerprint=fingerprint or claim.fingerprint,
        now=now,
    )


def entry_of(server: redis.Redis, claim: Claim) -> tuple[bytes, bytes]:
    """Keep an answer and return the name and the content of its entry."""
    before = set(entries(server))
    keep(claim)
    [name] = set(entries(server)) - before
    content = server.get(name)
    assert isinstance(content, bytes)
    return name, content


class TestShelf:
    def test_gives_an_equal_request_its_answer(self) -> None:
        claim = a_claim()
        keep(claim)
        told = find(claim)

        assert told is not None
        assert (told.status, told.body, told.headers) == (200, LASTING.body, LASTING.headers)
        assert (told.final, told.replayed, told.expires_at) == (True, True, NOON + DAY)

    @given(
        status=st.sampled_from([200, 201, 402, 409]),
        body=st.binary(max_size=300),
        headers=st.dictionaries(st.text("aZ-", min_size=1), st.text("é\n:\"'", max_size=9)),
    )
    def test_gives_it_byte_for_byte(
        self, status: int, body: bytes, headers: dict[str, str]
    ) -> None:
        claim = a_claim()
        keep(claim, an_answer(status=status, body=body, headers=headers, expires_at=NOON + DAY))
        told = find(claim)

        assert told is not None
        assert (told.status, told.body, told.headers) == (status, body, headers)

    def test_gives_another_fingerprint_nothing(self) -> None:
        claim = a_claim()
        keep(claim)

        assert find(claim, fingerprint="0" * 64) is None

    def test_gives_another_merchant_or_key_nothing(self) -> None:
        claim = a_claim()
        keep(claim)

        assert find(a_claim(merchant="rival", key=claim.key)) is None
        assert find(a_claim(key=claim.key + "x")) is None

    def test_keeps_two_databases_apart(self, monkeypatch: pytest.MonkeyPatch) -> None:
        claim = a_claim()
        keep(claim)
        monkeypatch.setitem(connection.settings_dict, "NAME", "another")

        assert find(claim) is None

    def test_holds_an_answer_to_the_last_microsecond(self) -> None:
        claim = a_claim()
        keep(claim)

        assert find(claim, now=NOON + DAY - MOMENT) is not None
        assert find(claim, now=NOON + DAY) is None

    def test_lets_an_answer_go_with_its_window(self, server: redis.Redis) -> None:
        name, _ = entry_of(server, a_claim())

        assert 0 < server.pttl(name) <= DAY.total_seconds() * 1000

    @pytest.mark.parametrize(
        "answer",
        [
            an_answer(final=False),
            an_answer(final=False, status=202),
            an_answer(expires_at=None),
            an_answer(expires_at=NOON),
            an_answer(expires_at=NOON - DAY),
        ],
        ids=["not final", "unknown", "without a window", "window closed", "window long closed"],
    )
    def test_takes_no_other_answer(self, server: redis.Redis, answer: Answer) -> None:
        claim = a_claim()
        keep(claim, answer)

        assert find(claim) is None
        assert entries(server) == []

    def test_takes_an_answer_in_the_last_moment_of_its_window(self) -> None:
        keep(a_claim(), now=NOON + DAY - MOMENT)

        assert replay_cache.is_up()

    def test_is_empty_after_a_wipe(self, server: redis.Redis) -> None:
        claim = a_claim()
        keep(claim)
        wipe(server)

        assert find(claim) is None
        keep(claim)
        assert find(claim) is not None


class TestEntry:
    def test_reads_as_missing_wherever_one_bit_is_wrong(self, server: redis.Redis) -> None:
        claim = a_claim()
        name, entry = entry_of(server, claim)
        for position in range(len(entry)):
            damaged = bytearray(entry)
            damaged[position] ^= 1
            server.set(name, bytes(damaged))
            assert find(claim) is None, position

        server.set(name, entry)
        assert find(claim) is not None

    def test_reads_as_missing_wherever_it_is_cut(self, server: redis.Redis) -> None:
        claim = a_claim()
        name, entry = entry_of(server, claim)
        for length in range(len(entry)):
            server.set(name, entry[:length])
            assert find(claim) is None, length
        server.set(name, entry + b" ")

        assert find(claim) is None

    def test_reads_as_missing_under_another_key(self, server: redis.Redis) -> None:
        claim, other = a_claim(), a_claim()
        _, entry = entry_of(server, claim)
        name, _ = entry_of(server, other)
        server.set(name, entry)

        assert find(other) is None
        assert find(claim) is not None

    @pytest.mark.parametrize("seal", [b"\0" * 32, b"", b"f" * 32])
    def test_reads_as_missing_when_somebody_else_made_it(
        self, server: redis.Redis, seal: bytes
    ) -> None:
        claim = a_claim()
        name, entry = entry_of(server, claim)
        server.set(name, seal + entry[32:].replace(b"200", b"402"))

        assert find(claim) is None

    def test_reads_as_missing_when_another_secret_sealed_it(
        self, server: redis.Redis, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        claim = a_claim()
        keep(claim)
        with monkeypatch.context() as patch:
            patch.setattr(settings, "SECRET_KEY", "another")
            replay_cache._mac_key.cache_clear()
            found = find(claim)
        replay_cache._mac_key.cache_clear()

        assert found is None
        assert find(claim) is not None

    def test_reads_as_missing_when_it_is_no_text(self, server: redis.Redis) -> None:
        claim = a_claim()
        name, _ = entry_of(server, claim)
        server.delete(name)
        server.lpush(name, "a list")

        assert find(claim) is None


class TestHungRedis:
    def test_costs_one_connection_and_is_then_left_alone(
        self, silent_port: Port, redis_at: Callable[[str], None]
    ) -> None:
        redis_at(silent_port.url)
        claim = a_claim()
        for _ in range(100):
            assert find(claim) is None
            keep(claim)
            assert not replay_cache.is_up()

        assert silent_port.connections() == 1

    def test_is_asked_again_after_its_rest(
        self, silent_port: Port, redis_at: Callable[[str], None]
    ) -> None:
        redis_at(silent_port.url)
        for _ in range(3):
            replay_cache.wake_up()
            keep(a_claim())

        assert silent_port.connections() == 3

    def test_is_found_again_when_it_is_back(
        self, silent_port: Port, redis_at: Callable[[str], None]
    ) -> None:
        real, claim = settings.REDIS_URL, a_claim()
        keep(claim)
        redis_at(silent_port.url)
        assert find(claim) is None
        redis_at(real)

        assert find(claim) is None
        replay_cache.wake_up()
        assert find(claim) is not None


class TestStoppedRedis:
    def test_is_nothing_to_wait_for(
        self, silent_port: Port, redis_at: Callable[[str], None]
    ) -> None:
        url = silent_port.url
        silent_port.close()
        redis_at(url)

        assert find(a_claim()) is None
        keep(a_claim())
        assert not replay_cache.is_up()

    def test_may_cut_an_open_connection(self, server: redis.Redis) -> None:
        claim = a_claim()
        keep(claim)
        server.client_kill_filter(_id=str(replay_cache._client().client_id()))

        assert find(claim) in (None, replace(LASTING, replayed=True))
        replay_cache.wake_up()
        assert find(claim) is not None


class TestStrangerOnThePort:
    @pytest.mark.parametrize(
        "says", [b"HTTP/1.1 400 Bad Request\r\n\r\n", b"$-2\r\n", b"*1\r\n", b"\0" * 64, b""]
    )
    def test_is_not_believed(self, says: bytes, redis_at: Callable[[str], None]) -> None:
        with socket.create_server(("127.0.0.1", 0)) as listener:

            def answer_everything() -> None:
                with listener.accept()[0] as one:
                    one.sendall(says)
                    one.shutdown(socket.SHUT_WR)
                    while one.recv(4096):
                        pass

            stranger = Thread(target=answer_everything)
            stranger.start()
            redis_at(f"redis://127.0.0.1:{listener.getsockname()[1]}/0")

            assert find(a_claim()) is None
            assert find(a_claim()) is None
            replay_cache._client().close()
            stranger.join(30)
