"""What happened, one line for each request, so that a restarted sandbox still knows it.

A line is written before its answer leaves, without fsync: it survives the death of the process,
not of the machine. A last line that was torn is cut off: its request was never answered.
"""

from __future__ import annotations

import fcntl
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any, BinaryIO

import orjson

from .accounts import Account, Accounts
from .idempotency import DAY
from .records import Charge, Dispute, Event, Kept, PaymentIntent, Record, Refund

# A journal longer than this is rewritten at start as the state that it leads to.
COMPACT_BEYOND = 16 * 1024 * 1024
_KINDS: dict[str, type[Record]] = {
    "pi": PaymentIntent,
    "ch": Charge,
    "re": Refund,
    "dp": Dispute,
}


class JournalInUse(Exception):
    """Another sandbox writes to this file."""


class JournalUnreadable(Exception):
    """A line before the last is not one of ours."""


class Journal:
    """The file behind the accounts; without one, nothing is written."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._file: BinaryIO | None = None
        self.endpoints: list[dict[str, Any]] = []

    def open(self, accounts: Accounts) -> None:
        """Replay the file into the accounts, repair its end, and make it short.

        Raises: JournalInUse, JournalUnreadable.
        """
        if self._path is None:
            return
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._locked(self._path)
        length = self._replay(accounts)
        self._file.truncate(length)
        self._file.seek(length)
        if length > COMPACT_BEYOND:
            self._compact(accounts)

    @staticmethod
    def _locked(path: Path) -> BinaryIO:
        file = os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o600), "r+b")
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            file.close()
            raise JournalInUse(f"another sandbox uses {path}") from None
        return file

    def _replay(self, accounts: Accounts) -> int:
        """Return how many bytes were whole lines."""
        assert self._file is not None
        whole = 0
        for number, line in enumerate(self._file, 1):
            try:
                told = orjson.loads(line) if line.endswith(b"\n") else None
            except orjson.JSONDecodeError:
                told = None
            if told is None:
                if self._file.read(1):
                    raise JournalUnreadable(f"line {number} of {self._path} is not readable")
                break
            self._apply(accounts, told)
            whole += len(line)
        return whole

    def _apply(self, accounts: Accounts, told: dict[str, Any]) -> None:
        if "clock" in told:
            accounts.clock.offset = told["clock"]
        if "endpoints" in told:
            self.endpoints = told["endpoints"]
        if "reset" in told:
            accounts.by_key.clear() if told["reset"] is None else accounts.by_key.pop(
                told["reset"], None
            )
        if "a" in told:
            _apply_to(accounts.of(told["a"]), told)

    def write(self, account: Account) -> None:
        """Write what one request has changed, as one line."""
        if self._file is not None:
            self._line(
                _told(account, account.changed.values(), account.keys.changed, account.happened)
            )

    def note(self, told: dict[str, Any]) -> None:
        """Write what concerns no single account: `clock`, `endpoints`, `reset`."""
        if "endpoints" in told:
            self.endpoints = told["endpoints"]
        if self._file is not None:
            self._line(told)

    def _line(self, told: dict[str, Any]) -> None:
        assert self._file is not None
        self._file.write(orjson.dumps(told, option=orjson.OPT_APPEND_NEWLINE))
        self._file.flush()

    def _compact(self, accounts: Accounts) -> None:
        assert self._path is not None
        beside = self._path.with_name(self._path.name + ".new")
        beside.unlink(missing_ok=True)
        old, self._file = self._file, self._locked(beside)
        self._line({"clock": accounts.clock.offset, "endpoints": self.endpoints})
        for account in accounts.by_key.values():
            for shelf in (account.intents, account.charges, account.refunds, account.disputes):
                for record in shelf:
                    self._line(_told(account, [record], [], []))
            for kept in account.keys.newer_than(accounts.clock.now() - DAY):
                self._line(_told(account, [], [kept], []))
            for event in account.events:
                self._line(_told(account, [], [], [event]))
        beside.replace(self._path)
        if old is not None:
            old.close()

    def close(self) -> None:
        """Let go of the file."""
        if self._file is not None:
            self._file.close()
            self._file = None


def _told(account: Account, records: Any, keys: list[Kept], events: list[Event]) -> dict[str, Any]:
    told: dict[str, Any] = {"a": account.key}
    for record in records:
        told.setdefault(record.id.partition("_")[0], []).append(record)
    if keys:
        told["keys"] = [{**asdict(kept), "body": kept.body.decode()} for kept in keys]
    if events:
        told["events"] = [{**asdict(event), "body": event.body.decode()} for event in events]
    return told


def _apply_to(account: Account, told: dict[str, Any]) -> None:
    for kind, make in _KINDS.items():
        for given in told.get(kind, ()):
            account.put(make(**given))
    for given in told.get("keys", ()):
        kept = Kept(**{**given, "body": given["body"].encode()})
        account.keys.kept[kept.key] = kept
        account.keys.seen.add(kept.key)
    for given in told.get("events", ()):
        account.put_event(Event(**{**given, "body": given["body"].encode()}))
