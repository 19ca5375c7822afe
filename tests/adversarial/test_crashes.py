"""Somebody dies at every step, and the intention ends as one charge and one order, or neither."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

from orders.sandbox.client import SandboxControl
from tests.adversarial.crash_cells import FOLLOW_UPS, POINTS, run_cell
from tests.adversarial.crash_stack import CrashStack, crash_stack
from tests.processes import database_url_of
from tests.shop import Shop


@pytest.fixture(scope="session")
def dying(
    database: str, stripe_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[CrashStack]:
    """Run one stack with crash points for the session."""
    folder = tmp_path_factory.mktemp("dying")
    redis = os.environ["REDIS_URL"]
    database_url = database_url_of(database)
    with crash_stack(
        folder, database_url=database_url, stripe=stripe_url, redis_url=redis
    ) as stack:
        yield stack


@pytest.mark.parametrize("follow_up", FOLLOW_UPS)
@pytest.mark.parametrize("point", POINTS)
class TestACrash:
    def test_ends_as_one_charge_and_one_order_or_neither(
        self, dying: CrashStack, acme: Shop, stripe: SandboxControl, point: str, follow_up: str
    ) -> None:
        try:
            run_cell(dying, acme, point, follow_up)
        finally:
            dying.disarm()
