"""Complete a checkout: one charge, one order, one answer, however often it is asked."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import InterfaceError, OperationalError, connection, transaction

from audit.record import new_mutation_id, record
from idempotency.answers import Answer, Claim
from idempotency.claims import Standing, claim_key, take_again
from idempotency.outbox import publish
from orders import announcements, locks, trail
from orders.actions import keys, submission
from orders.actions.standing import stand
from orders.answers import under_way
from orders.checkout_rules import BROKEN_BY, PASSED, refuse_other_amount, refuse_unless_open
from orders.clock import Moment
from orders.errors import NotFound, Refusal, ServiceUnavailable
from orders.models import Operation
from orders.models.operations import new_operation_id
from orders.models.orders import Order, derive_order_id

# A released key may be taken by another equal request just before us; then there is an owner to
# wait for. More rounds than this means that every one of them was not sent.
MOST_ROUNDS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Payment:
    """With what a checkout is to be paid: a handler's name and a token that it understands."""

    handler: str
    token: str


def complete_checkout(
    *,
    claim: Claim,
    payment: Payment,
    expected_amount_total: int | None,
    buyer: dict[str, Any] | None,
    respond_async: bool = False,
    now: datetime,
) -> Answer:
    """Charge a checkout and make its order, at most once whatever the key.

    Equal requests get the first one's answer: stored, waited for, or looked up at the provider.
    An outcome that is not known is a 202 with the operation, never an error. With
    `respond_async` nobody waits: the operation is accepted, and a worker sends it.

    Raises:
        KeyReused, RequestInProgress: the key stands for something else; its owner is not done.
        NotFound, CheckoutAlreadyCompleted, CheckoutCanceled, CheckoutExpired,
        CheckoutInProgress, AmountChanged: nothing was begun, and the key is free.
    """
    for _ in range(MOST_ROUNDS):
        begun_at = Moment.now()
        try:
            begun = _accept_for_certain(
                claim,
                payment=payment,
                expected_amount_total=expected_amount_total,
                buyer=buyer,
                respond_async=respond_async,
                now=now,
            )
        except Refusal as refusal:
            _note(claim, refusal, now=now)
            raise
        if not isinstance(begun, Standing):
            if respond_async:
                return under_way(begun)
            answer = submission.submit(begun, actor=claim.actor, begun_at=begun_at)
            return keys.keep(claim, answer, now=now)
        standing = stand(claim, begun, patient=not respond_async, now=now)
        if standing is not None:
            return keys.keep(claim, standing, now=now)
    raise keys.RequestInProgress(
        "Equal requests keep finding that nothing was sent. Ask again with the same key."
    )


def _accept_for_certain(claim: Claim, **said: Any) -> Operation | Standing:
    """Accept, and where the answer to COMMIT was lost, read what was committed instead of guessing.

    An intent that is found is ours to send, since nobody else knows of it; one that is not found
    was not begun, or is found by the next equal request.
    """
    operation_id = new_operation_id()
    try:
        return _accept(claim, operation_id=operation_id, **said)
    except (OperationalError, InterfaceError):
        connection.close()
        return _read_again(operation_id)


def _read_again(operation_id: str) -> Operation:
    """Return the intent whose COMMIT was not answered, or say what is known of it."""
    written = Operation.objects.select_related("checkout", "merchant", "record")
    try:
        return written.get(id=operation_id)
    except Operation.DoesNotExist as error:
        raise ServiceUnavailable("The database is out of reach. Nothing was begun.") from error
    except (OperationalError, InterfaceError) as error:
        raise ServiceUnavailable(
            "The database went out of reach while the request was being written down, so it is not"
            " known whether it was begun. Send it again with the same Idempotency-Key."
        ) from error


@transaction.atomic(durable=True)
def _accept(
    claim: Claim,
    *,
    operation_id: str,
    payment: Payment,
    expected_amount_total: int | None,
    buyer: dict[str, Any] | None,
    respond_async: bool,
    now: datetime,
) -> Operation | Standing:
    """Write the intent down, to be sent at once or by a worker, or say how the key stands."""
    standing = claim_key(claim, operation_id=operation_id, now=now)
    keys.refuse_other_meaning(claim, standing)
    if not keys.is_first(standing):
        return standing
    earlier = None
    if not standing.fresh:
        if not take_again(
            standing.record_id, operation_id=operation_id, after=standing.operation_id
        ):
            return standing
        earlier = Operation.objects.get(id=standing.operation_id)
    planned = earlier.planned_order_id if earlier else _planned_order_id(claim, standing)
    checkout = locks.checkout(
        merchant_id=claim.merchant, checkout_id=claim.subject, planned_order_id=planned
    )
    if checkout is None:
        raise NotFound("No such checkout.")
    refuse_unless_open(checkout, actor=claim.actor, now=now)
    refuse_other_amount(checkout, expected_amount_total)
    if locks.order_id_is_taken(checkout):
        planned = _free_order_id(claim, standing)
    checkout.begin()
    checkout.save(update_fields=["status"])
    operation = Operation(
        id=operation_id,
        merchant=checkout.merchant,
        type=Operation.Type.CHARGE,
        status=Operation.Status.ACCEPTED if respond_async else Operation.Status.SUBMITTING,
        amount=checkout.amount_total,
        currency=checkout.currency,
        handler=payment.handler,
        handler_request={"token": payment.token, **({"buyer": buyer} if buyer else {})},
        checkout=checkout,
        planned_order_id=planned,
        record_id=standing.record_id,
        idempotency_key=claim.key,
        generation=standing.generation,
        mutation_id=new_mutation_id(),
        root_id=earlier.root_id if earlier else operation_id,
        retry_count=earlier.retry_count + 1 if earlier else 0,
        actor=claim.actor,
        request_id=claim.request_id,
        traceparent=claim.traceparent,
        created_at=now,
        submitted_at=None if respond_async else standing.told_at,
    )
    operation.handler_key = earlier.handler_key if earlier else submission.key_for(operation)
    operation.save(force_insert=True)
    record([trail.attempted(operation, PASSED)])
    # The guardian of what is sent now looks when it should long be over; of the rest it is the
    # sender, and due at once.
    guarded_in = timedelta(0) if respond_async else settings.SARVEX_STALE_AFTER
    publish([announcements.order_intent(operation, due_in=guarded_in)])
    return operation


def _planned_order_id(claim: Claim, standing: Standing, *, salt: int = 0) -> str:
    return derive_order_id(
        claimed_at=standing.first_seen_at,
        merchant=claim.merchant,
        key=claim.key,
        generation=standing.generation,
        salt=salt,
    )


def _free_order_id(claim: Claim, standing: Standing) -> str:
    """Return the first derived id that no order has; found before the provider is asked."""
    salt = 1
    while Order.objects.filter(id=_planned_order_id(claim, standing, salt=salt)).exists():
        salt += 1
    return _planned_order_id(claim, standing, salt=salt)


def _note(claim: Claim, refusal: Refusal, *, now: datetime) -> None:
    """Put what the state of things refused into the trail; a mistaken address is no mutation."""
    broken = BROKEN_BY.get(refusal.code)
    line = None
    if broken is not None:
        line = trail.refused(
            claim,
            mutation_type="create",
            code=refusal.code,
            reason=refusal.detail,
            preconditions=[{"name": broken, "passed": False}],
            order_id=refusal.members.get("order_id") or "",
            now=now,
        )
    keys.note_refusal(claim, refusal, line, now=now)
