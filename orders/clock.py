"""The one clock that every process of an installation shares: the database's.

What one process writes down and another compares with (when something was sent, until when it is
being looked up) is in this time, so that two hosts whose clocks are an hour apart agree on it.
"""

from __future__ import annotations

from datetime import datetime

from django.db import connection


def database_now() -> datetime:
    """Return the database's time; one statement."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT statement_timestamp()")
        now: datetime = cursor.fetchone()[0]
        return now
