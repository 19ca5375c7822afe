"""The operator's own crash test, against a running stack."""

from __future__ import annotations

import os
import sys
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from orders.sandbox.client import SandboxControl
from tests.adversarial.crash_stack import crash_stack
from tests.processes import database_url_of
from tests.shop import open_shop


class TestCrashtest:
    @pytest.mark.timeout(400)
    def test_holds_in_every_cell_and_says_so(
        self,
        database: str,
        stripe_url: str,
        stripe: SandboxControl,
        tmp_path_factory: pytest.TempPathFactory,
    ) -> None:
        shop = open_shop("staging")
        with crash_stack(
            tmp_path_factory.mktemp("staging"),
            database_url=database_url_of(database),
            redis_url=os.environ["REDIS_URL"],
            stripe=stripe_url,
        ) as stack:
            kill = (
                f"{sys.executable} -c 'import os, psutil, signal;"
                f" [os.kill(one.pid, signal.SIGKILL)"
                f" for one in psutil.Process({stack.web.pid}).children(recursive=True)"
                f" if one.ppid() != {stack.web.pid}]'"
            )
            told = StringIO()
            call_command(
                "crashtest", stack.url, merchant=shop.id, merchant_key=shop.keys["merchant"],
                agent_key=shop.keys["agent"], sandbox=stripe_url, kill_web=kill, patience=30,
                only="after",
                stdout=told,
            )  # fmt: skip

        assert "all 9 cells hold" in told.getvalue()

    def test_says_when_there_is_no_stack(self, stripe_url: str) -> None:
        with pytest.raises(CommandError, match="does not answer"):
            call_command(
                "crashtest", "http://127.0.0.1:9", merchant_key="x", agent_key="x",
                sandbox=stripe_url,
            )  # fmt: skip
