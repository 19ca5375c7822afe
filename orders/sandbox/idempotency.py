"""Stripe's v1 idempotency, as https://docs.stripe.com/api/idempotent_requests tells it.

The first result of a key is kept, whatever it is, once the endpoint had begun to execute, and is
replayed for the same endpoint and parameters. Refusals before that, conflicts with a request in
progress, 401 and 429 are not kept.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

from .errors import invalid, key_in_use, key_reused
from .records import Kept

LONGEST = 255
DAY = 24 * 3600


def fingerprint(method: str, path: str, pairs: Iterable[tuple[str, str]]) -> str:
    """Name an endpoint and parameters; their order does not matter."""
    told = repr((method, path, tuple(pairs)))
    return hashlib.blake2b(told.encode("utf-8", "surrogatepass"), digest_size=12).hexdigest()


class Keys:
    """The idempotency keys of one account."""

    def __init__(self) -> None:
        self.kept: dict[str, Kept] = {}  # in order of their making
        self.seen: set[str] = set()
        self.changed: list[Kept] = []
        self._holding: dict[str, str] = {}

    def begin(self, key: str, print_: str, *, now: int, keep_for: int) -> Kept | None:
        """Take the key, or return its kept result.

        Raises: Refused 400 when the key stands for something else, 409 while another holds it.
        """
        if len(key) > LONGEST:
            raise invalid(f"Idempotency keys have {LONGEST} characters at most")
        if not (key.isascii() and key.isprintable()):
            raise invalid("Idempotency keys are made of visible ASCII characters")
        self.seen.add(key)
        self._forget(now - keep_for)
        kept = self.kept.get(key)
        held = self._holding.get(key)
        if (kept and kept.fingerprint != print_) or (held and held != print_):
            raise key_reused(key)
        if held:
            raise key_in_use(key)
        if kept is None:
            self._holding[key] = print_
        return kept

    def release(self, key: str) -> None:
        """Let the key go; without a kept result the next request begins anew."""
        self._holding.pop(key, None)

    def keep(self, kept: Kept) -> None:
        """Keep the first result of a key."""
        self.kept[kept.key] = kept
        self.changed.append(kept)

    def newer_than(self, before: int) -> list[Kept]:
        """Return the results that were kept after a time."""
        return [kept for kept in self.kept.values() if kept.created > before]

    def _forget(self, before: int) -> None:
        while self.kept:
            oldest = next(iter(self.kept))
            if self.kept[oldest].created > before:
                return
            del self.kept[oldest]
