"""One merchant and everybody who acts at it, as tests speak of them."""

from __future__ import annotations

import json
import secrets
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from threading import Barrier
from typing import Any

import requests
from django.db import connection
from django.test import Client
from requests.structures import CaseInsensitiveDict

from orders.actions.merchants import create_api_key, create_merchant

TEE = {"sku": "TEE-M", "name": "Black tee", "quantity": 2, "unit_amount": 1500}
BASKET: dict[str, Any] = {"currency": "usd", "line_items": [TEE], "shipping_amount": 500}


# What is compared with the database's clock: table, column, the merchant's column.
AGEING = [
    ("orders_operation", "submitted_at", "merchant_id"),
    ("orders_operation", "next_look_at", "merchant_id"),
    ("orders_operation", "looking_until", "merchant_id"),
    ("idempotency_outboxevent", "due_at", "merchant"),
    ("idempotency_outboxevent", "created_at", "merchant"),
]


@dataclass
class Reply:
    """An answer, whether it came in process or over a socket."""

    status: int
    headers: CaseInsensitiveDict[str]
    content: bytes

    def json(self) -> Any:
        """Return the body's value."""
        return json.loads(self.content)

    @property
    def replayed(self) -> bool:
        """Whether the answer says that it is a replay."""
        return self.headers.get("Idempotent-Replayed") == "true"


@dataclass
class Shop:
    """A merchant of its own, so that tests need not clean up after one another.

    Without `url` requests are served in this process; with it they go over HTTP.
    """

    id: str
    keys: dict[str, str]
    url: str = ""
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def account(self) -> str:
        """The merchant's Stripe key, which is its account at the sandbox."""
        return f"sk_test_{self.id.replace('-', '')}"

    def at(self, url: str) -> Shop:
        """Return the same shop, reached over HTTP."""
        return Shop(self.id, self.keys, url)

    def call(
        self,
        method: str,
        path: str,
        body: Any = None,
        *,
        role: str = "agent",
        key: str | None = None,
        token: str | None = None,
        raw: bytes | None = None,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> Reply:
        """Send one request. `raw` is sent as it is; `token` replaces the role's API key."""
        sent = {"Authorization": f"Bearer {token or self.keys[role]}", **(headers or {})}
        if key is not None:
            sent["Idempotency-Key"] = key
        content = raw if raw is not None else (b"" if body is None else json.dumps(body).encode())
        if self.url:
            sent["Content-Type"] = content_type
            answer = requests.request(
                method, self.url + path, data=content, headers=sent, timeout=60
            )
            return Reply(answer.status_code, answer.headers, answer.content)
        client = Client(raise_request_exception=False)
        told = client.generic(method, path, content, content_type=content_type, headers=sent)
        return Reply(told.status_code, CaseInsensitiveDict(told.headers), told.content)

    def get(self, path: str, *, role: str = "merchant") -> Reply:
        """Read something; `{m}` in the path is the merchant."""
        return self.call("GET", path.replace("{m}", f"/merchants/{self.id}"), role=role)

    def checkout(self, **changes: Any) -> str:
        """Open a checkout of 3500 usd, with changes, and return its id."""
        told = self.call("POST", "/checkout", {**BASKET, **changes}, role="merchant")
        assert told.status == 201, told.content
        checkout_id: str = told.json()["id"]
        return checkout_id

    def complete(
        self,
        checkout_id: str,
        key: str | None,
        pm: str = "pm_card_visa",
        *,
        role: str = "agent",
        token: str | None = None,
        headers: dict[str, str] | None = None,
        **members: Any,
    ) -> Reply:
        """Complete a checkout with a payment method."""
        body = {"payment": {"handler": "stripe", "token": pm}, **members}
        path = f"/checkout/{checkout_id}/complete"
        return self.call("POST", path, body, role=role, key=key, token=token, headers=headers)

    def complete_at_once(
        self, checkout_id: str, keys: list[str], pm: str = "pm_card_visa"
    ) -> list[Reply]:
        """Complete one checkout from as many threads as there are keys, all at the same moment."""
        barrier = Barrier(len(keys))

        def one(key: str) -> Reply:
            barrier.wait(30)
            return self.complete(checkout_id, key, pm)

        with ThreadPoolExecutor(len(keys)) as pool:
            return list(pool.map(one, keys))

    def another_key(self, role: str, name: str = "") -> str:
        """Return a further API key of the merchant."""
        return create_api_key(merchant_id=self.id, role=role, name=name)[0]

    def let_time_pass(self, seconds: float) -> None:
        """Age what the merchant has under way, by the database's clock."""
        with connection.cursor() as cursor:
            for table, column, owner in AGEING:
                cursor.execute(
                    f"UPDATE {table} SET {column} = {column} - %s::interval WHERE {owner} = %s",  # noqa: S608
                    (f"{seconds} seconds", self.id),
                )

    def orders(self, **filters: str) -> list[dict[str, Any]]:
        """Return the merchant's orders."""
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        found: list[dict[str, Any]] = self.get(f"{{m}}/orders?limit=100&{query}").json()["data"]
        return found

    def operations(self, **filters: str) -> list[dict[str, Any]]:
        """Return the merchant's operations, newest first."""
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        told = self.get(f"{{m}}/operations?limit=100&{query}")
        found: list[dict[str, Any]] = told.json()["data"]
        return found

    def mutations(self, **filters: str) -> list[dict[str, Any]]:
        """Return the merchant's trail, oldest first."""
        query = "&".join(f"{name}={value}" for name, value in filters.items())
        found: list[dict[str, Any]] = self.get(f"{{m}}/mutations?limit=100&{query}").json()["data"]
        return found


def open_shop(name: str, **settings: str) -> Shop:
    """Create a merchant whose id begins with the name."""
    merchant_id = f"{name}-{secrets.token_hex(4)}"
    keys = create_merchant(
        merchant_id=merchant_id,
        name=name.title(),
        currency="usd",
        stripe_secret_key=f"sk_test_{merchant_id.replace('-', '')}",
        stripe_webhook_secret="whsec_test",
        confirm=settings.get("confirm", "automatic"),
        idempotency=settings.get("idempotency", "required"),
    )
    return Shop(merchant_id, keys)


def new_key(name: str = "key") -> str:
    """Return an idempotency key that no other test has."""
    return f"{name}-{secrets.token_hex(6)}"
