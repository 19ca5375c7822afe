"""The real web server, as the Procfile starts it: bodies in pieces, large, slow and refused."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlsplit

import psutil
import pytest
import requests

from orders.sandbox.client import SandboxControl
from sarvex.dev.procfile import commands_of
from tests.orders.api.problems import problem
from tests.processes import CHECKOUT, database_url_of, free_port, running
from tests.sarvex.wire import Closed, in_chunks, request, wire
from tests.shop import BASKET, Reply, Shop, new_key

BODY = json.dumps(BASKET).encode()
JSON = "application/json"
LARGE = 50_000_000


@pytest.fixture(scope="module")
def server(
    database: str, stripe_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[str, psutil.Process]]:
    """Run the Procfile's web process."""
    from os import environ
    from sys import executable

    port = str(free_port())
    url = f"http://127.0.0.1:{port}"
    command = commands_of(
        CHECKOUT / "Procfile",
        {**environ, "PORT": port, "SANDBOX_PORT": "1", "SARVEX_HOME": environ["SARVEX_HOME"]},
    )["web"]
    command[0] = str(Path(executable).parent / command[0])
    env = {"DATABASE_URL": database_url_of(database), "STRIPE_API_BASE": stripe_url}
    log = tmp_path_factory.mktemp("server") / "web.log"
    with running(command, url=f"{url}/readyz", log=log, env=env) as process:
        yield url, psutil.Process(process.pid)


@pytest.fixture
def shop(server: tuple[str, psutil.Process], acme: Shop) -> Shop:
    """Open a merchant that is reached over HTTP."""
    return acme.at(server[0])


def bearer(shop: Shop, role: str = "merchant") -> str:
    """Return the header's value."""
    return f"Bearer {shop.keys[role]}"


class TestAChunkedBody:
    def test_is_read_like_any_other(self, shop: Shop, stripe: SandboxControl) -> None:
        key = new_key()
        with wire(shop.url) as line:
            made = line.send(
                request(
                    "POST",
                    "/checkout",
                    BODY,
                    chunked=True,
                    headers={"Authorization": bearer(shop), "Content-Type": JSON},
                )
            ).reply()
            path = f"/checkout/{made.json()['id']}/complete"
            pay = b'{"payment": {"handler": "stripe", "token": "pm_card_visa"}}'
            head = {"Authorization": bearer(shop, "agent"), "Content-Type": JSON}
            paid = line.send(
                request("POST", path, pay, chunked=True, headers={"Idempotency-Key": key, **head})
            ).reply()
            again = line.send(
                request("POST", path, pay, headers={"Idempotency-Key": key, **head})
            ).reply()

        assert (made.status, paid.status) == (201, 200)
        assert again.replayed
        assert again.content == paid.content

    def test_that_is_empty_is_none(self, shop: Shop) -> None:
        checkout = shop.checkout()
        path = f"/checkout/{checkout}/cancel"
        with wire(shop.url) as line:
            head = request("POST", path, b"", chunked=True, headers={"Authorization": bearer(shop)})
            assert line.send(head).reply().json()["status"] == "canceled"

    def test_is_refused_for_what_is_in_it(self, shop: Shop) -> None:
        path = f"/checkout/{shop.checkout()}/cancel"
        head = {"Authorization": bearer(shop), "Content-Type": JSON}
        with wire(shop.url) as line:
            unknown = line.send(
                request("POST", path, b'{"a": 1}', chunked=True, headers=head)
            ).reply()
            bad = line.send(request("POST", path, b'{"a"', chunked=True, headers=head)).reply()
            head["Content-Type"] = "text/plain"
            plain = line.send(request("POST", path, b"{}", chunked=True, headers=head)).reply()

        assert problem(unknown, "invalid_request")["errors"] == {"a": ["Unknown member."]}
        problem(bad, "malformed_json")
        problem(plain, "unsupported_media_type")

    def test_that_is_cut_off_begins_nothing(self, shop: Shop) -> None:
        key = new_key()
        whole = request(
            "POST",
            "/checkout",
            BODY,
            chunked=True,
            headers={"Authorization": bearer(shop), "Content-Type": JSON, "Idempotency-Key": key},
        )
        with wire(shop.url) as line:
            line.send(whole[:-12])

        told = shop.call("POST", "/checkout", BASKET, role="merchant", key=key)
        assert (told.status, told.replayed) == (201, False)

    def test_of_a_wrong_coding_is_refused(self, shop: Shop) -> None:
        for coding in ("xchunked", "chunked, xchunked", "identity", "\x0bchunked"):
            with wire(shop.url) as line:
                head = request(
                    "POST",
                    "/checkout",
                    headers={
                        "Transfer-Encoding": coding,
                        "Authorization": bearer(shop),
                        "Content-Type": JSON,
                    },
                )
                assert line.send(head, b"".join(in_chunks(BODY))).reply().status == 400


class TestALargeBody:
    @pytest.mark.parametrize("path", ["/checkout", "/handlers/stripe/{m}/events"])
    @pytest.mark.parametrize("chunked", [False, True])
    def test_is_refused_with_flat_memory(
        self, server: tuple[str, psutil.Process], shop: Shop, path: str, chunked: bool
    ) -> None:
        piece = b"x" * 65_536

        def pieces() -> Iterator[bytes]:
            for _ in range(LARGE // len(piece)):
                yield piece

        before = memory(server[1])
        statuses = []
        for _ in range(3):
            answer = requests.post(
                shop.url + path.format(m=shop.id),
                data=pieces() if chunked else piece * (LARGE // len(piece)),
                headers={"Authorization": bearer(shop), "Content-Type": JSON},
                timeout=30,
            )
            problem(Reply(answer.status_code, answer.headers, answer.content), "payload_too_large")
            statuses.append(answer.status_code)

        assert statuses == [413] * 3
        assert memory(server[1]) - before < LARGE / 2

    def test_is_refused_before_it_is_sent(self, shop: Shop) -> None:
        with wire(shop.url) as line:
            head = request(
                "POST",
                "/checkout",
                headers={
                    "Authorization": bearer(shop),
                    "Content-Type": JSON,
                    "Content-Length": str(LARGE),
                },
            )
            problem(line.send(head).reply(), "payload_too_large")

    def test_ends_the_connection_and_nothing_of_it_is_taken_for_a_request(self, shop: Shop) -> None:
        smuggled = request(
            "POST", "/checkout", BODY, headers={"Authorization": bearer(shop), "Content-Type": JSON}
        )
        body = smuggled.ljust(300_000, b"\n")
        before = len(shop.mutations())
        with wire(shop.url) as line:
            head = {"Authorization": bearer(shop), "Content-Type": JSON}
            told = line.send(request("POST", "/checkout", body, headers=head)).reply()
            with pytest.raises((Closed, OSError)):
                line.send(request("GET", "/healthz")).reply()

        problem(told, "payload_too_large")
        assert told.headers["Connection"] == "close"
        assert len(shop.mutations()) == before


def memory(process: psutil.Process) -> int:
    """Return what the server's processes hold, in bytes."""
    return sum(one.memory_info().rss for one in [process, *process.children(recursive=True)])


class TestAKeptConnection:
    def test_answers_each_request_after_refused_ones(self, shop: Shop) -> None:
        head = {"Authorization": bearer(shop), "Content-Type": JSON}
        refused = [
            (request("POST", "/checkout", BODY, headers={"Authorization": "Bearer no"}), 401),
            (
                request(
                    "POST", "/checkout", BODY, headers={"Authorization": bearer(shop, "agent")}
                ),
                403,
            ),
            (request("POST", "/nothing", BODY, headers=head), 404),
            (request("PUT", "/checkout", BODY, headers=head), 405),
            (request("POST", "/checkout", b"{", headers=head), 400),
            (request("POST", "/checkout", BODY, headers={"Authorization": bearer(shop)}), 415),
            (
                request(
                    "POST", "/checkout", BODY, chunked=True, headers={"Authorization": "Bearer no"}
                ),
                401,
            ),
            (request("GET", f"/merchants/{shop.id}/orders", BODY, headers=head), 200),
        ]
        with wire(shop.url) as line:
            for sent, status in refused:
                assert line.send(sent).reply().status == status
                assert line.send(request("GET", "/healthz")).reply().json() == {"status": "ok"}

    def test_answers_pipelined_requests_in_their_order(self, shop: Shop) -> None:
        head = {"Authorization": bearer(shop), "Content-Type": JSON}
        with wire(shop.url) as line:
            line.send(
                request(
                    "POST", "/checkout", BODY, chunked=True, headers={"Request-Id": "1", **head}
                )
                + request(
                    "POST",
                    "/checkout",
                    BODY,
                    headers={"Request-Id": "2", "Authorization": "Bearer no"},
                )
                + request("GET", "/healthz", headers={"Request-Id": "3"})
                + request("POST", "/checkout", BODY, headers={"Request-Id": "4", **head})
            )
            told = [line.reply() for _ in range(4)]

        assert [one.status for one in told] == [201, 401, 200, 201]
        assert [one.headers["Request-Id"] for one in told] == ["1", "2", "3", "4"]


class TestAKeySentTwice:
    def test_is_one_key_that_holds_both_and_never_one_of_them(self, shop: Shop) -> None:
        first, second = new_key(), new_key()
        twice = f"{first}\r\nIdempotency-Key: {second}"
        head = {"Authorization": bearer(shop), "Content-Type": JSON}
        with wire(shop.url) as line:
            told = line.send(
                request("POST", "/checkout", BODY, headers={"Idempotency-Key": twice, **head})
            ).reply()

        assert told.status == 400 or told.headers["Idempotency-Key"] == f"{first},{second}"
        for key in (first, second):
            assert shop.get(f"{{m}}/idempotency-keys/{key}").status == 404

    def test_is_never_sent_with_line_breaks_in_it(self, shop: Shop) -> None:
        for key in ("a\0b", "a\rb"):
            with wire(shop.url) as line:
                head = {"Authorization": bearer(shop), "Content-Type": JSON}
                told = line.send(
                    request("POST", "/checkout", BODY, headers={"Idempotency-Key": key, **head})
                )
                assert told.reply().status == 400


class TestSlowAndIdleConnections:
    def test_do_not_stop_other_requests(self, shop: Shop, stripe: SandboxControl) -> None:
        address = urlsplit(shop.url)
        heads = [
            b"",
            b"POST /checkout HT",
            request(
                "POST",
                "/checkout",
                headers={"Authorization": bearer(shop), "Content-Length": "100"},
            ),
            request(
                "POST",
                "/checkout",
                headers={"Authorization": bearer(shop), "Transfer-Encoding": "chunked"},
            ),
            request("POST", f"/handlers/stripe/{shop.id}/events", headers={"Content-Length": "100"})
            + b"{",
        ]
        with ExitStack() as held:
            for number in range(200):
                one = held.enter_context(
                    socket.create_connection((address.hostname, address.port), 10)
                )
                one.sendall(heads[number % len(heads)])
            with ThreadPoolExecutor(8) as pool:
                told = list(pool.map(lambda _: buy(shop), range(8)))
            health = requests.get(f"{shop.url}/healthz", timeout=5)

        assert told == [200] * 8
        assert health.elapsed.total_seconds() < 2
        assert stripe.summary(shop.account).charges == 8


def buy(shop: Shop) -> int:
    """Open and complete a checkout."""
    return shop.complete(shop.checkout(), new_key()).status


class TestALongPath:
    def test_is_not_found_or_too_long(self, shop: Shop) -> None:
        for length in (10_000, 60_000, 200_000):
            with wire(shop.url) as line:
                path = "/checkout/" + "x" * length
                told = line.send(
                    request("GET", path, headers={"Authorization": bearer(shop)})
                ).reply()
                assert told.status in (404, 414)
