"""What every test finds: real PostgreSQL and Redis, a sandbox Stripe, and merchants of its own.

Tests commit for real and share one database; each opens merchants of its own instead of clearing
tables, which the append-only triggers would rightly refuse.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import settings
from django.db import connection
from django.test.utils import setup_databases, teardown_databases
from pytest_django.plugin import DjangoDbBlocker

from idempotency import replay_cache
from orders.api import authentication
from orders.sandbox.client import SandboxControl
from tests.processes import sandbox_process, web_process
from tests.shop import Shop, open_shop


@pytest.fixture(scope="session", autouse=True)
def database(
    django_test_environment: None,
    django_db_modify_db_settings: None,
    django_db_blocker: DjangoDbBlocker,
) -> Iterator[str]:
    """Make the test database, open it for real commits, and name it."""
    with django_db_blocker.unblock():
        made = setup_databases(verbosity=0, interactive=False)
        yield str(connection.settings_dict["NAME"])
        connection.close()
        teardown_databases(made, verbosity=0)


@pytest.fixture(scope="session")
def stripe_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run one sandbox Stripe for the session."""
    with sandbox_process(tmp_path_factory.mktemp("sandbox")) as url:
        yield url


@pytest.fixture
def stripe(stripe_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[SandboxControl]:
    """Point Sarvex at the sandbox, and give the test its controls; faults end with the test."""
    monkeypatch.setattr(settings, "STRIPE_API_BASE", stripe_url)
    control = SandboxControl(stripe_url)
    yield control
    control.clear_faults()


@pytest.fixture
def acme(stripe: SandboxControl) -> Shop:
    """Open a merchant that confirms automatically."""
    return open_shop("acme")


@pytest.fixture
def rival(stripe: SandboxControl) -> Shop:
    """Open another merchant."""
    return open_shop("rival")


@pytest.fixture(scope="session")
def web(database: str, stripe_url: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run the real web server, two processes, for the session."""
    folder: Path = tmp_path_factory.mktemp("web")
    with web_process(folder, database=database, stripe=stripe_url) as url:
        yield url


@pytest.fixture(autouse=True)
def nothing_remembered() -> Iterator[None]:
    """Let no test find what another left in this process's memory."""
    authentication.forget()
    replay_cache.wake_up()
    yield
    connection.close()
