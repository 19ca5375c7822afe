"""The sandbox as its own process, and the SDK's view of one account in it."""

from __future__ import annotations

import secrets
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from threading import Barrier
from typing import Any

import stripe

from tests.processes import free_port, running

Params = Any  # the SDK's typed parameters; tests also send what it would not


@contextmanager
def running_sandbox(folder: Path, *options: str) -> Iterator[str]:
    """Run `manage.py stripe_sandbox` on a free port and yield its URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "manage.py", "stripe_sandbox", "--port", str(port), *options]
    with running(command, url=f"{url}/healthz", log=folder / "sandbox.log"):
        yield url


def new_key() -> str:
    """Return a secret key, and with it an account, that nobody has used."""
    return f"sk_test_{secrets.token_hex(12)}"


@dataclass
class Till:
    """One account, asked through the SDK as the handler asks."""

    url: str
    key: str = field(default_factory=new_key)
    timeout: float = 10.0

    def __post_init__(self) -> None:
        self.client = self.new_client()

    def new_client(self) -> stripe.StripeClient:
        """Return a client with connections of its own."""
        return stripe.StripeClient(
            self.key,
            http_client=stripe.RequestsClient(timeout=(2, self.timeout)),
            base_addresses={"api": self.url},
            max_network_retries=0,
        )

    def params(self, **changes: Any) -> Params:
        """Return the parameters of an ordinary payment, with changes; None leaves one out."""
        ordinary = {
            "amount": 3500,
            "currency": "usd",
            "payment_method": "pm_card_visa",
            "payment_method_types": ["card"],
            "confirm": True,
            "capture_method": "automatic",
        }
        return {k: v for k, v in {**ordinary, **changes}.items() if v is not None}

    def pay(self, *, key: str | None = None, **changes: Any) -> stripe.PaymentIntent:
        """Pay, under an idempotency key if one is given."""
        options: Params = {"idempotency_key": key} if key else {}
        return self.client.v1.payment_intents.create(params=self.params(**changes), options=options)

    def hold(self, **changes: Any) -> stripe.PaymentIntent:
        """Authorise without capturing."""
        return self.pay(capture_method="manual", **changes)

    def refund(
        self, intent: stripe.PaymentIntent, amount: int | None = None, **more: Any
    ) -> stripe.Refund:
        """Refund a payment."""
        params: Params = {"payment_intent": intent.id, **more}
        if amount is not None:
            params["amount"] = amount
        return self.client.v1.refunds.create(params=params)

    def intents(self) -> list[stripe.PaymentIntent]:
        """Return every payment intent, newest first."""
        return list(self.client.v1.payment_intents.list(params={"limit": 100}).auto_paging_iter())


def refusal(error: stripe.StripeError) -> dict[str, Any]:
    """Return the error envelope's inside."""
    body: Any = error.json_body
    told: dict[str, Any] = body["error"]
    return told


def header(answer: Any, name: str) -> str | None:
    """Return a header of the last answer."""
    found: str | None = answer.last_response.headers.get(name)
    return found


def at_once(count: int, act: Any) -> list[Any]:
    """Run `act(number)` in so many threads, released together; return results or exceptions."""
    barrier = Barrier(count)

    def one(number: int) -> Any:
        barrier.wait()
        try:
            return act(number)
        except stripe.StripeError as error:
            return error

    with ThreadPoolExecutor(count) as pool:
        return list(pool.map(one, range(count)))
