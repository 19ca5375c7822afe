"""A merchant at which nothing is ever begun, for the many tests of refusals."""

from __future__ import annotations

import pytest

from tests.shop import Shop, open_shop


@pytest.fixture(scope="session")
def quiet(database: str) -> Shop:
    """Open a merchant for the session; it may have checkouts, and never an operation."""
    return open_shop("quiet")
