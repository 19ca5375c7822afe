"""`python -m sarvex.dev.run`, which is what `make run` calls: everything up, everything down."""

from __future__ import annotations

import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import pytest

from sarvex.dev import endpoints, liveness, servers
from tests.dev.conftest import clear_away
from tests.dev.stacks import RunningStack, stand_in_procfile
from tests.dev.test_servers import ask, ping

Start = Callable[..., RunningStack]


@pytest.fixture
def start(folder: Path) -> Iterator[Start]:
    """Start stacks of stand-in processes that end with the test."""
    procfile = stand_in_procfile(folder)
    started: list[RunningStack] = []

    def one(name: str = "home", *, under: Sequence[str] = (), **environment: str) -> RunningStack:
        stack = RunningStack(folder / name, procfile=procfile, under=under, DEMO="0", **environment)
        started.append(stack)
        return stack

    yield one
    for stack in started:
        if stack.process.poll() is None:
            stack.end()
    for home in {stack.home for stack in started}:
        clear_away(home)


def eventually(holds: Callable[[], object], what: str) -> None:
    """Wait until something holds."""
    deadline = time.monotonic() + 30
    while not holds():
        assert time.monotonic() < deadline, what
        time.sleep(0.02)


class TestRun:
    def test_serves_until_told_to_end_and_leaves_nothing(self, start: Start) -> None:
        stack = start().await_ready()
        known = endpoints.read(stack.home)
        assert known is not None
        assert len(stack.processes()) == 3  # web, worker, and the worker's own child

        assert stack.end(signal.SIGTERM) == 0, stack.printed

        assert stack.processes() == []
        assert not any(map(liveness.lives, (known.postgres_pid, known.valkey_pid)))
        assert endpoints.read(stack.home) is None

    def test_ends_with_0_on_ctrl_c_also_before_it_is_ready(self, start: Start) -> None:
        stack = start()
        stack.await_line("starting PostgreSQL")

        assert stack.end(signal.SIGINT) == 0, stack.printed

        assert stack.processes() == []
        assert endpoints.read(stack.home) is None

    def test_starts_a_crashed_process_again_and_says_so(self, start: Start) -> None:
        stack = start().await_ready()
        before = stack.pid_of("stand_in_worker")

        os.kill(before, signal.SIGKILL)

        line = stack.await_line("worker ended")
        assert line == "sarvex: worker ended (killed by SIGKILL); it starts again in 0.5 s"
        assert stack.await_line("    worker: working")
        eventually(lambda: before not in stack.processes(), "it is gone")
        eventually(lambda: len(stack.processes()) >= 3, "it is back")

    def test_starts_its_servers_again_when_they_die(self, start: Start) -> None:
        stack = start().await_ready()
        known = endpoints.read(stack.home)
        assert known is not None

        os.kill(known.valkey_pid, signal.SIGKILL)
        os.kill(known.postgres_pid, signal.SIGKILL)

        stack.await_line("Valkey ended; starting it again")
        stack.await_line("PostgreSQL ended; starting it again")
        eventually(lambda: endpoints.read(stack.home) != known, "new processes are known")
        assert (ask(stack.home, "select 1"), ping(stack.home)) == (1, True)
        assert endpoints.database_url(stack.home) == known.database_url

    def test_recovers_after_it_was_killed(self, start: Start) -> None:
        first = start().await_ready()
        first.end(signal.SIGKILL)

        second = start().await_ready()

        assert len(second.processes()) == 3
        assert second.end() == 0
        assert second.processes() == []

    def test_ends_when_the_process_that_started_it_is_killed(self, start: Start) -> None:
        program = "import subprocess, sys; subprocess.run(sys.argv[1:])"
        stack = start(under=(sys.executable, "-c", program)).await_ready()

        stack.end(signal.SIGKILL)

        eventually(lambda: stack.processes() == [], "every process has ended")
        eventually(lambda: endpoints.read(stack.home) is None, "the servers have ended")

    def test_refuses_a_home_that_is_served(self, start: Start) -> None:
        first = start().await_ready()

        second = start()

        assert second.wait() == 1
        assert len(second.lines) == 1
        assert "is served by another `make run`" in second.printed
        assert first.process.poll() is None

    def test_refuses_a_port_that_is_taken(self, start: Start) -> None:
        with socket.create_server(("127.0.0.1", 0)) as taken:
            port = taken.getsockname()[1]

            stack = start(PORT=str(port))

            assert stack.wait() == 1
            assert f"sarvex: port {port} is in use: set PORT to another one" in stack.lines
            assert endpoints.read(stack.home) is None

    def test_lives_beside_another_stack(self, start: Start) -> None:
        first, second = start("one"), start("two")
        first.await_ready()
        second.await_ready()

        assert first.end() == 0
        assert len(second.processes()) == 3
        assert (ask(second.home, "select 1"), ping(second.home)) == (1, True)

    def test_refuses_the_port_of_another_stack(self, start: Start) -> None:
        first = start("one").await_ready()

        second = start("two", PORT=first.port)

        assert second.wait() == 1
        assert f"port {first.port} is in use" in second.printed

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("PORT", "eighty"),
            ("SARVEX_STALE_AFTER", "5"),
            ("SARVEX_DUPLICATE_WAIT", "soon"),
            ("DATABASE_URL", "mysql://localhost/sarvex"),
        ],
    )
    def test_names_the_setting_that_is_wrong(self, start: Start, name: str, value: str) -> None:
        stack = start(**{name: value})

        assert stack.wait() == 1
        assert name in stack.lines[-1]
        assert "Traceback" not in stack.printed
        assert len(stack.lines) <= 2

    def test_gives_up_when_a_process_does_not_stay_up(self, start: Start, folder: Path) -> None:
        (folder / "stand_in_worker.py").write_text("raise SystemExit('no broker')")
        (folder / "stand_in_web.py").write_text("import time; time.sleep(600)")

        stack = start()

        assert stack.wait() == 1
        assert "    worker: no broker" in stack.lines
        assert stack.lines[-1] == "sarvex: a process does not stay up: see the lines above"
        assert stack.processes() == []

    def test_uses_the_servers_that_the_environment_names(self, start: Start, home: Path) -> None:
        found = servers.start(home, kept=True)
        stack = start(
            "stack", DATABASE_URL=found.database_url, REDIS_URL=found.redis_url
        ).await_ready()

        assert endpoints.read(stack.home) is None
        assert stack.end() == 0
        assert ask(home, "select count(*) from django_migrations") != 0

    def test_leaves_servers_running_that_somebody_wanted_to_stay(
        self, start: Start, folder: Path
    ) -> None:
        before = servers.start(folder / "home", kept=True)
        stack = start("home").await_ready()

        assert stack.end() == 0
        assert endpoints.read(stack.home) == before
        assert ask(stack.home, "select 1") == 1
