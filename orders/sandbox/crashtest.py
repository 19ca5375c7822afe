"""Rehearse crashes against a running stack, from outside: over HTTP, with real kills.

Each run completes one checkout, makes something go wrong at a step that can be told apart from
outside, asks again (or not), waits until everything has come to rest, and compares what the sandbox
charged with what the service says of it.
"""

from __future__ import annotations

import secrets
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests

from .client import SandboxControl

FOLLOW_UPS = ("same key", "new key", "nobody")
CARD = "pm_card_visa"
PAUSE = 0.3  # seconds between two questions


class NotAtRest(Exception):
    """Something is still under way long after it should have ended."""


@dataclass(frozen=True, kw_only=True)
class Stack:
    """A running service and how to hurt it. The kill commands are words, not shell lines."""

    url: str
    sandbox: str
    merchant_id: str
    merchant_key: str
    agent_key: str
    kill_web: list[str]
    kill_worker: list[str]
    only: str
    patience: float


@dataclass(frozen=True, kw_only=True)
class Run:
    """What came of one cell."""

    step: str
    follow_up: str
    answer: str
    charges: int
    orders: int
    held: bool
    why: str = ""


def steps(stack: Stack) -> dict[str, dict[str, Any]]:
    """Return the steps that can be rehearsed, with what makes each go wrong."""
    found: dict[str, dict[str, Any]] = {
        "answer lost before the provider acted": {"fault": "drop_before"},
        "answer lost after the provider acted": {"fault": "drop_after"},
        "provider answers 500 after it acted": {"fault": "error_after"},
        "provider answers nothing that can be read": {"fault": "empty"},
        "provider has the key in use": {"fault": "in_use"},
        "provider acts and never answers": {"fault": "hang", "when": "after"},
    }
    for who, kill, headers in (
        ("web", stack.kill_web, {}),
        ("worker", stack.kill_worker, {"Prefer": "respond-async"}),
    ):
        if kill:
            for when in ("before", "after"):
                found[f"{who} killed {when} the provider acted"] = {
                    "gate": when,
                    "kill": kill,
                    "headers": headers,
                }
    return {step: fault for step, fault in found.items() if stack.only in step}


def rehearse(stack: Stack) -> Iterator[Run]:
    """Run every step with every follow-up, and yield what came of each."""
    for step, fault in steps(stack).items():
        for follow_up in FOLLOW_UPS:
            yield _Cell(stack, step, fault, follow_up).run()


class _Cell:
    def __init__(self, stack: Stack, step: str, fault: dict[str, Any], follow_up: str) -> None:
        self.stack, self.step, self.fault, self.follow_up = stack, step, fault, follow_up
        self.control = SandboxControl(stack.sandbox)
        self.key = f"crashtest-{secrets.token_hex(6)}"
        self.checkout = ""

    def run(self) -> Run:
        """Let it go wrong, ask again, and hold what is left against the promise."""
        answer = "nobody asked"
        try:
            self.checkout = self._open()
            self._go_wrong()
            if self.follow_up != "nobody":
                answer = self._ask_until_final()
            session = self._come_to_rest()
        except NotAtRest as late:
            return self._verdict(answer, orders=0, why=str(late))
        return self._verdict(answer, orders=1 if session["order_id"] else 0)

    def _verdict(self, answer: str, *, orders: int, why: str = "") -> Run:
        charges = sum(
            self.control.summary(metadata={"sarvex_operation": operation}).charges
            for operation in self._operations()
        )
        if not why and (charges != orders or charges > 1):
            why = f"{charges} charges and {orders} orders"
        return Run(
            step=self.step,
            follow_up=self.follow_up,
            answer=answer,
            charges=charges,
            orders=orders,
            held=not why,
            why=why,
        )

    def _open(self) -> str:
        basket = {
            "currency": "usd",
            "line_items": [{"name": "Crash test", "quantity": 1, "unit_amount": 1200}],
        }
        told = self._call("POST", "/checkout", self.stack.merchant_key, basket)
        if told is None or told.status_code != 201:
            raise NotAtRest(f"no checkout could be opened: {told and told.text}")
        return str(told.json()["id"])

    def _go_wrong(self) -> None:
        headers = {"Idempotency-Key": self.key, **self.fault.get("headers", {})}
        metadata = {"sarvex_merchant": self.stack.merchant_id}
        if "fault" in self.fault:
            self.control.fault(
                self.fault["fault"], when=self.fault.get("when"), method="POST", metadata=metadata
            )
            self._complete(headers)
            return
        gate = f"gate-{self.key}"
        self.control.gate(gate, when=self.fault["gate"], method="POST", metadata=metadata, times=1)
        with ThreadPoolExecutor(1) as pool:
            sent = pool.submit(self._complete, headers)
            self.control.waiting_at(gate, at_least=1, timeout=self.stack.patience)
            subprocess.run(self.fault["kill"], check=False, stdin=subprocess.DEVNULL)
            self.control.open_gate(gate)
            sent.result()

    def _ask_until_final(self) -> str:
        key = self.key if self.follow_up == "same key" else f"{self.key}-other"
        deadline = time.monotonic() + self.stack.patience
        while time.monotonic() < deadline:
            told = self._complete({"Idempotency-Key": key})
            if told is not None and told.status_code != 202:
                said = told.json()
                if not said.get("retryable"):
                    return f"{told.status_code} {said.get('code', 'order')}"
            time.sleep(PAUSE)
        raise NotAtRest("no final answer in time")

    def _come_to_rest(self) -> dict[str, Any]:
        deadline = time.monotonic() + self.stack.patience
        while time.monotonic() < deadline:
            told = self._call("GET", f"/checkout/{self.checkout}", self.stack.merchant_key)
            if told is not None and told.status_code == 200:
                session: dict[str, Any] = told.json()
                if session["status"] != "completing":
                    return session
            time.sleep(PAUSE)
        raise NotAtRest("the checkout is still being completed")

    def _operations(self) -> list[str]:
        path = f"/merchants/{self.stack.merchant_id}/operations?idempotency_key="
        keys = (self.key, f"{self.key}-other")
        told = [self._call("GET", path + key, self.stack.merchant_key) for key in keys]
        return [one["id"] for answer in told if answer for one in answer.json().get("data", [])]

    def _complete(self, headers: dict[str, str]) -> requests.Response | None:
        body = {"payment": {"handler": "stripe", "token": CARD}}
        path = f"/checkout/{self.checkout}/complete"
        return self._call("POST", path, self.stack.agent_key, body, headers)

    def _call(
        self,
        method: str,
        path: str,
        key: str,
        body: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> requests.Response | None:
        """Send one request; None when the connection or the answer was lost."""
        sent = {"Authorization": f"Bearer {key}", **(headers or {})}
        try:
            return requests.request(
                method, self.stack.url + path, json=body, headers=sent, timeout=self.stack.patience
            )
        except requests.RequestException:
            return None
