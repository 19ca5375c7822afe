"""Where the embedded servers of a home keep their files, so that their account can reach them."""

from __future__ import annotations

import contextlib
import hashlib
import os
import secrets
import shutil
import stat
import tempfile
from dataclasses import dataclass
from pathlib import Path

from sarvex.dev import liveness
from sarvex.dev.account import Account, server_account
from sarvex.dev.private import write_private
from sarvex.dev.refusals import Refused

SOCKET_PATH_LIMIT = 107  # bytes, the kernel's limit for the whole path of a unix socket
LONGEST_SOCKET_NAME = "/.s.PGSQL.65535"
FAR_PLACES = (Path("/var/lib/sarvex"), Path("/var/tmp/sarvex"))  # noqa: S108 ours or refused


@dataclass(frozen=True)
class Places:
    """The folders of the embedded servers of one home."""

    home: Path
    root: Path  # reachable for the account; holds the data, and copies of the programs when needed
    account: Account
    sockets: Path

    @property
    def postgres_data(self) -> Path:
        """PGDATA."""
        return self.root / "postgres"

    @property
    def valkey_data(self) -> Path:
        """Valkey's working folder."""
        return self.root / "valkey"

    @property
    def logs(self) -> Path:
        """Where the output of every process of this home goes."""
        return self.home / "logs"

    @property
    def is_far(self) -> bool:
        """Whether the data had to be put outside the home."""
        return self.home not in self.root.parents


def places_of(home: Path) -> Places:
    """Choose and make the folders of this home; the same ones on every start."""
    try:
        home.mkdir(parents=True, exist_ok=True)
        (home / "logs").mkdir(exist_ok=True)
        near = home / "servers"
        near.mkdir(mode=0o755, exist_ok=True)
    except OSError as error:
        raise Refused(f"SARVEX_HOME {home} cannot be written: {error.strerror}") from None
    if not os.access(home, os.W_OK):
        raise Refused(f"SARVEX_HOME {home} belongs to another user and cannot be written")
    account = server_account(near / "postgres")
    root = near if account.can("-x", near) else _far_place(home, near, account)
    account = server_account(root / "postgres")
    return Places(home, root, account, _sockets(root, account))


def _far_place(home: Path, near: Path, account: Account) -> Path:
    """Make a folder outside a home that the account cannot reach, named after that home.

    The mark inside the home is part of the name: a home that was deleted and made anew starts
    with new data, as it would if the data had been inside.
    """
    if (near / "postgres").exists():
        raise Refused(f"{account.name} cannot reach {near}: its folder was closed after first use")
    mark = near / "mark"
    if not mark.exists():
        write_private(mark, secrets.token_hex(8))
    name = hashlib.sha256(f"{home.resolve()}\0{mark.read_text('utf-8')}".encode()).hexdigest()[:16]
    for far in FAR_PLACES:
        try:
            _make_trusted(far)
            _make_trusted(far / name)
        except OSError:
            continue
        if account.can("-x", far / name):
            _clear_left(far)
            (far / name / "home").write_text(f"{home}\n", encoding="utf-8")
            return far / name
    tried = " nor ".join(map(str, (home, *FAR_PLACES)))
    raise Refused(f"{account.name}, who runs the servers for root, can reach neither {tried}")


def _clear_left(far: Path) -> None:
    """Remove what homes left here that lay in the temporary folder, as in tests, and are gone.

    Other homes' data stays, even when its home is not to be seen: that may only be unmounted.
    """
    temporary = Path(tempfile.gettempdir())
    for mark in far.glob("*/home"):
        home = Path(mark.read_text("utf-8").strip())
        if temporary in home.parents and not home.exists():
            data = mark.with_name("postgres")
            if not liveness.workers_of(data):
                shutil.rmtree(mark.parent, ignore_errors=True)


def _make_trusted(folder: Path) -> None:
    """Make a folder that only we can change; one that somebody else laid there is refused."""
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o755)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o022:
        raise Refused(f"{folder} is not ours alone: remove it, or set SARVEX_HOME elsewhere")
    folder.chmod(0o755)


def _sockets(root: Path, account: Account) -> Path:
    """Make the folder of PostgreSQL's socket: in the root, or a short one when that is too long."""
    folder = root / "sockets"
    if len(os.fsencode(folder)) + len(LONGEST_SOCKET_NAME) > SOCKET_PATH_LIMIT:
        name = f"sarvex-{hashlib.sha256(os.fsencode(root)).hexdigest()[:12]}"
        folder = Path(tempfile.gettempdir()) / name
        if len(os.fsencode(folder)) + len(LONGEST_SOCKET_NAME) > SOCKET_PATH_LIMIT:
            folder = Path("/tmp") / name  # noqa: S108 checked below
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), account.uid}:
        raise Refused(f"{folder} belongs to another user: remove it, or set TMPDIR elsewhere")
    account.own(folder)
    return folder
