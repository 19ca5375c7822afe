"""Starting the servers' programs: as their account, output into a file, nothing inherited."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Sequence
from pathlib import Path

from sarvex.dev import logs
from sarvex.dev.account import Account
from sarvex.dev.refusals import Refused
from sarvex.dev.tether import tethered

# Ours until they end: a child that nobody holds is reported as leaked.
_children: list[subprocess.Popen[bytes]] = []


def environment() -> dict[str, str]:
    """What the servers may know: no PGPORT or PGDATA of the caller turns them astray."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def start(
    command: Sequence[str | Path],
    account: Account,
    log: Path,
    *,
    dies_with_us: signal.Signals | None,
) -> subprocess.Popen[bytes]:
    """Start a server in its own session, so that Ctrl-C at the terminal is not meant for it."""
    output = logs.opened(log)
    try:
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment(),
            start_new_session=True,
            preexec_fn=tethered(dies_with_us) if dies_with_us else None,
            **account.spawn_arguments(),
        )
    finally:
        os.close(output)
    _children[:] = [held for held in _children if held.poll() is None]
    _children.append(child)
    return child


def run(command: Sequence[str | Path], account: Account, log: Path, *, failure: str) -> None:
    """Run a program to its end.

    Raises:
        Refused: it failed; the line has its last words.
    """
    result = subprocess.run(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=environment(),
        text=True,
        check=False,
        start_new_session=True,
        **account.spawn_arguments(),
    )
    output = logs.opened(log)
    with os.fdopen(output, "w", encoding="utf-8") as file:
        file.write(result.stdout)
    if result.returncode != 0:
        raise Refused(f"{failure}: {(result.stdout.splitlines() or ['no output'])[-1]} (see {log})")


def forget_ended() -> None:
    """Collect our servers that have ended."""
    for child in _children:
        child.poll()
    _children[:] = [held for held in _children if held.returncode is None]
