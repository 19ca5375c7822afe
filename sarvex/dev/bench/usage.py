"""What processes use, as Linux counts it; nothing elsewhere."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

_PROC = Path("/proc")
_TICK = os.sysconf("SC_CLK_TCK")


def family(pid: int) -> list[int]:
    """Return a process and all that it started, directly or not."""
    parents: dict[int, list[int]] = {}
    for folder in _PROC.glob("[0-9]*"):
        fields = _stat(int(folder.name))
        if fields:
            parents.setdefault(int(fields[1]), []).append(int(folder.name))
    found, waiting = [], [pid]
    while waiting:
        one = waiting.pop()
        found.append(one)
        waiting += parents.get(one, [])
    return found


def cpu_seconds(pids: Iterable[int]) -> float:
    """Return the CPU time that processes have used, without that of their ended children."""
    used = [_stat(pid) for pid in pids]
    return sum((int(fields[11]) + int(fields[12])) / _TICK for fields in used if fields)


def resident_bytes(pids: Iterable[int]) -> int:
    """Return the memory that processes hold, pages that they share counted for each."""
    pages = 0
    for pid in pids:
        fields = _stat(pid)
        pages += int(fields[21]) if fields else 0
    return pages * os.sysconf("SC_PAGE_SIZE")


def _stat(pid: int) -> list[str]:
    """Return the fields of `/proc/PID/stat` after the program's name: state, parent, …"""
    try:
        text = (_PROC / str(pid) / "stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()
