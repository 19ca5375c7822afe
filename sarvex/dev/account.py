"""Who the embedded servers run as. PostgreSQL refuses to run as root, so root lends an account."""

from __future__ import annotations

import os
import pwd
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sarvex.dev.refusals import Refused


@dataclass(frozen=True)
class Account:
    """The account of the servers: the caller's own, or an unprivileged one when root calls."""

    name: str
    uid: int
    gid: int

    @property
    def is_ours(self) -> bool:
        """Whether no change of user is needed."""
        return self.uid == os.geteuid()

    def spawn_arguments(self) -> dict[str, Any]:
        """Arguments for `subprocess` that start a program as this account, in a folder it has."""
        if self.is_ours:
            return {"cwd": "/"}
        return {"cwd": "/", "user": self.uid, "group": self.gid, "extra_groups": []}

    def own(self, path: Path) -> None:
        """Give `path` to this account."""
        if not self.is_ours:
            os.chown(path, self.uid, self.gid, follow_symlinks=False)

    def can(self, test: str, path: Path) -> bool:
        """Ask the system itself, as this account: `-x` for a folder in reach, `-w`, and so on."""
        answer = subprocess.run(
            ["/bin/sh", "-c", f'test {test} "$1"', "sh", str(path)],
            check=False,
            **self.spawn_arguments(),
        )
        return answer.returncode == 0


def server_account(data: Path) -> Account:
    """Choose the account: ours; for root the data's owner, SARVEX_SERVER_ACCOUNT, or nobody.

    An existing data folder decides, since PostgreSQL only opens what its account owns: data made
    by an ordinary user is served as that user when root comes later.
    """
    if os.geteuid() != 0:
        return _by_uid(os.geteuid())
    if data.exists():
        return _by_uid(data.stat().st_uid)
    name = os.environ.get("SARVEX_SERVER_ACCOUNT", "nobody")
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise Refused(f"SARVEX_SERVER_ACCOUNT: there is no user {name!r} here") from None
    if entry.pw_uid == 0:
        raise Refused("SARVEX_SERVER_ACCOUNT must not be root: PostgreSQL refuses it")
    return Account(name, entry.pw_uid, entry.pw_gid)


def _by_uid(uid: int) -> Account:
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise Refused(
            f"user id {uid} has no name on this machine, and PostgreSQL needs one:"
            " set DATABASE_URL and REDIS_URL, or run as a user of /etc/passwd"
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
