"""Whether a process lives and whose folder it works in; a process id alone proves neither."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

PROC = Path("/proc")
HAS_PROC = (PROC / "self" / "stat").exists()  # Linux; macOS asks ps instead


def lives(pid: int) -> bool:
    """Say whether the process runs; one that is dead and not yet reaped does not."""
    if HAS_PROC:
        try:
            state = (PROC / str(pid) / "stat").read_text("utf-8", "replace").rpartition(")")[2]
        except OSError:
            return False
        return state.split()[0] not in {"Z", "X"}
    state = _ps("-o", "stat=", "-p", str(pid)).strip()
    return bool(state) and not state.startswith("Z")


def works_in(pid: int, folder: Path) -> bool:
    """Say whether the living process has `folder` as its own: working folder, or command line."""
    if not lives(pid):
        return False
    if not HAS_PROC:
        return str(folder) in _ps("-o", "command=", "-p", str(pid))
    try:
        return (PROC / str(pid) / "cwd").readlink() == folder.resolve()
    except OSError:
        return False


def workers_of(folder: Path) -> list[int]:
    """List the living processes that work in `folder`."""
    return [pid for pid in _all() if works_in(pid, folder)]


def marked(mark: str) -> list[int]:
    """List the living processes that were started with `mark` (NAME=value) in their environment."""
    others = (pid for pid in _all() if pid != os.getpid())
    return [pid for pid in others if _has_mark(pid, mark) and lives(pid)]


def _all() -> list[int]:
    if HAS_PROC:
        return [int(entry.name) for entry in PROC.iterdir() if entry.name.isdigit()]
    return [int(word) for word in _ps("-axo", "pid=").split()]


def _has_mark(pid: int, mark: str) -> bool:
    if not HAS_PROC:
        return mark in _ps("-E", "-ww", "-o", "command=", "-p", str(pid)).split()
    try:
        return os.fsencode(mark) in (PROC / str(pid) / "environ").read_bytes().split(b"\0")
    except OSError:
        return False


def end(pid: int, *signals: tuple[signal.Signals, float]) -> bool:
    """Send each signal in turn until the process is gone; say whether it is.

    Each signal comes with the seconds that the process has before the next one follows.
    """
    for number, patience in signals:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            _reap(pid)
            if not lives(pid):
                return True
            time.sleep(0.02)
    return not lives(pid)


def _reap(pid: int) -> None:
    """Collect a dead child of ours; somebody else's is left to its parent."""
    with contextlib.suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def _ps(*arguments: str) -> str:
    return subprocess.run(["ps", *arguments], capture_output=True, text=True, check=False).stdout
