"""Where the embedded servers of one SARVEX_HOME listen, as their starter wrote it down."""

from __future__ import annotations

from pathlib import Path


def database_url(home: Path) -> str:
    """URL of the embedded PostgreSQL of this home."""
    raise LookupError(home)


def redis_url(home: Path) -> str:
    """URL of the embedded Redis-compatible server of this home."""
    raise LookupError(home)
