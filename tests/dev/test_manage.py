"""`manage.py` without servers: what needs none works, what needs one says so in a line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sarvex.dev import postgres, servers
from sarvex.dev.places import places_of

NAMES = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY"}


def manage(home: Path, *words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run a command with a home of its own and none of the tests' servers."""
    outer = {name: value for name, value in os.environ.items() if name not in NAMES}
    return subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=servers.CHECKOUT,
        env=outer | {"SARVEX_HOME": str(home)} | environment,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


class TestManage:
    @pytest.mark.parametrize("words", [("help",), ("check",), ("create_merchant", "--help")])
    def test_needs_no_server_for_what_needs_none(self, home: Path, words: tuple[str, ...]) -> None:
        result = manage(home, *words)

        assert result.returncode == 0, result.stderr

    def test_says_that_the_embedded_servers_are_not_running(self, home: Path) -> None:
        result = manage(home, "migrate")

        assert result.returncode == 1
        line = f'PostgreSQL of {home} is not running: start it with "make run"\n'
        assert result.stderr == line

    def test_says_the_same_after_they_were_killed(self, home: Path) -> None:
        found = servers.start(home, kept=True)
        postgres.stop(places_of(home))

        result = manage(home, "migrate")

        assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
        assert "is not running" in result.stderr
        assert found.database_url.split("@")[0] not in result.stderr  # it holds the password

    def test_finds_the_servers_of_its_home_by_itself(self, home: Path) -> None:
        servers.start(home, kept=True)

        result = manage(home, "migrate", "--plan")

        assert result.returncode == 0, result.stderr
        assert "orders.0001" in result.stdout

    def test_names_a_home_that_cannot_be_used(self, folder: Path) -> None:
        (folder / "file").touch()

        result = manage(folder / "file" / "home", "check")

        assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
        assert "SARVEX_HOME" in result.stderr

    def test_names_a_database_of_the_environment_that_is_out_of_reach(self, home: Path) -> None:
        url = "postgresql://somebody:hidden@127.0.0.1:1/shop"

        result = manage(home, "migrate", DATABASE_URL=url)

        assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
        assert result.stderr.startswith("the database of DATABASE_URL: ")
        assert "Connection refused" in result.stderr
        assert "hidden" not in result.stderr

    @pytest.mark.parametrize(
        ("name", "value"),
        [
            ("SARVEX_STALE_AFTER", "20"),  # not longer than the provider's time-out
            ("SARVEX_AUDIT_RETENTION", "1h"),  # shorter than the replay window
            ("SARVEX_OUTBOX_LEASE", "0"),
            ("DATABASE_URL", "sqlite:///shop.db"),
            ("DEBUG", "perhaps"),
        ],
    )
    @pytest.mark.parametrize("command", ["migrate", "create_merchant"])
    def test_names_the_setting_that_is_wrong(
        self, home: Path, command: str, name: str, value: str
    ) -> None:
        result = manage(home, command, **{name: value})

        assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
        assert result.stderr.startswith("settings: ")
        assert name in result.stderr
