"""Time: the database's, which every process shares, and how long this process took.

What one process writes down and another compares with (when something was sent, until when it is
being looked up) is in this time, so that two hosts whose clocks are an hour apart agree on it.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection


def database_now() -> datetime:
    """Return the database's time; one statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now


@dataclass(frozen=True, slots=True)
class Moment:
    """A point in this process's time, by both of its clocks."""

    monotonic: float
    wall: float

    @classmethod
    def now(cls) -> Moment:
        """Return the present moment."""
        return cls(time.monotonic(), time.time())

    def ago(self) -> timedelta:
        """Return how long ago it was: the longer of the two, since each may have stood still."""
        passed = max(time.monotonic() - self.monotonic, time.time() - self.wall)
        return timedelta(seconds=passed)
