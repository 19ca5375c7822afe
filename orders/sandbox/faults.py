"""Misbehaviour on request: which requests it meets, how often, and what it does to them."""

from __future__ import annotations

import fnmatch
import re
from dataclasses import dataclass, field, fields
from typing import Any

from .cards import rehearsal
from .forms import Form
from .identifiers import new_id

# What each does, seen from outside:
ACTIONS = {
    "delay": "waits `ms`, before or after acting",
    "hang": "waits longer than anybody else does (`ms`, ten minutes), before or after acting",
    "gate": "waits until the gate is opened, before or after acting",
    "drop_before": "closes the connection, nothing done",
    "drop_after": "acts, then closes the connection",
    "error_before": "answers an error, nothing done",
    "error_after": "acts, then answers an error",
    "in_use": "answers 409 idempotency_key_in_use, nothing done",
    "rate_limited": "answers 429, nothing done",
    "empty": "acts, then answers 200 with an empty body",
    "wrong_amount": "acts on another amount than the one asked for",
}
HOLDS = ("delay", "hang", "gate")
HANG_MS = 600_000


@dataclass(slots=True)
class Fault:
    """One misbehaviour. What is None or empty matches everything."""

    action: str
    id: str = ""
    method: str | None = None
    path: str | None = None  # a pattern: * stands for anything
    account: str | None = None
    payment_method: str | None = None
    idempotency_key: str | None = None
    metadata: dict[str, str] = field(default_factory=dict)
    nth: int = 1  # the first matching request that it meets
    times: int | None = 1  # how many it meets; None: until it is cleared
    when: str = "before"
    ms: int | None = None
    gate: str | None = None
    status: int = 500
    type: str = "api_error"
    code: str | None = None
    message: str = "Something went wrong on the sandbox's side."
    body: str | None = None
    html: bool = False
    kept: bool | None = None  # whether the error is the key's kept result
    matched: int = 0
    hits: int = 0
    _path: re.Pattern[str] | None = None

    def __post_init__(self) -> None:
        if self.path is not None:
            self._path = re.compile(fnmatch.translate(self.path))

    @property
    def keeps_error(self) -> bool:
        """Whether an `error_after` was made by the endpoint, and so is kept under the key.

        A page of HTML, or a body of the caller's, comes from something in front of it.
        """
        return self.kept if self.kept is not None else not (self.html or self.body is not None)

    def told(self) -> dict[str, Any]:
        """Return what the control path shows."""
        return {one.name: getattr(self, one.name) for one in fields(self) if one.name[0] != "_"}


@dataclass(slots=True)
class Subject:
    """What faults look at."""

    method: str
    path: str
    account: str
    form: Form
    key: str | None
    payment_method: str | None
    metadata: dict[str, str]


def fault_from(given: dict[str, Any]) -> Fault:
    """Return a fault from JSON.

    Raises: ValueError that says what is wrong.
    """
    known = {one.name for one in fields(Fault)} - {"matched", "hits", "_path"}
    unknown = given.keys() - known
    if unknown:
        raise ValueError(f"unknown member: {', '.join(sorted(unknown))}")
    if given.get("action") not in ACTIONS:
        raise ValueError(f"action must be one of {', '.join(ACTIONS)}")
    if given.get("when", "before") not in {"before", "after"}:
        raise ValueError("when must be before or after")
    fault = Fault(**given)
    if fault.action == "gate" and not fault.gate:
        raise ValueError("a gate needs a name: gate")
    if fault.action == "delay" and fault.ms is None:
        raise ValueError("a delay needs ms")
    fault.id = fault.id or new_id("flt")
    return fault


class Faults:
    """The faults that are set, in the order of their setting."""

    def __init__(self) -> None:
        self.set: list[Fault] = []

    def meeting(self, subject: Subject) -> list[Fault]:
        """Return what meets this request, and count it as met."""
        met = [fault for fault in self.set if _meets(fault, subject)]
        for fault in met:
            fault.hits += 1
        return met

    def add(self, fault: Fault) -> Fault:
        """Set a fault."""
        self.set.append(fault)
        return fault

    def clear(self, object_id: str | None = None) -> int:
        """Forget one fault, or all; say how many."""
        before = len(self.set)
        self.set = [fault for fault in self.set if object_id is not None and fault.id != object_id]
        return before - len(self.set)


def _meets(fault: Fault, subject: Subject) -> bool:
    if fault.times is not None and fault.hits >= fault.times:
        return False
    pairs = (
        (fault.method, subject.method),
        (fault.account, subject.account),
        (fault.idempotency_key, subject.key),
        (fault.payment_method, subject.payment_method),
    )
    if any(wanted is not None and wanted != found for wanted, found in pairs):
        return False
    if fault._path is not None and not fault._path.match(subject.path):
        return False
    if any(subject.metadata.get(name) != value for name, value in fault.metadata.items()):
        return False
    fault.matched += 1
    return fault.matched >= fault.nth


def rehearsed(payment_method: str | None) -> list[Fault]:
    """Return what one of our own payment methods does to the request that confirms with it."""
    if payment_method is None or not payment_method.startswith("pm_sandbox_"):
        return []
    told = rehearsal(payment_method)
    return [fault_from({**told, "id": payment_method})] if told else []
