"""What every verb does with the key that it was asked under, before and instead of its own work."""

from __future__ import annotations

from datetime import datetime

from django.conf import settings
from django.db import transaction

from audit.models import MutationAttempt
from audit.record import record
from idempotency import arrivals, replay_cache
from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, State, answer_key, claim_key
from orders.errors import Refusal


class KeyReused(Refusal):
    """The key already stands for a request of another content, actor or resource."""

    code = "idempotency_key_reused"


class RequestInProgress(Refusal):
    """The same request is still being worked on, by somebody who has not answered in time."""

    code = "idempotency_request_in_progress"


def shelved(claim: Claim, *, now: datetime) -> Answer | None:
    """Return the replay that the cache has for an equal request, noting that it arrived."""
    answer = replay_cache.find(
        merchant=claim.merchant, key=claim.key, fingerprint=claim.fingerprint, now=now
    )
    if answer is not None:
        arrivals.remember(claim, "replayed", now=now)
    return answer


def keep(claim: Claim, answer: Answer, *, now: datetime) -> Answer:
    """Put a final answer on the shelf for equal requests, and return it."""
    replay_cache.keep(
        merchant=claim.merchant,
        key=claim.key,
        fingerprint=claim.fingerprint,
        answer=answer,
        now=now,
    )
    return answer


def refuse_other_meaning(claim: Claim, standing: Standing) -> None:
    """Raise `KeyReused` when the key already means something else."""
    if standing.fingerprint != claim.fingerprint:
        raise KeyReused(
            "This Idempotency-Key already stands for another request. Reuse a key only to repeat"
            " the same request; a new purchase needs a new key."
        )


def is_first(standing: Standing) -> bool:
    """Whether the caller is to do the work: the key is new, or nothing happened under it."""
    return standing.fresh or standing.state == State.RELEASED


def claimed(claim: Claim, *, now: datetime) -> Standing | None:
    """Claim the key in the caller's transaction; None for a claim without one.

    Raises:
        KeyReused
    """
    if not claim.key:
        return None
    standing = claim_key(claim, operation_id="", now=now)
    refuse_other_meaning(claim, standing)
    return standing


def stored(standing: Standing | None, answer: Answer, *, result_id: str, now: datetime) -> Answer:
    """Store a final answer under the claimed key, in the caller's transaction, if there is one."""
    if standing is None:
        return answer
    return answer_key(
        standing.record_id,
        answer,
        result_id=result_id,
        now=now,
        window=settings.SARVEX_REPLAY_WINDOW,
    )


def told(claim: Claim, answer: Answer, *, now: datetime) -> Answer:
    """Note a replay, shelve the answer for the next equal request, and return it."""
    if not claim.key:
        return answer
    if answer.replayed:
        arrivals.remember(claim, "replayed", now=now)
    return keep(claim, answer, now=now)


def note_refusal(
    claim: Claim, refusal: Refusal, line: MutationAttempt | None, *, now: datetime
) -> None:
    """Note a refused arrival, and in the trail what was refused; the key stays free."""
    outcome = "mismatch" if isinstance(refusal, KeyReused) else f"refused:{refusal.code}"
    arrivals.remember(claim, outcome, now=now)
    if line is not None:
        with transaction.atomic(durable=True):
            record([line])
