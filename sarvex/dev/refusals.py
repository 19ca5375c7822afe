"""Why a development command cannot go on, said in one line."""

from __future__ import annotations

import os
from pathlib import Path

from sarvex.dev import endpoints, liveness


class Refused(Exception):
    """One clear line for the person at the terminal; never shown as a traceback."""


def database_out_of_reach(home: Path, error: Exception) -> str:
    """Say which database did not answer, and what starts it when it is ours."""
    reason = " ".join(str(error).split()) or "no reason given"
    if os.environ.get("DATABASE_URL"):
        return f"the database of DATABASE_URL: {reason}"
    known = endpoints.read(home)
    if known is None or not liveness.lives(known.postgres_pid):
        return f'PostgreSQL of {home} is not running: start it with "make run"'
    return f"PostgreSQL of {home}: {reason}"
