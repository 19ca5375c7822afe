"""What `make run` does once `.venv` is there: the whole stack on this machine, until Ctrl-C."""

from __future__ import annotations

import argparse
import fcntl
import http.client
import os
import signal
import socket
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import environ

from sarvex.dev import demo, endpoints, liveness, ports, servers
from sarvex.dev.console import say, show
from sarvex.dev.places import places_of
from sarvex.dev.procfile import commands_of
from sarvex.dev.refusals import Refused
from sarvex.dev.supervisor import MARK, Supervisor, end_marked
from sarvex.dev.tether import follow_parent

READY_PATIENCE = 90.0  # seconds; a cold first start on a slow disk
HOPELESS = 4  # crashes in a row before the stack was ever ready


def main() -> None:
    """Run the stack; exit 0 when it was told to end, 1 with one line when it cannot go on."""
    parser = argparse.ArgumentParser(prog="python -m sarvex.dev.run", description=__doc__)
    parser.add_argument("--procfile", type=Path, default=servers.CHECKOUT / "Procfile")
    arguments = parser.parse_args()
    ending, impatient = threading.Event(), threading.Event()
    _listen_for_signals(ending, impatient)
    follow_parent(signal.SIGTERM)
    environ.Env.read_env(servers.CHECKOUT / ".env")
    home = servers.default_home()
    try:
        with _only_stack_of(home):
            Stack(home, _port(), arguments.procfile, ending, impatient).run()
    except Refused as refusal:
        sys.exit(f"sarvex: {refusal}")


class Stack:
    """One home's servers and processes, from nothing to serving and back to nothing."""

    def __init__(
        self,
        home: Path,
        port: int,
        procfile: Path,
        ending: threading.Event,
        impatient: threading.Event,
    ) -> None:
        self.home, self.port, self.procfile = home, port, procfile
        self.ending, self.impatient = ending, impatient
        self.reservation: socket.socket | None = None
        self.address = f"http://127.0.0.1:{port}"
        self.wants_database = not os.environ.get("DATABASE_URL")
        self.wants_redis = not os.environ.get("REDIS_URL")
        self.wants_sandbox = not os.environ.get("STRIPE_API_BASE")
        self.wants_demo = os.environ.get("DEMO", "").lower() not in {"0", "no", "false", "off"}
        self.environment = self._environment()
        checkout = servers.CHECKOUT
        self.supervisor = Supervisor(self.environment, checkout, home / "logs", ending)

    def run(self) -> None:
        """Bring the stack up, serve, and end everything that was started."""
        try:
            steps = (self._check, self._clear, self._start_servers, self._migrate, self._start)
            for step in (*steps, self._demonstrate, self._serve):
                if not self.ending.is_set():
                    step()
        finally:
            self._end()

    def _environment(self) -> dict[str, str]:
        """What every process is given; an address that was set from outside stands."""
        given = dict(os.environ)
        sandbox_port = str(ports.port_for(self.home, "sandbox"))
        path = f"{Path(sys.executable).parent}{os.pathsep}{given.get('PATH', os.defpath)}"
        chosen = {
            "SARVEX_HOME": str(self.home),
            "PORT": str(self.port),
            "SANDBOX_PORT": sandbox_port,
            "SARVEX_WEBHOOK_ALLOW_PRIVATE": "1",
            "SARVEX_INSECURE_HTTP": "1",
            "PYTHONUNBUFFERED": "1",
            "PATH": path,
            MARK: str(self.home),
        }
        if self.wants_sandbox:
            chosen["STRIPE_API_BASE"] = f"http://127.0.0.1:{sandbox_port}"
        return given | chosen

    def _check(self) -> None:
        say("checking the settings")
        manage = [sys.executable, "manage.py", "check"]
        self.supervisor.ask(manage, purpose="the settings' check")

    def _clear(self) -> None:
        """End what a supervisor that was killed left running; its lock is ours now."""
        if left := end_marked(str(self.home)):
            say(f"ended {len(left)} processes of an earlier run that was killed")
        self.reservation = ports.reserve(self.port)

    def _start_servers(self) -> None:
        if not self.wants_database and not self.wants_redis:
            return
        names = {"PostgreSQL": self.wants_database, "Valkey": self.wants_redis}
        say(f"starting {' and '.join(name for name, wanted in names.items() if wanted)}")
        if line := servers.where_the_data_lies(places_of(self.home)):
            say(line)
        found = servers.start(
            self.home, kept=False, database=self.wants_database, redis=self.wants_redis
        )
        if self.wants_database:
            self.environment["DATABASE_URL"] = found.database_url
        if self.wants_redis:
            self.environment["REDIS_URL"] = found.redis_url

    def _migrate(self) -> None:
        say("applying migrations")
        manage = [sys.executable, "manage.py", "migrate", "--no-input"]
        self.supervisor.ask(manage, purpose="migrating")

    def _start(self) -> None:
        commands = commands_of(self.procfile, self.environment)
        if not self.wants_sandbox:
            commands.pop("sandbox", None)
        elif self.wants_demo and "sandbox" in commands:
            made = demo.prepared(self.home, self._database())
            events = f"{self.address}/handlers/stripe/{demo.MERCHANT}/events"
            commands["sandbox"] += ["--webhook-url", events]
            commands["sandbox"] += ["--webhook-secret", made.stripe_webhook_secret]
        say(f"starting {', '.join(commands)}")
        self.supervisor.start(commands)
        if "sandbox" in commands:
            self._await("the sandbox", int(self.environment["SANDBOX_PORT"]), "/healthz")
        self._await("the service", self.port, "/readyz")

    def _demonstrate(self) -> None:
        """Seed the demonstration, send the fifty requests and show what came of them."""
        if not self.wants_demo:
            return
        made = demo.prepared(self.home, self._database())
        say("the demo merchant is there" if made.complete else "seeding the demo merchant")
        demo.seed(made, self.home, self.supervisor)
        if self.ending.is_set():
            return
        if not self.wants_sandbox:
            say("STRIPE_API_BASE is set: no demonstration, it would charge there without a key")
        else:
            code = self.supervisor.run([sys.executable, "-m", "sarvex.dev.burst"])
            if code != 0 and not self.ending.is_set():
                raise Refused("the demonstration failed: see the lines above")
        demo.tell(made, self.address)

    def _database(self) -> str:
        """What names the database whatever its port is today."""
        return "embedded" if self.wants_database else self.environment["DATABASE_URL"]

    def _serve(self) -> None:
        """Say ready, then keep everything running until told to end."""
        show(f"ready {self.address}")
        while not self.ending.wait(0.5):
            self.supervisor.tend()
            self._tend_servers()

    def _tend_servers(self) -> None:
        """Start an embedded server again that died; web and worker come back to it."""
        known = endpoints.read(self.home)
        pids = {"PostgreSQL": self.wants_database and known and known.postgres_pid}
        pids["Valkey"] = self.wants_redis and known and known.valkey_pid
        for name, pid in pids.items():
            if pid and not liveness.lives(pid):
                say(f"{name} ended; starting it again")
                servers.start(
                    self.home, kept=False, database=self.wants_database, redis=self.wants_redis
                )

    def _await(self, what: str, port: int, path: str) -> None:
        """Wait until an address answers 200, tending the processes meanwhile."""
        deadline = time.monotonic() + READY_PATIENCE
        while not self.ending.wait(0.05) and not _answers(port, path):
            self.supervisor.tend()
            if self.supervisor.crashes() >= HOPELESS:
                raise Refused("a process does not stay up: see the lines above")
            if time.monotonic() > deadline:
                raise Refused(
                    f"{what} is not ready after {READY_PATIENCE:g} s: see {self.home}/logs"
                )

    def _end(self) -> None:
        """End the processes, then the servers, unless somebody wanted those to stay."""
        if self.supervisor.processes:
            say("stopping")
        self.supervisor.stop(self.impatient)
        known = endpoints.read(self.home)
        if known and not known.kept and (self.wants_database or self.wants_redis):
            servers.stop(self.home)
        if self.reservation is not None:
            self.reservation.close()


def _listen_for_signals(ending: threading.Event, impatient: threading.Event) -> None:
    """The first signal asks everything to end; the second one does not wait for it."""

    def told(number: int, frame: object) -> None:
        if ending.is_set():
            impatient.set()
        ending.set()

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, told)


@contextmanager
def _only_stack_of(home: Path) -> Iterator[None]:
    """Hold the home while we run; the system gives it back when we die, however we die."""
    places_of(home)
    descriptor = os.open(home / "run.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise Refused(
                f"SARVEX_HOME {home} is served by another `make run`: stop that one,"
                " or set SARVEX_HOME and PORT to have a second stack"
            ) from None
        yield
    finally:
        os.close(descriptor)


def _port() -> int:
    text = os.environ.get("PORT") or "8000"
    if not text.isdecimal() or not 1 <= int(text) <= 65535:
        raise Refused(f"PORT={text!r} is not a whole number from 1 to 65535")
    return int(text)


def _answers(port: int, path: str) -> bool:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except (OSError, http.client.HTTPException):
        return False
    finally:
        connection.close()


if __name__ == "__main__":
    main()
