"""`make bench` measures everything and prints one table."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from sarvex.dev.servers import CHECKOUT

ROW = r"^(naive view|fresh keys|replays, (?:warm|cold)) +\d+ +[\d.]+ +[\d.]+ +(\d+)"
LINES = (
    r"^burst of 50, .* 50 answers, 49 replays, 1 charge",
    r"^web processes' memory: \d+ MiB after 20 requests",
    r"^outbox, 2 worker processes: \d+ deliveries/s",
    r"^outbox lag under 200 completes/s: .* 0 errors\)$",
)


class TestBench:
    # Nine processes start, one after the other, beside other tests: no time is asserted.
    @pytest.mark.timeout(300)
    def test_prints_every_row_without_an_error(self, tmp_path: Path) -> None:
        kept = {"DATABASE_URL", "REDIS_URL", "STRIPE_API_BASE", "DJANGO_SETTINGS_MODULE"}
        environment = {name: value for name, value in os.environ.items() if name not in kept}
        done = subprocess.run(
            [sys.executable, "-m", "sarvex.dev.bench", "--tiny"],
            cwd=CHECKOUT,
            env={**environment, "SARVEX_HOME": str(tmp_path)},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

        assert done.returncode == 0, done.stdout + done.stderr
        rows = re.findall(ROW, done.stdout, re.MULTILINE)
        assert [errors for _, errors in rows] == ["0", "0", "0", "0"]
        for line in LINES:
            assert re.search(line, done.stdout, re.MULTILINE), done.stdout
