"""`make run` as it is: the real processes, the fifty requests, the keys that it prints."""

from __future__ import annotations

import os
import re
import signal
from pathlib import Path

import pytest
import requests

from tests.dev.stacks import RunningStack
from tests.dev.test_run import eventually


def table(stack: RunningStack) -> dict[str, list[int]]:
    """The rows of the table that was printed."""
    rows = [re.findall(r"\w+", line) for line in stack.lines if line.startswith("  ")]
    return {row[0]: [int(n) for n in row[1:]] for row in rows if row and row[0] in _ROWS}


_ROWS = {"naive", "sarvex"}


def api_keys(stack: RunningStack) -> dict[str, str]:
    """The keys that were printed, by role."""
    return dict(re.findall(r"API key +(\w+) +(\S+)", stack.printed))


# Two whole starts, on two cores that other tests use as well.
@pytest.mark.timeout(300)
class TestDemonstration:
    def test_shows_one_charge_for_fifty_requests_and_keeps_its_keys(self, home: Path) -> None:
        first = RunningStack(home).await_ready()
        try:
            assert "requests   answers    orders   charges   replays" in first.printed
            assert table(first) == {"naive": [50, 50, 50, 50, 0], "sarvex": [50, 50, 1, 1, 49]}
            keys = api_keys(first)
            assert set(keys) == {"merchant", "agent", "operator"}
            self.sees_one_order(first, keys["merchant"])
            assert oct((home / "demo.json").stat().st_mode)[-3:] == "600"

            self.survives_a_killed_web_worker(first)
        finally:
            assert first.end() == 0, first.printed
        assert first.processes() == []

        second = RunningStack(home).await_ready()
        try:
            assert table(second)["sarvex"] == [50, 50, 1, 1, 49]
            assert api_keys(second) == keys
        finally:
            assert second.end() == 0, second.printed

    def sees_one_order(self, stack: RunningStack, key: str) -> None:
        """The fifty requests left one order behind."""
        url = f"http://127.0.0.1:{stack.port}/merchants/demo/orders"
        answer = requests.get(url, headers={"Authorization": f"Bearer {key}"}, timeout=10)
        assert answer.status_code == 200
        assert len(answer.json()["data"]) == 1

    def survives_a_killed_web_worker(self, stack: RunningStack) -> None:
        """The web server starts a worker again, without the supervisor's help."""

        def web() -> list[int]:
            return [
                pid
                for pid in stack.processes()
                if "granian" in Path(f"/proc/{pid}/cmdline").read_text()
            ]

        main, *workers = sorted(web())
        assert len(workers) == 2

        os.kill(workers[0], signal.SIGKILL)

        eventually(lambda: len(set(web()) - {main, *workers}) == 1, "another worker is there")
        assert requests.get(f"http://127.0.0.1:{stack.port}/readyz", timeout=10).ok
        assert "web ended" not in stack.printed
