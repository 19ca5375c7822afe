"""When to try again: a pure decision."""

from __future__ import annotations

from datetime import datetime, timedelta
from random import Random

FIRST = timedelta(seconds=5)
LONGEST = timedelta(hours=6)
# What could not be delivered for three days waits for a person.
GIVE_UP_AFTER = timedelta(days=3)


def next_attempt(
    *, attempts: int, first_due_at: datetime, now: datetime, random: Random
) -> datetime | None:
    """Return when a delivery that failed `attempts` times is due again; None to park it.

    Doubles from 5 s to 6 h. Half of each pause is random, so that what failed together does not
    come back together. The last try falls on the end of the third day.
    """
    give_up_at = first_due_at + GIVE_UP_AFTER
    if now >= give_up_at:
        return None
    pause = min(FIRST * 2 ** min(attempts - 1, 30), LONGEST)
    return min(now + pause * (0.5 + random.random() / 2), give_up_at)
