"""What a development command tells the person at the terminal."""

from __future__ import annotations

import sys


def say(line: str) -> None:
    """Print one line at once, also into a pipe; a reader who has gone does not stop the work."""
    try:
        print(f"sarvex: {line}" if line else "", flush=True)
    except BrokenPipeError:
        sys.stdout = sys.stderr


def show(line: str) -> None:
    """Print a line as it stands: tables, keys, and the line that says ready."""
    try:
        print(line, flush=True)
    except BrokenPipeError:
        sys.stdout = sys.stderr
