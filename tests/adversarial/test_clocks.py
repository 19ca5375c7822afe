"""Three hosts whose clocks are hours apart still agree on what is stale and what was charged."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from orders.sandbox.client import SandboxControl
from tests.adversarial.crash_cells import run_cell
from tests.adversarial.crash_stack import CrashStack, crash_stack
from tests.processes import database_url_of, sandbox_process
from tests.shop import Shop, open_shop

HOUR = 3600


@pytest.fixture(scope="module")
def apart(
    database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[CrashStack, Shop]]:
    """Run the web an hour ahead, the workers an hour behind, and Stripe two hours ahead."""
    folder: Path = tmp_path_factory.mktemp("apart")
    with (
        sandbox_process(folder) as stripe,
        crash_stack(
            folder,
            database_url=database_url_of(database),
            redis_url=os.environ["REDIS_URL"],
            stripe=stripe,
            web_clock=HOUR,
            worker_clock=-HOUR,
        ) as stack,
    ):
        SandboxControl(stripe).shift_clock(2 * HOUR)
        yield stack, open_shop("apart")


@pytest.mark.parametrize("follow_up", ["same key", "new key", "nobody"])
@pytest.mark.parametrize(
    "point",
    ["web: provider acted", "web: answered, not settled", "worker: provider working"],
)
class TestClocksThatAreHoursApart:
    def test_change_nothing_of_the_promise(
        self, apart: tuple[CrashStack, Shop], point: str, follow_up: str
    ) -> None:
        stack, _ = apart
        run_cell(stack, open_shop("apart"), point, follow_up)


class TestAWorkerWhoseClockIsAhead:
    def test_does_not_take_a_charge_in_flight_for_one_that_never_arrived(
        self, apart: tuple[CrashStack, Shop]
    ) -> None:
        stack, shop = apart
        reached = shop.at(stack.url)

        told = reached.complete(reached.checkout(), "slow", "pm_sandbox_slow_1500ms")

        assert told.status == 200
        assert stack.stripe.summary(shop.account).charges == 1
        assert [one["retry_count"] for one in shop.operations()] == [0]
