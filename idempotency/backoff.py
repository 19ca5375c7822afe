"""How long to wait before trying again: a pure decision."""

from __future__ import annotations

from datetime import timedelta
from random import Random

FIRST = timedelta(seconds=5)
LONGEST = timedelta(hours=6)
# What could not be delivered for three days waits for a person.
GIVE_UP_AFTER = timedelta(days=3)


def next_pause(*, attempts: int, age: timedelta, random: Random) -> timedelta | None:
    """Return how long a delivery that failed `attempts` times rests; None to park it.

    Doubles from 5 s to 6 h. Half of each pause is random, so that what failed together does not
    come back together. The last try falls on the end of the third day.
    """
    left = GIVE_UP_AFTER - age
    if left <= timedelta(0):
        return None
    pause = min(FIRST * 2 ** min(attempts - 1, 30), LONGEST)
    return min(pause * (0.5 + random.random() / 2), left)
