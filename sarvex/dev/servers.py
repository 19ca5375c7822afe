"""The embedded servers of a home: `python -m sarvex.dev.servers start|stop|status`."""

from __future__ import annotations

import argparse
import fcntl
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from sarvex.dev import endpoints, postgres, spawning, valkey
from sarvex.dev.endpoints import Endpoints
from sarvex.dev.places import Places, places_of
from sarvex.dev.refusals import Refused

CHECKOUT = Path(__file__).resolve().parent.parent.parent


def start(home: Path, *, kept: bool, database: bool = True, redis: bool = True) -> Endpoints:
    """Have the wanted servers of this home up and return where they listen.

    Two starts at once agree. Servers that are not `kept` die with this process on Linux, however
    it ends.

    Raises:
        Refused: one of them cannot be started.
    """
    places = places_of(home)
    with _locked(home):
        found = endpoints.read(home) or endpoints.NOBODY
        if database:
            server = postgres.start(places, tethered=not kept)
            # Whoever asked to keep a server that still runs is not overruled by a later starter.
            kept = kept or (found.kept and found.postgres_pid == server.pid)
            address = postgres.url(places, server)
            found = replace(found, database_url=address, postgres_pid=server.pid)
        if redis:
            cache = valkey.start(places, tethered=not kept)
            kept = kept or (found.kept and found.valkey_pid == cache.pid)
            found = replace(found, redis_url=valkey.url(cache), valkey_pid=cache.pid)
        found = replace(found, kept=kept)
        endpoints.write(home, found)
    return found


def stop(home: Path) -> None:
    """Stop both servers of this home, whoever started them."""
    places = places_of(home)
    with _locked(home):
        valkey.stop(places)
        postgres.stop(places)
        endpoints.forget(home)
    spawning.forget_ended()


def are_up(home: Path) -> bool:
    """Say whether both servers live and answer."""
    places = places_of(home)
    return postgres.running(places) is not None and valkey.running(places) is not None


def where_the_data_lies(places: Places) -> str | None:
    """A line for the person at the terminal when the data could not be put into the home."""
    if not places.is_far:
        return None
    return (
        f"{places.account.name}, who runs the servers for root, cannot reach {places.home}:"
        f" their data is in {places.root}"
    )


@contextmanager
def _locked(home: Path) -> Iterator[None]:
    """Hold the lock of the home's servers; the system takes it back if we die."""
    descriptor = os.open(home / "servers.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def default_home() -> Path:
    """SARVEX_HOME, or `.sarvex` in the checkout."""
    return Path(os.environ.get("SARVEX_HOME") or CHECKOUT / ".sarvex").absolute()


def main() -> None:
    """Start, stop or show the embedded servers, for a shell."""
    parser = argparse.ArgumentParser(prog="python -m sarvex.dev.servers", description=__doc__)
    parser.add_argument("verb", choices=["start", "stop", "status"])
    parser.add_argument("--home", type=Path, default=default_home(), help="default: SARVEX_HOME")
    arguments = parser.parse_args()
    home = arguments.home.absolute()
    try:
        if arguments.verb == "start":
            found = start(home, kept=True)
            if line := where_the_data_lies(places_of(home)):
                print(line)
            print(f"DATABASE_URL={found.database_url}\nREDIS_URL={found.redis_url}")
        elif arguments.verb == "stop":
            stop(home)
            print(f"the servers of {home} are stopped")
        elif are_up(home):
            print(f"the servers of {home} are up")
        else:
            sys.exit(f"the servers of {home} are not running")
    except Refused as refusal:
        sys.exit(f"servers: {refusal}")


if __name__ == "__main__":
    main()
