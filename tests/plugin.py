"""An early pytest plugin: real servers are up before Django's settings are read.

Every run takes the first free slot under `.sarvex/test/`, with servers of its own, so that two
runs in one checkout do not meet; the slot's data is found again by the next run. The servers end
with the run that started them, however it ends.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Generator
from itertools import count
from pathlib import Path

import pytest

from sarvex.dev import servers
from sarvex.dev.refusals import Refused

_SLOTS = servers.CHECKOUT / ".sarvex" / "test"
_started: list[Path] = []


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests() -> Generator[None, object, object]:
    """Prepare the environment before pytest-django, which reads the settings in this same hook."""
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker is None:
        _prepare_run()
    else:
        _take_own_redis_database(int(worker.removeprefix("gw")) + 1)
    try:
        return (yield)
    except BaseException:
        pytest_unconfigure()  # settings that do not load end the run before it is configured
        raise


def pytest_unconfigure() -> None:
    """Stop what this run started."""
    while _started:
        servers.stop(_started.pop())


def _prepare_run() -> None:
    """Start the servers that the environment does not name, and say where everything is."""
    home = _free_slot()
    given = {name: bool(os.environ.get(name)) for name in ("DATABASE_URL", "REDIS_URL")}
    if not all(given.values()):
        _started.append(home)
        try:
            found = servers.start(
                home,
                kept=False,
                database=not given["DATABASE_URL"],
                redis=not given["REDIS_URL"],
            )
        except Refused as refusal:
            raise pytest.UsageError(f"the tests' servers: {refusal}") from None
        os.environ.setdefault("DATABASE_URL", found.database_url)
        os.environ.setdefault("REDIS_URL", found.redis_url)
    os.environ["SARVEX_HOME"] = str(home)
    os.environ["SECRET_KEY"] = "only-for-tests-" + "0123456789abcdef" * 4
    os.environ["SARVEX_INSECURE_HTTP"] = "1"
    os.environ["SARVEX_WEBHOOK_ALLOW_PRIVATE"] = "1"


def _free_slot() -> Path:
    """Return the first home whose lock we get; the lock lasts as long as this process."""
    for number in count():
        home = _SLOTS / str(number)
        home.mkdir(parents=True, exist_ok=True)
        lock = os.open(home / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(lock)
        else:
            return home
    raise AssertionError("count() does not end")


def _take_own_redis_database(number: int) -> None:
    """Give this parallel process a database of its own: no test sees another's keys."""
    base, _, _ = os.environ["REDIS_URL"].rpartition("/")
    os.environ["REDIS_URL"] = f"{base}/{number}"
