"""The sandbox's whole state, and the one way in which it is committed."""

from __future__ import annotations

import asyncio
import time
from dataclasses import asdict, dataclass

from . import refunds
from .accounts import Account, Accounts
from .arrivals import Arrivals
from .faults import Faults
from .gates import Gates
from .idempotency import DAY
from .journal import Journal
from .records import Refund
from .webhooks import Endpoint, Webhooks


@dataclass(slots=True)
class Settings:
    """What the control path may turn."""

    default_delay_ms: int = 0
    idempotency_keep_s: int = DAY
    # After this a pending refund succeeds and a refund of the failing card fails; None: never.
    refund_settles_after_ms: int | None = 5_000


class World:
    """Accounts, faults, gates, webhooks and the journal, held together."""

    def __init__(self, journal: Journal) -> None:
        self.accounts = Accounts()
        self.arrivals = Arrivals()
        self.faults = Faults()
        self.gates = Gates()
        self.settings = Settings()
        self.webhooks = Webhooks()
        self.journal = journal
        self._ending: set[str] = set()

    @property
    def clock_offset(self) -> float:
        """Return by how much the clock is shifted, in seconds."""
        return self.accounts.clock.offset

    def time(self) -> float:
        """Return the time by the shifted clock."""
        return time.time() + self.clock_offset

    def start(self) -> None:
        """Read the journal and take up what it left unfinished.

        Raises: JournalInUse, JournalUnreadable.
        """
        self.journal.open(self.accounts)
        self.webhooks.endpoints = [Endpoint(**told) for told in self.journal.endpoints]
        self.webhooks.tell_time_by(self.time)
        for account in self.accounts.by_key.values():
            for refund in account.refunds:
                self._end_later(account, refund)

    def commit(self, account: Account) -> None:
        """Write down what a request has changed, then tell those who want to know."""
        changed, happened = account.changed, account.happened
        if not (changed or happened or account.keys.changed):
            return
        self.journal.write(account)
        account.changed, account.happened, account.keys.changed = {}, [], []
        if self.webhooks.endpoints:
            for event in happened:
                self.webhooks.offer(account, event)
        for record in changed.values():
            if isinstance(record, Refund):
                self._end_later(account, record)

    def _end_later(self, account: Account, refund: Refund) -> None:
        after = self.settings.refund_settles_after_ms
        if refund.status == refund.ends or refund.id in self._ending or after is None:
            return
        self._ending.add(refund.id)
        asyncio.get_running_loop().call_later(after / 1000, self._end, account, refund)

    def _end(self, account: Account, refund: Refund) -> None:
        self._ending.discard(refund.id)
        if refund.status != refund.ends and account.refunds.get(refund.id) is refund:
            reason = "lost_or_stolen_card" if refund.ends == "failed" else None
            refunds.end(account, refund, refund.ends, reason)
            self.commit(account)

    def reset(self, key: str | None) -> None:
        """Forget one account, or everything, faults, gates and settings with it."""
        self.journal.note({"reset": key})
        self.arrivals.forget(key)
        if key is not None:
            self.accounts.by_key.pop(key, None)
            return
        self.accounts.by_key.clear()
        self.faults.clear()
        self.gates.clear()
        self.settings = Settings()
        self.webhooks.remove(None)
        self.webhooks.held.clear()
        self.webhooks.holding = False
        self.set_clock(0.0)
        self.note_endpoints()

    def set_clock(self, offset: float) -> None:
        """Shift the clock to this offset from the machine's."""
        self.accounts.clock.offset = offset
        self.journal.note({"clock": offset})

    def note_endpoints(self) -> None:
        """Write down who gets events."""
        self.journal.note({"endpoints": [asdict(one) for one in self.webhooks.endpoints]})
