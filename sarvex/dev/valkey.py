"""One embedded Valkey, the Redis-compatible server: replay cache and Celery's broker."""

from __future__ import annotations

import secrets
import signal
import socket
import time
from dataclasses import dataclass
from pathlib import Path

from sarvex.dev import liveness, spawning
from sarvex.dev.places import Places
from sarvex.dev.ports import port_for
from sarvex.dev.programs import valkey_program
from sarvex.dev.refusals import Refused

START_PATIENCE = 20.0


@dataclass(frozen=True)
class RunningValkey:
    """A server that lives, its port and its password."""

    pid: int
    port: int
    password: str


def running(places: Places) -> RunningValkey | None:
    """Return the server that works in this folder, if one lives and answers with our password."""
    settings = _settings(places)
    if not settings:
        return None
    for pid in liveness.workers_of(places.valkey_data):
        server = RunningValkey(pid, int(settings["port"]), settings["requirepass"])
        if _answers(server):
            return server
    return None


def start(places: Places, *, tethered: bool) -> RunningValkey:
    """Start the server and wait until it answers; nothing in it outlives it, nor need it.

    Raises:
        Refused: it does not start.
    """
    if found := running(places):
        return found
    stop(places)  # one that lives without answering
    places.valkey_data.mkdir(mode=0o700, exist_ok=True)
    places.account.own(places.valkey_data)
    program = valkey_program(places)
    deadline = time.monotonic() + START_PATIENCE
    while time.monotonic() < deadline:
        port = port_for(places.home, "valkey")
        # The same password after a restart: web and worker come back to it by themselves.
        password = _settings(places).get("requirepass") or secrets.token_urlsafe(24)
        child = spawning.start(
            [program, _configuration(places, port, password)],
            places.account,
            _log(places),
            dies_with_us=signal.SIGTERM if tethered else None,
        )
        server = RunningValkey(child.pid, port, password)
        while child.poll() is None and time.monotonic() < deadline:
            if _answers(server):
                return server
            time.sleep(0.02)
        time.sleep(0.1)  # it ended, most likely since another took the port: try the next one
    raise Refused(f"Valkey does not start: see {_log(places)}")


def stop(places: Places) -> None:
    """End every server that works in this folder."""
    for pid in liveness.workers_of(places.valkey_data):
        liveness.end(pid, (signal.SIGTERM, 5.0), (signal.SIGKILL, 5.0))


def url(server: RunningValkey) -> str:
    """Return the URL that redis-py and Celery both take."""
    return f"redis://:{server.password}@127.0.0.1:{server.port}/0"


def _configuration(places: Places, port: int, password: str) -> Path:
    """Write the settings into a file: on a command line everybody could read the password."""
    path = places.valkey_data / "valkey.conf"
    settings = {
        "dir": str(places.valkey_data),
        "bind": "127.0.0.1",
        "port": str(port),
        "requirepass": password,
        "databases": "64",  # one for each parallel test process
        "maxmemory-policy": "noeviction",  # it is the broker: a full one must say so
        "save": '""',
        "appendonly": "no",
        "daemonize": "no",
    }
    path.unlink(missing_ok=True)
    path.touch(mode=0o600)
    lines = (f"{name} {value}\n" for name, value in settings.items())
    path.write_text("".join(lines), encoding="utf-8")
    places.account.own(path)
    return path


def _settings(places: Places) -> dict[str, str]:
    """Read back what the last start wrote."""
    try:
        lines = (places.valkey_data / "valkey.conf").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return dict(line.split(" ", 1) for line in lines)


def _answers(server: RunningValkey) -> bool:
    """Say whether our own server answers PING; another home's would refuse our password."""
    try:
        with socket.create_connection(("127.0.0.1", server.port), timeout=2.0) as connection:
            connection.sendall(f"AUTH {server.password}\r\nPING\r\n".encode("ascii"))
            with connection.makefile("rb") as replies:
                return replies.readline() == b"+OK\r\n" and replies.readline() == b"+PONG\r\n"
    except OSError:
        return False


def _log(places: Places) -> Path:
    return places.logs / "valkey.log"
