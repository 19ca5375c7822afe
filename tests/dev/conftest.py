"""Homes of their own for the tests of the development servers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sarvex.dev import servers
from sarvex.dev.places import places_of


@pytest.fixture
def folder() -> Iterator[Path]:
    """A short folder that every user can reach; pytest's own are closed to others."""
    made = Path(tempfile.mkdtemp(prefix="sarvex-"))
    made.chmod(0o755)
    yield made
    shutil.rmtree(made)


@pytest.fixture
def home(folder: Path) -> Iterator[Path]:
    """A SARVEX_HOME whose servers are stopped after the test, whatever became of it."""
    path = folder / "home"
    yield path
    clear_away(path)


def clear_away(home: Path) -> None:
    """Stop the servers of a home and remove what they keep outside of it."""
    places = places_of(home)
    servers.stop(home)
    for outside in (places.root, places.sockets):
        if home not in outside.parents:
            shutil.rmtree(outside, ignore_errors=True)
