"""Where the embedded servers of one SARVEX_HOME listen, as their starter wrote it down."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from sarvex.dev.private import write_private

# Port 1 is refused at once on every machine: settings load without servers, and the first
# connection says that nobody is there instead of reaching somebody else's server.
NOBODY_DATABASE_URL = "postgresql://sarvex@127.0.0.1:1/sarvex"
NOBODY_REDIS_URL = "redis://127.0.0.1:1/0"


@dataclass(frozen=True)
class Endpoints:
    """What is needed to reach, and later to find and end, the servers of a home."""

    database_url: str
    redis_url: str
    postgres_pid: int
    valkey_pid: int
    kept: bool  # started to outlive its starter: `make run` leaves such servers running


NOBODY = Endpoints(NOBODY_DATABASE_URL, NOBODY_REDIS_URL, 0, 0, kept=False)


def path_in(home: Path) -> Path:
    """The file that holds the endpoints of this home."""
    return home / "endpoints.json"


def read(home: Path) -> Endpoints | None:
    """Return what the last start wrote, or None when it was stopped or never started."""
    try:
        return Endpoints(**json.loads(path_in(home).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def write(home: Path, endpoints: Endpoints) -> None:
    """Replace the endpoints of this home in one step; they hold passwords, so owner only."""
    write_private(path_in(home), json.dumps(asdict(endpoints), indent=1))


def forget(home: Path) -> None:
    """Say that nothing listens any more."""
    path_in(home).unlink(missing_ok=True)


def database_url(home: Path) -> str:
    """URL of the embedded PostgreSQL of this home; one that refuses when none was started."""
    known = read(home)
    return known.database_url if known else NOBODY_DATABASE_URL


def redis_url(home: Path) -> str:
    """URL of the embedded Redis-compatible server of this home; same rule."""
    known = read(home)
    return known.redis_url if known else NOBODY_REDIS_URL
