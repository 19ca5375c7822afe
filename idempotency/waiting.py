"""Wait for the request that owns a key, for a bounded time and without holding a connection."""

from __future__ import annotations

import time
from datetime import timedelta

from django.db import connection
from django.utils import timezone

from idempotency import replay_cache
from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, State, read_key

FIRST_PAUSE = 0.010  # seconds: a fast provider's answer is seen almost at once
LONGEST_PAUSE = 0.200  # fifty waiters then ask PostgreSQL 250 times a second at the most
GROWTH = 1.4


def wait_for_owner(claim: Claim, *, at_most: timedelta) -> Standing | Answer | None:
    """Return the owner's answer, or how the key stands once it is no longer being worked on.

    None when the owner is still at work after `at_most`. Looks on the shelf first and in the
    database every second time, so that a shelf that is empty or out of reach only costs time.
    """
    deadline = time.monotonic() + at_most.total_seconds()
    pause, looks = FIRST_PAUSE, 0
    while True:
        connection.close()  # back to the pool: a waiter holds nothing that others need
        left = deadline - time.monotonic()
        if left <= 0:
            return None
        time.sleep(min(pause, left))
        pause, looks = min(pause * GROWTH, LONGEST_PAUSE), looks + 1
        shelved = replay_cache.find(
            merchant=claim.merchant,
            key=claim.key,
            fingerprint=claim.fingerprint,
            now=timezone.now(),
        )
        if shelved is not None:
            return shelved
        if looks % 2 == 0 or deadline - time.monotonic() <= 0:
            standing = read_key(merchant=claim.merchant, key=claim.key)
            if standing is None or standing.fingerprint != claim.fingerprint:
                return None  # the key's window ended while we waited: another request has it now
            if standing.state != State.OPEN:
                return standing
