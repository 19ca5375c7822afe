"""Real server processes for tests: the sandbox Stripe, and Sarvex's own web server."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import requests

CHECKOUT = Path(__file__).resolve().parent.parent
PATIENCE = 30  # seconds that a process may take to answer


def free_port() -> int:
    """Return a port that nobody listens on at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
        return port


def wait_until_up(url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when the URL answers 200; fail with the log if the process ends or takes too long."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if requests.get(url, timeout=2).status_code == 200:
                return
        except requests.RequestException:
            pass
        time.sleep(0.05)
    raise AssertionError(f"{url} did not come up:\n{log.read_text(errors='replace')[-4000:]}")


@contextmanager
def running(
    command: list[str], *, url: str, log: Path, env: dict[str, str] | None = None
) -> Iterator[subprocess.Popen[bytes]]:
    """Run a server in a process group of its own until the block ends."""
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=CHECKOUT,
            env={**os.environ, **(env or {})},
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    try:
        wait_until_up(url, process, log)
        yield process
    finally:
        end(process)


def end(process: subprocess.Popen[bytes]) -> None:
    """End a server and everything that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, number)
        except ProcessLookupError:
            break
        try:
            process.wait(10)
            break
        except subprocess.TimeoutExpired:
            continue
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(10)


@contextmanager
def sandbox_process(folder: Path) -> Iterator[str]:
    """Run the sandbox Stripe and yield its base URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [sys.executable, "manage.py", "stripe_sandbox", "--port", str(port)]
    with running(command, url=f"{url}/healthz", log=folder / "sandbox.log"):
        yield url


def database_url_of(name: str) -> str:
    """Return DATABASE_URL with another database's name."""
    return urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))


@contextmanager
def web_process(
    folder: Path, *, database: str, stripe: str, workers: int = 2, **env: str
) -> Iterator[str]:
    """Run Sarvex's web server, as `make run` does, against one database; yield its base URL."""
    port = free_port()
    url = f"http://127.0.0.1:{port}"
    command = [
        str(Path(sys.executable).parent / "granian"),
        "--interface",
        "wsgi",
        "--host",
        "127.0.0.1",
        "--port",
        str(port),
        "--workers",
        str(workers),
        "--blocking-threads",
        env.get("SARVEX_WEB_THREADS", "64"),
        "--respawn-failed-workers",
        "--no-ws",
        "sarvex.wsgi:application",
    ]
    surroundings = {"DATABASE_URL": database_url_of(database), "STRIPE_API_BASE": stripe, **env}
    with running(command, url=f"{url}/readyz", log=folder / f"web-{port}.log", env=surroundings):
        yield url
