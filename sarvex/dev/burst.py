"""Fifty simultaneous requests for one purchase: what a provider does alone, what Sarvex does."""

from __future__ import annotations

import http.client
import json
import os
import secrets
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from sarvex.dev import demo
from sarvex.dev.console import say, show

REQUESTS = 50
PATIENCE = 30.0  # seconds for one answer: more than SARVEX_DUPLICATE_WAIT and a provider's time-out
AMOUNT = 3500
SESSION = {
    "currency": "usd",
    "line_items": [{"sku": "TEE-M", "name": "Black tee", "quantity": 2, "unit_amount": 1500}],
    "shipping_amount": 500,
    "buyer": {"email": "buyer@example.com", "name": "A Buyer"},
    "metadata": {"purpose": "demonstration"},
}
PAYMENT = {"payment": {"handler": "stripe", "token": "pm_card_visa"}}


@dataclass(frozen=True)
class Answer:
    """What one of the fifty was told; status 0 when the connection broke."""

    status: int
    body: bytes
    replayed: bool = False


@dataclass(frozen=True)
class Row:
    """What came of fifty requests."""

    name: str
    requests: int
    answers: int
    orders: int
    charges: int
    replays: int


class Failed(Exception):
    """The demonstration could not be carried out; one line says why."""


@dataclass(frozen=True)
class Api:
    """An HTTP server and the key that opens it."""

    base: str
    key: str

    def ask(
        self,
        method: str,
        path: str,
        body: bytes | None = None,
        headers: dict[str, str] | None = None,
    ) -> Answer:
        """Send one request over a connection of its own."""
        where = urlsplit(self.base)
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=PATIENCE)
        try:
            known = {"Authorization": f"Bearer {self.key}", **(headers or {})}
            connection.request(method, path, body, known)
            response = connection.getresponse()
            replayed = response.headers.get("Idempotent-Replayed") == "true"
            return Answer(response.status, response.read(), replayed)
        except (OSError, http.client.HTTPException) as error:
            return Answer(0, str(error).encode())
        finally:
            connection.close()

    def read(self, method: str, path: str, **arguments: Any) -> dict[str, Any]:
        """Send one request that must succeed, and return its JSON."""
        answer = self.ask(method, path, **arguments)
        if answer.status not in {200, 201}:
            said = answer.body.decode("utf-8", "replace")[:300]
            raise Failed(f"{method} {self.base}{path} answered {answer.status}: {said}")
        found: dict[str, Any] = json.loads(answer.body)
        return found


def at_once(send: Callable[[int], Answer]) -> list[Answer]:
    """Call `send` fifty times, all let go at the same instant, and return what came back."""
    gate = threading.Barrier(REQUESTS)
    answers: list[Answer] = []

    def one(number: int) -> None:
        gate.wait()
        answers.append(send(number))

    threads = [threading.Thread(target=one, args=(number,)) for number in range(REQUESTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


def naive(provider: Api) -> Row:
    """Buy once with fifty requests straight to the provider, none of them named."""
    purchase = secrets.token_hex(8)
    form = {
        "amount": str(AMOUNT),
        "currency": "usd",
        "confirm": "true",
        "payment_method": "pm_card_visa",
        "payment_method_types[]": "card",
        "metadata[purchase]": purchase,
    }
    body = urlencode(form).encode()
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    answers = at_once(lambda _: provider.ask("POST", "/v1/payment_intents", body, headers))
    charges = _charges(provider, "purchase", purchase)
    # Each answer that says "paid" becomes an order in a shop without protection.
    orders = sum(answer.status == 200 for answer in answers)
    return Row("naive", REQUESTS, orders, orders, charges, 0)


def sarvex(merchant: Api, agent: Api, provider: Api) -> Row:
    """Buy once with fifty requests that carry one name."""
    body = json.dumps(SESSION).encode()
    headers = {"Content-Type": "application/json"}
    session = merchant.read("POST", "/checkout", body=body, headers=headers)
    key = f"demo-{secrets.token_hex(8)}"
    path = f"/checkout/{session['id']}/complete"
    named = headers | {"Idempotency-Key": key}
    pay = json.dumps(PAYMENT).encode()
    answers = at_once(lambda _: agent.ask("POST", path, pay, named))
    paid = [answer for answer in answers if answer.status == 200]
    for status in sorted({answer.status for answer in answers} - {200}):
        one = next(answer for answer in answers if answer.status == status)
        say(f"an answer was {status}: {one.body.decode('utf-8', 'replace')[:300]}")
    same = sum(answer.body == paid[0].body for answer in paid) if paid else 0
    found = merchant.read(
        "GET", f"/merchants/{demo.MERCHANT}/orders?idempotency_key={quote(key, safe='')}"
    )["data"]
    charges = sum(_charges(provider, "sarvex_order", order["order_id"]) for order in found)
    replays = sum(answer.replayed for answer in paid)
    return Row("sarvex", REQUESTS, same, len(found), charges, replays)


def _charges(provider: Api, name: str, value: str) -> int:
    """Count the payments that carry this metadata, walking the provider's list to its end."""
    count: int = 0
    after = ""
    while True:
        page = provider.read("GET", f"/v1/payment_intents?limit=100{after}")
        count += sum(
            intent.get("metadata", {}).get(name) == value and intent["status"] == "succeeded"
            for intent in page["data"]
        )
        # Newest first, and ours are the newest: a page without one of them is past the last.
        ours = any(intent.get("metadata", {}).get(name) == value for intent in page["data"])
        if not page.get("has_more") or not ours:
            return count
        after = f"&starting_after={page['data'][-1]['id']}"


def table(rows: list[Row]) -> list[str]:
    """Lay the rows out in columns."""
    columns = ("requests", "answers", "orders", "charges", "replays")
    lines = [f"  {'':8}" + "".join(f"{column:>10}" for column in columns)]
    for row in rows:
        counts = "".join(f"{getattr(row, column):>10}" for column in columns)
        lines.append(f"  {row.name:8}{counts}")
    return lines


def main() -> None:
    """Print the table; exit 1 when it does not say one charge, one order and fifty answers."""
    home = Path(os.environ["SARVEX_HOME"])
    made = json.loads(demo.path_in(home).read_text("utf-8"))
    service, provider = f"http://127.0.0.1:{os.environ['PORT']}", os.environ["STRIPE_API_BASE"]
    keys = made["api_keys"]
    sandbox = Api(provider, made["stripe_secret_key"])
    try:
        say(
            f"{REQUESTS} requests at once for one purchase, straight to the provider, without a key"
        )
        alone = naive(sandbox)
        say(f"{REQUESTS} requests at once for one purchase, to Sarvex, with one Idempotency-Key")
        protected = sarvex(Api(service, keys["merchant"]), Api(service, keys["agent"]), sandbox)
    except Failed as failure:
        sys.exit(f"sarvex: {failure}")
    show("")
    for line in table([alone, protected]):
        show(line)
    expected = Row("sarvex", REQUESTS, REQUESTS, 1, 1, REQUESTS - 1)
    if protected != expected or alone.charges != REQUESTS:
        sys.exit("sarvex: these are not the promised numbers: 50 charges above, 50 50 1 1 49 below")


if __name__ == "__main__":
    main()
