"""One embedded PostgreSQL: made, started, asked and stopped under the lock of its home."""

from __future__ import annotations

import json
import secrets
import shutil
import signal
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

import psycopg
from psycopg import sql

from sarvex.dev import liveness, spawning
from sarvex.dev.places import Places
from sarvex.dev.ports import port_for
from sarvex.dev.programs import postgres_programs
from sarvex.dev.refusals import Refused

START_PATIENCE = 60.0  # a crash recovery with fsync on a slow disk takes its time
OWNER = "postgres"  # the superuser, who only makes the role and the database below
ROLE = DATABASE = "sarvex"

SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "max_connections": "200",  # web threads, worker, tests on two cores and people with psql
    "shared_buffers": "128MB",
    "fsync": "on",  # said aloud: an answer that was given must survive the power cut
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_line_prefix": "%m [%p] ",
    "log_checkpoints": "off",
    "log_min_duration_statement": "500ms",  # on one machine nothing of ours takes that long
}


@dataclass(frozen=True)
class RunningPostgres:
    """A postmaster that lives, and its port."""

    pid: int
    port: int


def running(places: Places) -> RunningPostgres | None:
    """Return the postmaster of this data folder, if one lives; a pid file alone proves nothing."""
    lines = _pid_file(places)
    if len(lines) < 4 or not lines[0].isdigit() or not lines[3].isdigit():
        return None
    pid, port = int(lines[0]), int(lines[3])
    return RunningPostgres(pid, port) if liveness.works_in(pid, places.postgres_data) else None


def start(places: Places, *, tethered: bool) -> RunningPostgres:
    """Start the server of these places, made first if need be, and wait until it answers.

    Raises:
        Refused: it does not start; the line carries PostgreSQL's own reason.
    """
    programs = postgres_programs(places)
    if not places.postgres_data.exists():
        _initialise(places, programs)
    found = running(places) or _start_postmaster(places, programs, tethered=tethered)
    deadline = time.monotonic() + START_PATIENCE
    while not _is_ready(places, programs, found):
        if time.monotonic() > deadline or not liveness.lives(found.pid):
            raise Refused(f"PostgreSQL does not answer: see {_log(places)}")
        time.sleep(0.02)
    _make_role_and_database(places, found)
    return found


def stop(places: Places) -> None:
    """Stop the server in its fast way: sessions are ended, what was committed is on disk."""
    found = running(places)
    if found is None:
        return
    liveness.end(
        found.pid,
        (signal.SIGINT, 30.0),  # fast shutdown
        (signal.SIGQUIT, 5.0),  # immediate: recovery at the next start
        (signal.SIGKILL, 5.0),
    )


def url(places: Places, server: RunningPostgres) -> str:
    """Return the URL of the application's role on its database."""
    password = quote(_passwords(places)[ROLE], safe="")
    return f"postgresql://{ROLE}:{password}@127.0.0.1:{server.port}/{DATABASE}"


def _initialise(places: Places, programs: Path) -> None:
    """Make the data folder beside its place and move it there whole: half of one is never found."""
    for left in places.root.glob("postgres.new-*"):
        shutil.rmtree(left)  # of a start that was interrupted; we hold the lock
    draft = places.root / f"postgres.new-{secrets.token_hex(4)}"
    draft.mkdir(mode=0o700)
    passwords = {OWNER: secrets.token_urlsafe(24), ROLE: secrets.token_urlsafe(24)}
    password_file = draft.with_suffix(".password")
    password_file.touch(mode=0o600)
    password_file.write_text(passwords[OWNER], encoding="ascii")
    for path in (draft, password_file):
        places.account.own(path)
    command: list[str | Path] = [
        programs / "initdb",
        f"--pgdata={draft}",
        f"--username={OWNER}",
        f"--pwfile={password_file}",
        "--auth=scram-sha-256",
        "--encoding=UTF8",
        "--locale=C",
        "--locale-provider=builtin",
        "--builtin-locale=C.UTF-8",
    ]
    try:
        spawning.run(command, places.account, _log(places), failure="initdb failed")
    finally:
        password_file.unlink()
    kept = draft / "sarvex-passwords.json"
    kept.touch(mode=0o600)
    kept.write_text(json.dumps(passwords), encoding="ascii")
    draft.rename(places.postgres_data)


def _start_postmaster(places: Places, programs: Path, *, tethered: bool) -> RunningPostgres:
    """Start a postmaster, trying again while the end of the last one is not yet complete."""
    deadline = time.monotonic() + START_PATIENCE
    while True:
        _clear_stale_pid_file(places, deadline)
        port = port_for(places.home, "postgres")
        settings = SETTINGS | {"port": str(port), "unix_socket_directories": str(places.sockets)}
        command: list[str | Path] = [programs / "postgres", "-D", places.postgres_data]
        command += [f"--{name}={value}" for name, value in settings.items()]
        said_before = _size(_log(places))
        child = spawning.start(
            command,
            places.account,
            _log(places),
            dies_with_us=signal.SIGINT if tethered else None,
        )
        server = RunningPostgres(child.pid, port)
        while child.poll() is None:
            if _is_ready(places, programs, server) and running(places) == server:
                return server
            if time.monotonic() > deadline:
                raise Refused(f"PostgreSQL does not become ready: see {_log(places)}")
            time.sleep(0.02)
        said = _log(places).read_bytes()[said_before:].decode("utf-8", "replace")
        if not _may_pass(said) or time.monotonic() > deadline:
            raise Refused(f"PostgreSQL does not start: {_reason(said)} (see {_log(places)})")
        time.sleep(0.2)


def _may_pass(said: str) -> bool:
    """Whether the reason given is one that time removes: a predecessor's remains, a lost port."""
    passing = ("lock file", "is still in use", "could not bind", "could not create any TCP/IP")
    return any(words in said for words in passing)


def _clear_stale_pid_file(places: Places, deadline: float) -> None:
    """Remove a pid file whose process id now belongs to somebody else, or to the dead.

    PostgreSQL itself believes any process with that id, as after a reboot. The file may only go
    when nothing works in the data folder any more: backends of a killed postmaster still do.
    """
    if not _pid_file(places):
        return
    while left := liveness.workers_of(places.postgres_data):
        if time.monotonic() > deadline:
            raise Refused(f"processes {left} of an earlier PostgreSQL do not end: end them by hand")
        time.sleep(0.1)
    (places.postgres_data / "postmaster.pid").unlink(missing_ok=True)


def _pid_file(places: Places) -> list[str]:
    try:
        return (places.postgres_data / "postmaster.pid").read_text("utf-8").splitlines()
    except FileNotFoundError:
        return []


def _is_ready(places: Places, programs: Path, server: RunningPostgres) -> bool:
    """Ask over the socket in our own folder, which no other home's server can answer."""
    answer = subprocess.run(
        [
            programs / "pg_isready",
            *("--quiet", "--timeout=2", f"--host={places.sockets}", f"--port={server.port}"),
        ],
        env=spawning.environment(),
        stdin=subprocess.DEVNULL,
        check=False,
        **places.account.spawn_arguments(),
    )
    return answer.returncode == 0


def _make_role_and_database(places: Places, server: RunningPostgres) -> None:
    """Have the application's role, which is no superuser, and its database."""
    passwords = _passwords(places)
    with psycopg.connect(
        host=str(places.sockets),
        port=server.port,
        user=OWNER,
        password=passwords[OWNER],
        dbname=OWNER,
        autocommit=True,
        connect_timeout=10,
    ) as connection:
        if not connection.execute("select 1 from pg_roles where rolname = %s", [ROLE]).fetchone():
            # CREATEDB: the tests make their own databases.
            statement = sql.SQL("create role {} login createdb password {}")
            connection.execute(statement.format(sql.Identifier(ROLE), passwords[ROLE]))
        known = "select 1 from pg_database where datname = %s"
        if not connection.execute(known, [DATABASE]).fetchone():
            statement = sql.SQL("create database {} owner {}")
            connection.execute(statement.format(sql.Identifier(DATABASE), sql.Identifier(ROLE)))


def _passwords(places: Places) -> dict[str, str]:
    kept = places.postgres_data / "sarvex-passwords.json"
    passwords: dict[str, str] = json.loads(kept.read_text("ascii"))
    return passwords


def _log(places: Places) -> Path:
    return places.logs / "postgres.log"


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _reason(said: str) -> str:
    lines = [line for line in said.splitlines() if "FATAL" in line or "PANIC" in line]
    return (lines or said.splitlines() or ["no reason given"])[-1].partition("] ")[2] or said[-200:]
