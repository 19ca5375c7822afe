"""The Makefile's own part: an environment with the locked requirements, or one clear line."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from sarvex.dev.servers import CHECKOUT


@pytest.fixture
def checkout(folder: Path) -> Path:
    """A checkout in which nothing was installed yet."""
    return lay_out(folder)


@pytest.fixture(scope="class")
def installed() -> Iterator[Path]:
    """A checkout whose environment was made; a test that changes its locks has them installed."""
    with tempfile.TemporaryDirectory(prefix="sarvex-") as made:
        checkout = lay_out(Path(made))
        code, printed = venv(checkout)
        assert code == 0, printed
        assert "creating .venv" in printed
        yield checkout


def lay_out(folder: Path) -> Path:
    """Copy what `make` needs of a checkout; its locks name nothing."""
    (folder / "sarvex/dev").mkdir(parents=True)
    shutil.copy(CHECKOUT / "sarvex/dev/venv.sh", folder / "sarvex/dev")
    (folder / "requirements").mkdir()
    for kind in ("run", "test"):
        (folder / f"requirements/{kind}.txt").write_text("# nothing is needed here\n")
    return folder


def venv(checkout: Path, *, python: str = sys.executable, kind: str = "run") -> tuple[int, str]:
    """Do what `make run` does first."""
    result = subprocess.run(
        ["sh", "sarvex/dev/venv.sh", python, kind],
        cwd=checkout,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        timeout=100,
    )
    return result.returncode, result.stdout


def program(path: Path, text: str) -> str:
    """Write a shell program."""
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return str(path)


class TestMake:
    def test_helps_with_one_line_for_each_command(self) -> None:
        lines = subprocess.check_output(["make", "help"], cwd=CHECKOUT, text=True).splitlines()

        named = [line.split()[1] for line in lines]
        assert named == ["help", "run", "test", "check", "lint", "bench", "lock"]
        assert all(re.fullmatch(r"  make \w+ +[A-Z].+", line) for line in lines)

    def test_says_which_python_is_needed(self, checkout: Path) -> None:
        old = program(checkout / "old", "echo 3.9")

        refusal = f"sarvex: {old} is Python 3.9; needed is 3.11, 3.12 or 3.13"
        assert venv(checkout, python=old) == (1, f"{refusal}: make PYTHON=python3.11 ...\n")
        code, printed = venv(checkout, python="no-such-python")
        assert (code, printed.count("\n")) == (1, 1)
        assert "no-such-python not found" in printed

    def test_says_that_the_venv_module_is_missing(self, checkout: Path) -> None:
        bare = program(checkout / "bare", 'case "$2" in *venv*) exit 1 ;; *) echo 3.11 ;; esac')

        code, printed = venv(checkout, python=bare)

        assert (code, printed.count("\n")) == (1, 1)
        assert "has no venv module" in printed


class TestVenv:
    def test_is_made_once_and_found_good(self, installed: Path) -> None:
        assert venv(installed) == (0, "")
        python = installed / ".venv/bin/python"
        words: list[str | Path] = [python, "-c", "import sarvex; print(*sarvex.__path__)"]
        where = subprocess.check_output(words, cwd="/", text=True)
        assert where == f"{installed.resolve()}/sarvex\n"

    def test_is_brought_up_to_date_when_the_lock_changes(self, installed: Path) -> None:
        (installed / "requirements/run.txt").write_text("# something else is needed\n")

        assert "installing the locked requirements" in venv(installed)[1]
        assert venv(installed) == (0, "")

    def test_is_never_believed_after_an_install_that_failed(self, installed: Path) -> None:
        (installed / "requirements/run.txt").write_text("no-hash-given==1.0\n")
        for _ in range(2):
            code, printed = venv(installed)
            assert code == 1
            assert "sarvex: installing requirements/run.txt failed" in printed.splitlines()[-1]

        (installed / "requirements/run.txt").write_text("# good again\n")
        assert venv(installed)[0] == 0

    def test_is_not_held_up_by_the_lock_of_an_install_that_was_killed(
        self, installed: Path
    ) -> None:
        dead = subprocess.Popen(["true"])
        dead.wait()
        (installed / ".sarvex/venv.lock").mkdir(parents=True)
        (installed / ".sarvex/venv.lock/pid").write_text(f"{dead.pid}\n")
        (installed / "requirements/run.txt").write_text("# needs an install\n")

        assert venv(installed)[0] == 0
        assert not (installed / ".sarvex/venv.lock").exists()

    def test_for_tests_serves_running_too(self, installed: Path) -> None:
        (installed / "requirements/test.txt").write_text("# new tests\n")

        assert venv(installed, kind="test")[0] == 0
        assert venv(installed, kind="run") == (0, "")

    def test_is_made_anew_when_its_making_was_interrupted(self, checkout: Path) -> None:
        (checkout / ".venv/bin").mkdir(parents=True)  # begun, and the power went
        (checkout / ".venv/bin/python").touch()

        code, printed = venv(checkout)

        assert code == 0, printed
        assert "creating .venv" in printed
