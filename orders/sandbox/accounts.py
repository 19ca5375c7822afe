"""Everything the sandbox knows, one account for each secret key, nothing shared between two."""

from __future__ import annotations

import hashlib
import time
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterator
from typing import Any, Generic, Protocol, TypeVar

from .encoding import encoded
from .errors import no_such
from .idempotency import Keys
from .identifiers import new_id
from .records import Charge, Dispute, Event, PaymentIntent, Record, Refund
from .rendering import Document, render

API_VERSION = "2026-10-28.endive"
# Events beyond these are forgotten, oldest first: memory must not grow with a benchmark.
EVENTS_KEPT = 10_000


class Named(Protocol):
    """What a shelf can hold."""

    id: str
    created: int


T = TypeVar("T", bound=Named)


class Shelf(Generic[T]):
    """Records in the order of their making, found by id and by time."""

    def __init__(self) -> None:
        self.items: list[T] = []
        self._places: dict[str, int] = {}
        self._in_order = True  # false once the clock was set back

    def put(self, item: T) -> None:
        """Add an item, or replace the one of the same id where it stands."""
        place = self._places.get(item.id)
        if place is not None:
            self.items[place] = item
            return
        if self.items and self.items[-1].created > item.created:
            self._in_order = False
        self._places[item.id] = len(self.items)
        self.items.append(item)

    def get(self, object_id: str) -> T | None:
        """Return the item of this id, or None."""
        place = self._places.get(object_id)
        return None if place is None else self.items[place]

    def place(self, object_id: str) -> int | None:
        """Return where the item stands, or None."""
        return self._places.get(object_id)

    def between(self, least: int, most: int) -> range:
        """Return the places that may hold what was created from `least` to `most`."""
        if not self._in_order:
            return range(len(self.items))
        first = bisect_left(self.items, least, key=lambda item: item.created)
        return range(first, bisect_right(self.items, most, key=lambda item: item.created))

    def forget_oldest(self, keep: int) -> None:
        """Keep the newest so many."""
        self.items = self.items[-keep:]
        self._places = {item.id: place for place, item in enumerate(self.items)}

    def __len__(self) -> int:
        return len(self.items)

    def __iter__(self) -> Iterator[T]:
        return iter(self.items)


class Account:
    """The objects of one secret key."""

    def __init__(self, key: str, clock: Clock) -> None:
        self.key = key
        self.id = "acct_" + hashlib.sha256(key.encode()).hexdigest()[:16]
        self.clock = clock
        self.keys = Keys()
        self.intents: Shelf[PaymentIntent] = Shelf()
        self.charges: Shelf[Charge] = Shelf()
        self.refunds: Shelf[Refund] = Shelf()
        self.disputes: Shelf[Dispute] = Shelf()
        self.events: Shelf[Event] = Shelf()
        self.refunds_of: dict[str, list[str]] = {}
        self.methods: dict[str, str] = {}
        self.tally: dict[str, int] = {}
        self.changed: dict[str, Record] = {}
        self.happened: list[Event] = []

    def shelf(self, record: Record) -> Shelf[Any]:
        """Return where records of this kind stand."""
        if isinstance(record, PaymentIntent):
            return self.intents
        if isinstance(record, Charge):
            return self.charges
        return self.refunds if isinstance(record, Refund) else self.disputes

    def save(self, record: Record) -> None:
        """Keep a record that is new or has changed, and note it for the journal."""
        self.put(record)
        self.changed[record.id] = record

    def put(self, record: Record) -> None:
        """Keep a record without noting it: what the journal's replay does."""
        shelf = self.shelf(record)
        if isinstance(record, Refund) and shelf.get(record.id) is None:
            self.refunds_of.setdefault(record.charge, []).append(record.id)
        if isinstance(record, PaymentIntent | Charge) and record.payment_method and record.card:
            self.methods[record.payment_method] = record.card
        shelf.put(record)

    def emit(
        self, kind: str, record: Record, *, request: str | None = None, key: str | None = None
    ) -> None:
        """Record that something happened, with the object as it stands at this moment."""
        now = self.clock.now()
        event: Document = {
            "id": new_id("evt"),
            "object": "event",
            "api_version": API_VERSION,
            "created": now,
            "data": {"object": render(record)},
            "livemode": False,
            "pending_webhooks": 1,
            "request": {"id": request, "idempotency_key": key},
            "type": kind,
        }
        self.happened.append(Event(event["id"], now, kind, encoded(event)))
        self.put_event(self.happened[-1])

    def put_event(self, event: Event) -> None:
        """Keep an event, and forget the oldest when there are too many."""
        self.events.put(event)
        if len(self.events) > EVENTS_KEPT + EVENTS_KEPT // 10:
            self.events.forget_oldest(EVENTS_KEPT)

    def intent(self, object_id: str, *, param: str = "intent") -> PaymentIntent:
        """Return a payment intent.

        Raises: Refused 404 when this account has none of this id.
        """
        found = self.intents.get(object_id)
        if found is None:
            raise no_such("payment_intent", object_id, param=param)
        return found

    def charge(self, object_id: str, *, param: str = "charge") -> Charge:
        """Return a charge.

        Raises: Refused 404 when this account has none of this id.
        """
        found = self.charges.get(object_id)
        if found is None:
            raise no_such("charge", object_id, param=param)
        return found

    def count(self, what: str, by: int = 1) -> None:
        """Count something that no object remembers."""
        self.tally[what] = self.tally.get(what, 0) + by


class Clock:
    """The sandbox's own clock: the machine's, shifted by request."""

    def __init__(self) -> None:
        self.offset = 0.0

    def now(self) -> int:
        """Return the seconds since 1970."""
        return int(time.time() + self.offset)


class Accounts:
    """All accounts, made when their key is first used."""

    def __init__(self) -> None:
        self.clock = Clock()
        self.by_key: dict[str, Account] = {}

    def of(self, key: str) -> Account:
        """Return the account of a key."""
        account = self.by_key.get(key)
        if account is None:
            account = self.by_key[key] = Account(key, self.clock)
        return account

    def with_object(self, find: Callable[[Account], object], key: str | None) -> Account | None:
        """Return the account, named or not, in which `find` finds something."""
        candidates = self.by_key.values() if key is None else [self.of(key)]
        return next((account for account in candidates if find(account)), None)
