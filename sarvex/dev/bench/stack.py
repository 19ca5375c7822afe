"""The benchmark's own stack: servers and processes in a home and on ports of its own."""

from __future__ import annotations

import http.client
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg

from sarvex.dev import ports, servers
from sarvex.dev.bench import usage
from sarvex.dev.places import places_of
from sarvex.dev.procfile import commands_of
from sarvex.dev.refusals import Refused
from sarvex.dev.supervisor import MARK, Supervisor

PROCFILE = servers.CHECKOUT / "Procfile"
DATABASE = "sarvex_bench"
PATIENCE = 60.0  # seconds for a process to answer


@dataclass
class Stack:
    """PostgreSQL with an empty, migrated database, Valkey, and whatever is started beside them."""

    home: Path
    environment: dict[str, str]
    database_url: str
    redis_url: str
    postgres_pid: int
    supervisors: list[Supervisor] = field(default_factory=list)

    def manage(self, *words: str) -> str:
        """Run a command of `manage.py` and return what it printed."""
        supervisor = self._supervisor("setup", self.environment)
        return supervisor.ask([sys.executable, "manage.py", *words], purpose=words[0])

    @contextmanager
    def running(
        self, name: str, line: str, *, replaced: Mapping[str, str] | None = None, **given: str
    ) -> Iterator[Server]:
        """Run a line of the Procfile until the block ends, some of its words' values replaced."""
        port = ports.port_for(self.home, name)
        environment = {**self.environment, **given, "PORT": str(port), "SANDBOX_PORT": str(port)}
        command = commands_of(PROCFILE, environment)[line]
        for option, value in (replaced or {}).items():
            command[command.index(option) + 1] = value
        supervisor = self._supervisor(name, environment)
        try:
            supervisor.start({name: command})
            child = supervisor.processes[0].child
            if child is None:
                raise Refused(f"{name} did not start")
            yield Server(port, child.pid)
        finally:
            supervisor.stop(threading.Event())

    def _supervisor(self, name: str, environment: dict[str, str]) -> Supervisor:
        marked = {**environment, MARK: f"{self.home}#{name}"}
        return Supervisor(marked, servers.CHECKOUT, self.home / "logs", threading.Event())


@dataclass(frozen=True)
class Server:
    """A process that was started, and the port that it was given."""

    port: int
    pid: int

    def wait(self, path: str) -> None:
        """Return when it answers 200."""
        deadline = time.monotonic() + PATIENCE
        while not _answers(self.port, path):
            if time.monotonic() > deadline:
                raise Refused(f"nothing answers 200 on port {self.port} at {path}")
            time.sleep(0.1)

    def cpu(self) -> float:
        """CPU seconds that the process and its children have used."""
        return usage.cpu_seconds(usage.family(self.pid))

    def memory(self) -> int:
        """Bytes that the process and its children hold."""
        return usage.resident_bytes(usage.family(self.pid))


@contextmanager
def stack(home: Path) -> Iterator[Stack]:
    """Start servers in this home, make a database anew, migrate it, and stop the servers again."""
    for log in (places_of(home).logs).glob("*.log"):
        log.unlink()
    found = servers.start(home, kept=False)
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', os.defpath)}"
    try:
        with psycopg.connect(found.database_url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {DATABASE} WITH (FORCE)")
            connection.execute(f"CREATE DATABASE {DATABASE}")
        address = urlunsplit(urlsplit(found.database_url)._replace(path=f"/{DATABASE}"))
        environment = {
            **os.environ,
            "SARVEX_HOME": str(home),
            "DATABASE_URL": address,
            "REDIS_URL": found.redis_url,
            "SARVEX_INSECURE_HTTP": "1",
            "LOG_LEVEL": "INFO",
            "PATH": path,
        }
        made = Stack(home, environment, address, found.redis_url, found.postgres_pid or 0)
        made.manage("migrate", "--no-input")
        yield made
    finally:
        servers.stop(home)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()
