"""Claims, records and events, as tests speak of them."""

from __future__ import annotations

import secrets
from datetime import timedelta
from typing import Any

from django.db import transaction
from django.utils import timezone

from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, answer_key, claim_key
from idempotency.models import IdempotencyRecord, OutboxEvent
from idempotency.outbox import new_event_id

DAY = timedelta(days=1)
State = IdempotencyRecord.State


def a_claim(**facts: Any) -> Claim:
    """Return a claim of a key that no other test has."""
    return Claim(
        **{
            "merchant": "acme",
            "key": f"key-{secrets.token_hex(8)}",
            "actor": "agent:bot",
            "fingerprint": "f" * 64,
            "route": "complete_checkout",
            "subject": "cs_1",
            "request_id": "req_1",
            **facts,
        }
    )


def an_answer(**facts: Any) -> Answer:
    """Return a final answer that lasts a day."""
    return Answer(
        **{
            "status": 200,
            "body": b'{"object":"order"}',
            "headers": {"Content-Type": "application/json"},
            "final": True,
            "expires_at": timezone.now() + DAY,
            **facts,
        }
    )


def claimed(claim: Claim, *, operation_id: str = "op_1", now: Any = None) -> Standing:
    """Claim a key for good, in a transaction of its own."""
    with transaction.atomic(durable=True):
        return claim_key(claim, operation_id=operation_id, now=now or timezone.now())


def answered(claim: Claim, answer: Answer | None = None, *, now: Any = None) -> Answer:
    """Claim a key and give it its answer for a day."""
    standing = claimed(claim, now=now)
    return answer_key(
        standing.record_id,
        answer or an_answer(),
        result_id="order_1",
        now=now or timezone.now(),
        window=DAY,
    )


def a_record(**facts: Any) -> IdempotencyRecord:
    """Write a record; an answered one has an answer unless it says otherwise."""
    now = timezone.now()
    facts.setdefault("state", State.OPEN)
    if facts["state"] == State.ANSWERED:
        facts = {
            "answer_status": 200,
            "answered_at": now,
            "expires_at": now + DAY,
            "answer_body": b"{}",
            **facts,
        }
    record = IdempotencyRecord(
        **{
            "merchant": "acme",
            "key": f"key-{secrets.token_hex(8)}",
            "generation": 0,
            "fingerprint": "f" * 64,
            "actor": "agent:bot",
            "route": "complete_checkout",
            "subject": "cs_1",
            "request_id": "req_1",
            "first_seen_at": now,
            **facts,
        }
    )
    record.save(force_insert=True)
    return record


def an_event(**facts: Any) -> OutboxEvent:
    """Return an unwritten event to which nobody subscribes, due in a year."""
    return OutboxEvent(
        **{
            "event_id": new_event_id(),
            "topic": "tests.nobody",
            "merchant": "acme",
            "subject": secrets.token_hex(8),
            "sequence": 1,
            "payload": {},
            "due_at": timezone.now() + timedelta(days=365),
            **facts,
        }
    )


def a_written_event(**facts: Any) -> OutboxEvent:
    """Write an event and return it."""
    event = an_event(**facts)
    event.save(force_insert=True)
    return event
