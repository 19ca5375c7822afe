"""The static part of `make check`: each check in turn, all of them, and one verdict."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from sarvex.dev.servers import CHECKOUT

BIN = Path(sys.executable).parent
# Names that tie the tree to one machine or one network.
FOREIGN = re.compile(
    r"https?://(?:[\w.-]+\.)?(?:pypi\.org|pythonhosted\.org|npmjs\.org|deb\.debian\.org)\b"
    r"|--(?:extra-)?index-url|(?<![\w./])/(?:home|Users)/\w+|(?<![\w./])/root/\w+"
)


def main() -> None:
    """Run every static check; exit 1 and name the failed ones when any failed."""
    failed = [name for name, command in _checks().items() if not _passes(name, command)]
    if names := _files_with_foreign_names():
        print("\n".join(names))
        failed.append("no machine's or registry's name")
    if failed:
        sys.exit(f"lint: failed: {', '.join(failed)}")
    print("lint: everything passed")


def _checks() -> dict[str, list[str | Path]]:
    manage: list[str | Path] = [sys.executable, "manage.py"]
    deploy = ["check", "--deploy", "--fail-level", "WARNING"]
    return {
        "ruff": [BIN / "ruff", "check", "--quiet", "."],
        "format": [BIN / "ruff", "format", "--check", "--quiet", "."],
        "types": [BIN / "mypy"],
        "layers": [BIN / "lint-imports", "--no-cache"],
        "migrations": [*manage, "makemigrations", "--check", "--dry-run"],
        "deploy": [*manage, *deploy],
    }


def _passes(name: str, command: list[str | Path]) -> bool:
    """Run one check; its output is shown when it fails."""
    began = time.monotonic()
    environment = _like_production() if name == "deploy" else os.environ
    result = subprocess.run(
        command,
        cwd=CHECKOUT,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    passed = result.returncode == 0
    print(f"lint: {name}: {'ok' if passed else 'FAILED'} ({time.monotonic() - began:.1f} s)")
    if not passed:
        print(result.stdout)
    return passed


def _like_production() -> dict[str, str]:
    """The environment of a deployment: nothing of this machine's, secrets and addresses given."""
    return {
        "PATH": os.environ.get("PATH", os.defpath),
        "SARVEX_HOME": tempfile.gettempdir(),
        "SECRET_KEY": "only-for-this-check-" + "0123456789abcdefghij" * 3,
        "SARVEX_ENCRYPTION_KEYS": "MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTIzNDU2Nzg5MDE=",
        "SARVEX_METRICS_TOKEN": "only-for-this-check-0123456789",
        "ALLOWED_HOSTS": "shop.example.com",
        "DATABASE_URL": "postgresql://sarvex:secret@127.0.0.1:1/sarvex",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }


def _files_with_foreign_names() -> list[str]:
    """List the lines of tracked files that name a registry's host or somebody's home folder."""
    tracked = subprocess.run(
        ["git", "ls-files", "-z"], cwd=CHECKOUT, capture_output=True, text=True, check=True
    ).stdout
    found = []
    for name in tracked.split("\0"):
        path = CHECKOUT / name
        if not name or path == Path(__file__) or not path.is_file():
            continue
        for number, line in enumerate(path.read_text("utf-8", "replace").splitlines(), 1):
            if FOREIGN.search(line):
                found.append(f"{name}:{number}: {line.strip()[:120]}")
    return found


if __name__ == "__main__":
    main()
