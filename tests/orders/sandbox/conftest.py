"""A sandbox for the session, and a new account in it for each test."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, running_sandbox


@pytest.fixture(scope="session", autouse=True)
def database() -> str:
    """Need no database: the sandbox has none."""
    return ""


@pytest.fixture(scope="session")
def url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    with running_sandbox(tmp_path_factory.mktemp("sandbox")) as url:
        yield url


@pytest.fixture
def control(url: str) -> Iterator[SandboxControl]:
    """Control the sandbox; what a test has set ends with it."""
    control = SandboxControl(url)
    yield control
    control.reset()


@pytest.fixture
def till(url: str, control: SandboxControl) -> Till:
    return Till(url)


@pytest.fixture
def rival(url: str, control: SandboxControl) -> Till:
    """Return another account."""
    return Till(url)
