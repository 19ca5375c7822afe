"""The sandbox's controls in Python, for tests, benchmarks and the demonstration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import requests

PATIENCE = 15.0  # seconds


class SandboxRefused(Exception):
    """The sandbox did not do what it was asked for."""


@dataclass(frozen=True)
class Summary:
    """Counts and sums of one account, or of all."""

    requests: int
    idempotency_keys: int
    replays: int
    conflicts: int
    payment_intents: int
    charges: int
    authorized: int
    captured: int
    declined: int
    canceled: int
    refunds: int
    disputes: int
    amount_charged: int
    amount_captured: int
    amount_refunded: int


class SandboxControl:
    """Controls one running sandbox. `account` is always a secret key, `sk_test_…`."""

    def __init__(self, base_url: str, *, timeout: float = PATIENCE) -> None:
        self.base_url = base_url.rstrip("/")
        self._timeout = timeout

    def call(
        self,
        method: str,
        path: str,
        body: dict[str, Any] | None = None,
        query: dict[str, Any] | None = None,
    ) -> Any:
        """Send one control request and return its JSON.

        Raises: SandboxRefused with the sandbox's reason.
        """
        sent = None if body is None else {k: v for k, v in body.items() if v is not None}
        asked = {k: v for k, v in (query or {}).items() if v is not None}
        return self._send(method, path, sent, asked)

    def _send(
        self, method: str, path: str, body: Any = None, query: dict[str, Any] | None = None
    ) -> Any:
        answer = requests.request(
            method,
            f"{self.base_url}/_sandbox/{path}",
            json=body,
            params=query,
            timeout=self._timeout,
        )
        if answer.status_code != 200:
            raise SandboxRefused(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json()

    def fault(self, action: str, *, times: int | None = 1, **settings: Any) -> str:
        """Set a fault and return its id; `times=None` until it is cleared.

        Matches: method, path (with *), account, payment_method, idempotency_key, metadata, nth.
        Settings: when, ms, gate, status, type, code, message, body, html, kept.
        """
        body = {"action": action, **{k: v for k, v in settings.items() if v is not None}}
        return str(self._send("POST", "faults", {**body, "times": times})["id"])

    def faults(self) -> list[dict[str, Any]]:
        """List the faults that are set, with how many requests each has met."""
        return list(self.call("GET", "faults")["data"])

    def clear_faults(self, object_id: str | None = None) -> None:
        """Forget one fault, or all."""
        self.call("DELETE", f"faults/{object_id}" if object_id else "faults")

    def gate(
        self, name: str, *, when: str = "before", times: int | None = None, **match: Any
    ) -> str:
        """Hold matching requests at a gate, before or after they act; return the fault's id."""
        return self.fault("gate", times=times, gate=name, when=when, **match)

    def waiting_at(self, name: str, *, at_least: int = 0, timeout: float = 5.0) -> int:
        """Return how many wait at the gate, after waiting for `at_least` of them to come."""
        query = {"at_least": at_least, "timeout_ms": int(timeout * 1000)} if at_least else None
        return int(self.call("GET", f"gates/{name}", query=query)["waiting"])

    def open_gate(self, name: str, count: int | None = None) -> int:
        """Let `count` through, or everybody from now on; return how many were waiting for it."""
        return int(self.call("POST", f"gates/{name}/open", {"count": count})["released"])

    def close_gate(self, name: str) -> None:
        """Hold again whoever comes."""
        self.call("POST", f"gates/{name}/close")

    def requests(self, **match: Any) -> list[dict[str, Any]]:
        """List arrivals, oldest first: `account=`, `path=`, `idempotency_key=`, `state=`, …"""
        return list(self.call("GET", "requests", query=match)["data"])

    def summary(
        self, account: str | None = None, *, metadata: dict[str, str] | None = None
    ) -> Summary:
        """Count what really happened to money."""
        query: dict[str, Any] = {"account": account}
        query.update({f"metadata[{name}]": value for name, value in (metadata or {}).items()})
        return Summary(**self.call("GET", "summary", query=query))

    def reset(self, account: str | None = None) -> None:
        """Forget one account, or everything."""
        self.call("POST", "reset", {"account": account})

    def shift_clock(self, seconds: float) -> int:
        """Move the sandbox's clock; return its new time."""
        return int(self.call("POST", "clock", {"shift_s": seconds})["now"])

    def default_delay(self, ms: int) -> None:
        """Make every API request take so long."""
        self.call("POST", "default_delay", {"ms": ms})

    def settings(self, **values: int | None) -> dict[str, Any]:
        """Change default_delay_ms, idempotency_keep_s or refund_settles_after_ms (None: never)."""
        return dict(self._send("POST", "settings", values))

    def dispute(
        self,
        payment_intent: str,
        *,
        reason: str = "fraudulent",
        amount: int | None = None,
        account: str | None = None,
    ) -> dict[str, Any]:
        """Open a dispute on a payment; reason `inquiry` for an inquiry."""
        body = {"payment_intent": payment_intent, "reason": reason, "amount": amount}
        return dict(self.call("POST", "disputes", {**body, "account": account}))

    def move_dispute(self, object_id: str, status: str) -> dict[str, Any]:
        """Give a dispute another status: won, lost, under_review, warning_closed …"""
        return dict(self.call("POST", f"disputes/{object_id}", {"status": status}))

    def end_refund(
        self, object_id: str, status: str, *, failure_reason: str | None = None
    ) -> dict[str, Any]:
        """Let a refund become pending, succeeded, failed or canceled."""
        body = {"status": status, "failure_reason": failure_reason}
        return dict(self.call("POST", f"refunds/{object_id}", body))

    def dashboard_refund(
        self, payment_intent: str, amount: int | None = None, *, account: str | None = None
    ) -> dict[str, Any]:
        """Refund as a person would on Stripe's dashboard, behind Sarvex's back."""
        body = {"payment_intent": payment_intent, "amount": amount, "account": account}
        return dict(self.call("POST", "dashboard/refund", body))

    def expire(self, payment_intent: str, *, canceled: bool = True) -> dict[str, Any]:
        """End an authorisation; without `canceled` Stripe has not yet cancelled its intent."""
        return dict(self.call("POST", f"expire/{payment_intent}", {"canceled": canceled}))

    def authenticate(self, payment_intent: str, *, succeed: bool = True) -> dict[str, Any]:
        """Let the card's holder pass or fail the authentication that the intent waits for."""
        return dict(self.call("POST", f"authenticate/{payment_intent}", {"succeed": succeed}))

    def register_webhook(
        self, url: str, secret: str, *, account: str | None = None, events: list[str] | None = None
    ) -> str:
        """Send an account's events, or everybody's, to a URL; return the endpoint's id."""
        body = {"url": url, "secret": secret, "account": account, "events": events}
        return str(self.call("POST", "webhooks", body)["id"])

    def remove_webhooks(self, object_id: str | None = None) -> None:
        """Forget one endpoint, or all."""
        self.call("DELETE", f"webhooks/{object_id}" if object_id else "webhooks")

    def webhooks(self, *, settled_within: float | None = None) -> dict[str, Any]:
        """Tell endpoints and deliveries, after waiting until nothing is on its way."""
        ms = None if settled_within is None else int(settled_within * 1000)
        return dict(self.call("GET", "webhooks", query={"settled_within_ms": ms}))

    def hold_webhooks(self) -> None:
        """Hold back every event from now on."""
        self.call("POST", "webhooks/hold")

    def release_webhooks(self, *, order: str = "as_made", copies: int = 1) -> int:
        """Send what was held: as_made, reversed or shuffled."""
        body = {"order": order, "copies": copies}
        return int(self.call("POST", "webhooks/release", body)["released"])

    def lose_held_webhooks(self) -> int:
        """Forget what was held, as if it had never been sent."""
        return int(self.call("POST", "webhooks/forget")["lost"])

    def resend_event(
        self, event: str, *, times: int = 1, parallel: bool = False, account: str | None = None
    ) -> list[dict[str, Any]]:
        """Send an event again, and return what each delivery came to."""
        body = {"event": event, "times": times, "parallel": parallel, "account": account}
        return list(self.call("POST", "webhooks/resend", body)["deliveries"])

    def forge_event(self, **settings: Any) -> int:
        """Send a made-up or wrongly signed event; return the receiver's status."""
        return int(self.call("POST", "webhooks/forge", settings)["status"])

    def events(self, account: str | None = None) -> list[dict[str, Any]]:
        """List events in the order in which they happened."""
        return list(self.call("GET", "events", query={"account": account})["data"])
