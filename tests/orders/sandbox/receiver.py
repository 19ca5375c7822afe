"""Somebody who receives webhooks."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Condition, Thread
from typing import Any

import stripe

SECRET = "whsec_test_0123456789"


class Receiver:
    """Takes in webhooks, verifies them as Stripe's SDK does, and answers as told."""

    def __init__(self) -> None:
        self.received: list[tuple[bytes, str]] = []
        self.answers: list[int] = []  # statuses for the next ones; then 200
        self.came = Condition()
        self.url = ""

    def take(self, body: bytes, signed: str) -> int:
        with self.came:
            self.received.append((body, signed))
            self.came.notify_all()
            return self.answers.pop(0) if self.answers else 200

    def wait_for(self, count: int) -> None:
        with self.came:
            assert self.came.wait_for(lambda: len(self.received) >= count, 10), self.types()

    def events(self) -> list[Any]:
        """Return the verified events in the order of their coming."""
        construct: Any = stripe.Webhook.construct_event
        return [construct(body, signed, SECRET) for body, signed in self.received]

    def types(self) -> list[str]:
        return [event.type for event in self.events()]


@contextmanager
def receiver() -> Iterator[Receiver]:
    """Run a receiver on a free port."""
    one = Receiver()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            status = one.take(body, self.headers["Stripe-Signature"])
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.send_header("Connection", "close")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            return

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    one.url = f"http://127.0.0.1:{server.server_address[1]}/hooks"
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield one
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)
