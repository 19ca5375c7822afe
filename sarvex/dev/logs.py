"""The log files of a home: appended to by processes, kept short, shown when something crashes."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

LIMIT = 10 * 1024 * 1024  # bytes; what is beyond is kept once, as NAME.log.1


def opened(log: Path) -> int:
    """Open a log for appending; a file, so that its writer is never blocked by a reader."""
    log.parent.mkdir(parents=True, exist_ok=True)
    trim(log)
    return os.open(log, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)


def trim(log: Path) -> None:
    """Set a long log aside, also while it is written: appending goes on at the new end."""
    if log.exists() and log.stat().st_size > LIMIT:
        shutil.copyfile(log, log.with_name(f"{log.name}.1"))
        os.truncate(log, 0)


def last_lines(log: Path, *, since: int = 0, count: int = 15) -> list[str]:
    """Return the last lines written after the offset."""
    try:
        with log.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            # 500 bytes a line is generous; a trimmed log starts again at zero.
            file.seek(max(since if since <= size else 0, size - count * 500))
            return file.read().decode("utf-8", "replace").splitlines()[-count:]
    except OSError:
        return []
