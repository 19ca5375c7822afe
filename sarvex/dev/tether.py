"""Children that do not outlive the process that started them, even when it is killed."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Callable

_PR_SET_PDEATHSIG = 1  # from <linux/prctl.h>
_libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def tethered(number: signal.Signals) -> Callable[[], None]:
    """Return what a child calls before it becomes its program, so that it dies with us.

    Linux only; elsewhere the next start finds and ends what was left. To be called in the main
    thread: the kernel speaks of the thread that forked, not of its process.
    """
    parent = os.getpid()

    def in_child() -> None:
        if _libc is not None:
            _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
            if os.getppid() != parent:  # it died before the kernel was told
                os._exit(1)

    return in_child


def follow_parent(number: signal.Signals) -> None:
    """Have the kernel send us `number` when the process that started us goes away."""
    parent = os.getppid()
    if _libc is not None:
        _libc.prctl(_PR_SET_PDEATHSIG, int(number), 0, 0, 0)
        if os.getppid() != parent:
            os.kill(os.getpid(), number)
