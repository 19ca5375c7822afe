"""Where a process of the crash tests may die: hooks that exist in the tests' processes only.

A point is armed by a file that holds its name. The first process that comes to an armed point
takes the file away and kills itself with SIGKILL, so nobody else dies of it.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import wraps
from pathlib import Path
from typing import Any

import time_machine

from idempotency import delivery
from orders.actions import complete_checkout, receive_event, reconcile, settlement, submission

ARMED = Path(os.environ["SARVEX_CRASH_FILE"])


def die_at(point: str) -> None:
    """Kill this process if the point is armed and nobody else has died of it."""
    try:
        if ARMED.read_text() != point:
            return
        ARMED.unlink()
    except FileNotFoundError:
        return
    os.kill(os.getpid(), signal.SIGKILL)


def _before(module: Any, name: str, *points: str) -> None:
    _wrap(module, name, before=points, after=())


def _after(module: Any, name: str, *points: str) -> None:
    _wrap(module, name, before=(), after=points)


def _wrap(module: Any, name: str, *, before: tuple[str, ...], after: tuple[str, ...]) -> None:
    real: Callable[..., Any] = getattr(module, name)

    @wraps(real)
    def dying(*args: Any, **kwargs: Any) -> Any:
        for point in before:
            die_at(point)
        result = real(*args, **kwargs)
        for point in after:
            die_at(point)
        return result

    setattr(module, name, dying)


def install() -> None:
    """Put the hooks in, shorten the pauses that tests would only wait for, and shift the clock."""
    shift = float(os.environ.get("SARVEX_CLOCK_SHIFT", "0"))
    if shift:
        time_machine.travel(datetime.now(UTC) + timedelta(seconds=shift)).start()
    settlement.FIRST_LOOK = timedelta(seconds=0.5)
    # The request's and the worker's way to the provider.
    _after(complete_checkout, "publish", "web: accept not committed")
    _before(submission, "submit", "web: accepted, not sent")
    _before(submission, "_begin", "worker: claimed, not begun")
    _after(submission, "_begin", "worker: begun, not sent")
    _before(submission, "settle", "web: answered, not settled", "worker: answered, not settled")
    _after(settlement, "answer_key", *(f"{who}: settle not committed" for who in SETTLERS))
    _after(submission, "submit", "web: settled, not answered")
    _after(submission, "submit_accepted", "worker: settled, not marked delivered")
    _before(delivery, "_deliver", "worker: leased, not worked on")
    # The provider's event.
    _after(receive_event, "_keep", "event: kept, not worked on")
    _after(receive_event, "_work_on", "event: settled, not marked")
    # The reconciler, and whoever else looks up.
    _after(reconcile, "_begin", "look-up: begun, not asked")
    _before(reconcile, "settle", "look-up: answered, not settled")
    _after(reconcile, "look_up", "look-up: settled")


SETTLERS = ("web", "worker", "event", "look-up")
