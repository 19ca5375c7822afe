"""Cancel a checkout: make sure that nobody will buy it."""

from __future__ import annotations

from datetime import datetime

from django.db import transaction

from audit.record import record
from idempotency.answers import Answer, Claim
from orders import locks, trail
from orders.actions import keys
from orders.answers import done
from orders.checkout_rules import BROKEN_BY, refuse_unless_open
from orders.documents import checkout_document
from orders.errors import NotFound, Refusal
from orders.models import CheckoutSession


def cancel_checkout(*, claim: Claim, now: datetime) -> Answer:
    """Close an open checkout for good; 200 with the session. Canceling twice changes nothing.

    A claim whose key is empty is not remembered.

    Raises:
        NotFound, CheckoutAlreadyCompleted, CheckoutInProgress, CheckoutExpired: as for completing.
        KeyReused: the key stands for something else.
    """
    try:
        answer = _cancel(claim, now=now)
    except Refusal as refusal:
        _note(claim, refusal, now=now)
        raise
    return keys.told(claim, answer, now=now)


@transaction.atomic(durable=True)
def _cancel(claim: Claim, *, now: datetime) -> Answer:
    standing = keys.claimed(claim, now=now)
    if standing is not None and standing.answer is not None:
        return standing.answer
    checkout = locks.checkout(merchant_id=claim.merchant, checkout_id=claim.subject)
    if checkout is None:
        raise NotFound("No such checkout.")
    if checkout.status != CheckoutSession.Status.CANCELED:
        refuse_unless_open(checkout, actor=claim.actor, now=now)
        checkout.cancel()
        checkout.save(update_fields=["status"])
        record(
            [
                trail.of_checkout(
                    claim, mutation_type="cancel_checkout", to_status="canceled", now=now
                )
            ]
        )
    answer = done(checkout_document(checkout, now=now))
    return keys.stored(standing, answer, result_id=checkout.id, now=now)


def _note(claim: Claim, refusal: Refusal, *, now: datetime) -> None:
    line = None
    if refusal.code in BROKEN_BY:
        line = trail.refused(
            claim,
            mutation_type="cancel_checkout",
            code=refusal.code,
            reason=refusal.detail,
            preconditions=[{"name": BROKEN_BY[refusal.code], "passed": False}],
            now=now,
        )
    keys.note_refusal(claim, refusal, line, now=now)
