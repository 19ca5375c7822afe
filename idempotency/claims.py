"""Claim a key, find what it means, give it its answer. Every function joins the caller's phase."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import connection

from idempotency.answers import Answer, Claim
from idempotency.models import IdempotencyRecord

State = IdempotencyRecord.State


@dataclass(frozen=True, slots=True, kw_only=True)
class Standing:
    """What a key means at this moment. `fresh` says that this very claim gave it its meaning.

    `told_at` is the database's time of that moment.
    """

    record_id: int
    generation: int
    fingerprint: str
    state: str
    operation_id: str
    first_seen_at: datetime
    told_at: datetime
    fresh: bool = False
    answer: Answer | None = None


class ClaimVanished(Exception):
    """Two statements in a row saw neither the key nor room for it; PostgreSQL forbids that."""


_COLUMNS = (
    "id, generation, fingerprint, state, operation_id, first_seen_at,"
    " answer_status, answer_headers, answer_body, expires_at"
)

# One statement: take the newest generation as it stands, or, where there is none or its window
# has passed, begin the next. Of two claims at once the second waits for the first to commit, and
# then inserts nothing; its snapshot is older than that commit, so it must ask once more.
_CLAIM = f"""
WITH latest AS (
    SELECT {_COLUMNS} FROM idempotency_idempotencyrecord
    WHERE merchant = %(merchant)s AND key = %(key)s
    ORDER BY generation DESC LIMIT 1
), fresh AS (
    INSERT INTO idempotency_idempotencyrecord
        (merchant, key, generation, fingerprint, actor, route, subject, request_id, traceparent,
         state, operation_id, result_id, first_seen_at, answer_headers)
    SELECT %(merchant)s, %(key)s, COALESCE((SELECT generation + 1 FROM latest), 0),
           %(fingerprint)s, %(actor)s, %(route)s, %(subject)s, %(request_id)s, %(traceparent)s,
           'open', %(operation_id)s, '', %(now)s, '{{}}'
    WHERE NOT EXISTS (
        SELECT 1 FROM latest WHERE state <> 'answered' OR expires_at > %(now)s
    )
    ON CONFLICT DO NOTHING
    RETURNING {_COLUMNS}
)
SELECT true, statement_timestamp(), * FROM fresh
UNION ALL
SELECT false, statement_timestamp(), * FROM latest WHERE NOT EXISTS (SELECT 1 FROM fresh)
  AND (state <> 'answered' OR expires_at > %(now)s)
"""  # noqa: S608 (only our own column names are put in)

_READ = f"""
SELECT false, statement_timestamp(), {_COLUMNS} FROM idempotency_idempotencyrecord
WHERE merchant = %s AND key = %s ORDER BY generation DESC LIMIT 1
"""  # noqa: S608 (only our own column names are put in)


def _standing(row: tuple[Any, ...]) -> Standing:
    fresh, told_at, record_id, generation, fingerprint, state, operation_id = row[:7]
    first_seen_at, status, headers, body, expires_at = row[7:]
    answer = None
    if state == State.ANSWERED:
        answer = Answer(
            status=status,
            body=bytes(body or b""),
            headers=orjson.loads(headers) if isinstance(headers, str) else headers,
            final=True,
            replayed=True,
            expires_at=expires_at,
        )
    return Standing(
        record_id=record_id,
        generation=generation,
        fingerprint=fingerprint,
        state=state,
        operation_id=operation_id,
        first_seen_at=first_seen_at,
        told_at=told_at,
        fresh=fresh,
        answer=answer,
    )


def claim_key(claim: Claim, *, operation_id: str, now: datetime) -> Standing:
    """Give a key its meaning, or say what it already means; one statement, atomic by constraint.

    A key whose answer's window has passed begins its next generation. An unfinished key is
    never forgotten, however old it is.
    """
    parameters: dict[str, Any] = {
        "merchant": claim.merchant,
        "key": claim.key,
        "fingerprint": claim.fingerprint,
        "actor": claim.actor,
        "route": claim.route,
        "subject": claim.subject,
        "request_id": claim.request_id,
        "traceparent": claim.traceparent,
        "operation_id": operation_id,
        "now": now,
    }
    with connection.cursor() as cursor:
        for _ in range(2):
            cursor.execute(_CLAIM, parameters)
            row = cursor.fetchone()
            if row is not None:
                return _standing(row)
    raise ClaimVanished(claim.key)


def read_key(*, merchant: str, key: str) -> Standing | None:
    """Return what a key means now, without a lock and without a claim; None if nothing."""
    with connection.cursor() as cursor:
        cursor.execute(_READ, (merchant, key))
        row = cursor.fetchone()
    return None if row is None else _standing(row)


def take_again(record_id: int, *, operation_id: str, after: str) -> bool:
    """Let an equal request try a released key again; of several at once exactly one may.

    `after` is the operation that was not sent, as the caller knows it: one that another try has
    meanwhile replaced is not tried again.
    """
    return _update(
        "state = 'open', operation_id = %s"
        " WHERE id = %s AND state = 'released' AND operation_id = %s",
        (operation_id, record_id, after),
    )


def leave_unresolved(record_id: int) -> bool:
    """Say that nobody is working on the key any longer and that what happened is not known."""
    return _update("state = 'unresolved' WHERE id = %s AND state = 'open'", (record_id,))


def release(record_id: int) -> bool:
    """Say that nothing happened under the key, so that an equal request may try again."""
    return _update(
        "state = 'released' WHERE id = %s AND state IN ('open', 'unresolved')", (record_id,)
    )


def answer_key(
    record_id: int, answer: Answer, *, result_id: str, now: datetime, window: timedelta
) -> Answer:
    """Store a final answer; it is replayed until `now + window`, and nobody can change it."""
    expires_at = now + window
    _update(
        "state = 'answered', answered_at = %s, expires_at = %s, answer_status = %s,"
        " answer_headers = %s, answer_body = %s, result_id = %s WHERE id = %s",
        (
            now,
            expires_at,
            answer.status,
            orjson.dumps(answer.headers).decode(),
            answer.body,
            result_id,
            record_id,
        ),
    )
    return Answer(
        status=answer.status,
        body=answer.body,
        headers=answer.headers,
        final=True,
        expires_at=expires_at,
    )


def _update(change: str, parameters: tuple[Any, ...]) -> bool:
    with connection.cursor() as cursor:
        cursor.execute(f"UPDATE idempotency_idempotencyrecord SET {change}", parameters)  # noqa: S608
        return cursor.rowcount == 1
