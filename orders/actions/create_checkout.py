"""Create a checkout: freeze a priced basket."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import orjson
from django.db import transaction

from audit.record import record
from idempotency.answers import Answer, Claim
from orders import trail
from orders.actions import keys
from orders.documents import checkout_document
from orders.errors import Invalid, Refusal
from orders.models import CheckoutSession
from orders.models.checkouts import MOST, new_checkout_id


class AmountOutOfRange(Invalid):
    """The basket comes to nothing, to less than nothing, or to more than can be charged."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Basket:
    """What is to be bought. Amounts are integers in minor units of `currency`."""

    currency: str
    line_items: list[dict[str, Any]]
    shipping_amount: int = 0
    tax_amount: int = 0
    discount_amount: int = 0
    buyer: dict[str, Any] = field(default_factory=dict)
    shipping_address: dict[str, Any] | None = None
    capture: str = CheckoutSession.Capture.AUTOMATIC
    expires_in: timedelta = timedelta(days=1)
    metadata: dict[str, str] = field(default_factory=dict)

    @property
    def subtotal(self) -> int:
        """The line items' sum in minor units."""
        return sum(int(item["quantity"]) * int(item["unit_amount"]) for item in self.line_items)

    @property
    def total(self) -> int:
        """What is to be charged, in minor units."""
        extras = self.shipping_amount + self.tax_amount - self.discount_amount
        return self.subtotal + extras


def create_checkout(*, claim: Claim, basket: Basket, now: datetime) -> Answer:
    """Open a checkout with a price that no longer changes; 201 with the session.

    An equal request under the same key gets the first one's answer; a claim whose key is empty
    is not remembered.

    Raises:
        AmountOutOfRange: the total is not from 1 to 99,999,999 minor units.
        KeyReused: the key stands for something else.
    """
    if not 1 <= basket.total <= MOST:
        raise AmountOutOfRange(
            f"The total must be from 1 to {MOST} minor units; this basket comes to {basket.total}.",
            errors={"amount_total": [f"Must be from 1 to {MOST}."]},
        )
    try:
        answer = _open(claim, basket, now=now)
    except Refusal as refusal:
        keys.note_refusal(claim, refusal, None, now=now)
        raise
    return keys.told(claim, answer, now=now)


@transaction.atomic(durable=True)
def _open(claim: Claim, basket: Basket, *, now: datetime) -> Answer:
    standing = keys.claimed(claim, now=now)
    if standing is not None and standing.answer is not None:
        return standing.answer
    checkout = CheckoutSession(
        id=new_checkout_id(),
        merchant_id=claim.merchant,
        currency=basket.currency,
        capture=basket.capture,
        line_items=basket.line_items,
        amount_subtotal=basket.subtotal,
        shipping_amount=basket.shipping_amount,
        tax_amount=basket.tax_amount,
        discount_amount=basket.discount_amount,
        amount_total=basket.total,
        buyer=basket.buyer,
        shipping_address=basket.shipping_address,
        metadata=basket.metadata,
        expires_at=now + basket.expires_in,
        created_at=now,
    )
    checkout.save(force_insert=True)
    about = replace(claim, subject=checkout.id)
    record([trail.of_checkout(about, mutation_type="create_checkout", to_status="open", now=now)])
    answer = Answer(
        status=201,
        body=orjson.dumps(checkout_document(checkout, now=now)),
        headers={"Content-Type": "application/json", "Location": f"/checkout/{checkout.id}"},
    )
    return keys.stored(standing, answer, result_id=checkout.id, now=now)
