"""A whole stack whose processes die on request: web, worker and beat, on one database."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import requests

from orders.sandbox.client import SandboxControl
from tests.processes import free_port, running

# Short, and in the order that the settings demand.
DURATIONS = {
    "SARVEX_PROVIDER_TIMEOUT": "2",
    "SARVEX_STALE_AFTER": "4",
    "SARVEX_DUPLICATE_WAIT": "1",
    "SARVEX_OUTBOX_LEASE": "4",
}
BIN = Path(sys.executable).parent


@dataclass
class CrashStack:
    """Where the stack is reached, and the processes that may be killed."""

    url: str
    stripe: SandboxControl
    web: subprocess.Popen[bytes]
    worker: subprocess.Popen[bytes]
    crash_file: Path

    def arm(self, point: str) -> None:
        """Let the first process that comes to the point die of it."""
        draft = self.crash_file.with_suffix(".draft")
        draft.write_text(point)
        draft.rename(self.crash_file)

    @property
    def is_armed(self) -> bool:
        """Whether nobody has died yet."""
        return self.crash_file.exists()

    def disarm(self) -> None:
        """Let nobody die any more."""
        self.crash_file.unlink(missing_ok=True)

    def kill(self, which: str) -> None:
        """Kill every process that serves or works, with SIGKILL, but not what starts them anew."""
        parent = psutil.Process((self.web if which == "web" else self.worker).pid)
        for child in parent.children(recursive=True):
            is_server = which == "web" and child.ppid() == parent.pid
            if not is_server and "resource_tracker" not in " ".join(child.cmdline()):
                os.kill(child.pid, signal.SIGKILL)

    def wait_until_up(self) -> None:
        """Return when the web server answers again."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            try:
                if requests.get(f"{self.url}/readyz", timeout=2).status_code == 200:
                    return
            except requests.RequestException:
                pass
            time.sleep(0.05)
        raise AssertionError("the web server did not come back")


def _at(env: dict[str, str], shift: float) -> dict[str, str]:
    return {**env, "SARVEX_CLOCK_SHIFT": str(shift)}


@contextmanager
def crash_stack(
    folder: Path,
    *,
    database_url: str,
    stripe: str,
    redis_url: str,
    web_clock: float = 0,
    worker_clock: float = 0,
) -> Iterator[CrashStack]:
    """Run a stack with crash points until the block ends, its clocks wrong by so many seconds."""
    port = free_port()
    url, crash_file = f"http://127.0.0.1:{port}", folder / "armed"
    env = {
        **DURATIONS,
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "STRIPE_API_BASE": stripe,
        "SARVEX_CRASH_FILE": str(crash_file),
        "SARVEX_DB_CONNECTIONS": "6",
    }
    web = [
        str(BIN / "granian"), "--interface", "wsgi", "--host", "127.0.0.1", "--port", str(port),
        "--workers", "2", "--blocking-threads", "32", "--respawn-failed-workers",
        "--respawn-interval", "0.1", "--no-ws", "tests.adversarial.crashing_wsgi:application",
    ]  # fmt: skip
    celery = [str(BIN / "celery"), "-A", "tests.adversarial.crashing_celery"]
    worker = [*celery, "worker", "--concurrency", "2", "--loglevel", "WARNING"]
    beat = [*celery, "beat", "--loglevel", "WARNING", "--schedule", str(folder / "beat")]
    # The web server gives up when one of its processes dies twice within seconds; whoever runs it
    # starts it again, here a shell as elsewhere a supervisor.
    web = ["sh", "-c", 'while :; do "$@"; done', "sh", *web]
    with ExitStack() as stack:
        up = f"{url}/readyz"
        started = stack.enter_context(
            running(web, url=up, log=folder / "web.log", env=_at(env, web_clock))
        )
        late = _at(env, worker_clock)
        working = stack.enter_context(running(worker, url=up, log=folder / "worker.log", env=late))
        stack.enter_context(running(beat, url=up, log=folder / "beat.log", env=env))
        yield CrashStack(url, SandboxControl(stripe), started, working, crash_file)
