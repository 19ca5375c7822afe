"""Remember which requests arrived for a key, without making any of them wait for a write.

The request that gave a key its meaning stands in its record, written before anything was begun;
here are the ones that came after it, or in vain.
"""

from __future__ import annotations

import time
from datetime import datetime

from idempotency.answers import Claim
from idempotency.later import MOMENT, LaterWriter
from idempotency.models import Arrival

_writer: LaterWriter[Arrival] = LaterWriter("arrivals", Arrival.objects.bulk_create)


def remember(claim: Claim, outcome: str, *, now: datetime) -> None:
    """Note that a request arrived and how it was answered; costs no I/O.

    `outcome` is `replayed`, `waited`, `mismatch`, `in_progress`, `indeterminate` or `refused:CODE`.
    """
    _writer.add(
        Arrival(
            merchant=claim.merchant,
            key=claim.key,
            subject=claim.subject,
            actor=claim.actor,
            request_id=claim.request_id,
            traceparent=claim.traceparent,
            fingerprint=claim.fingerprint,
            outcome=outcome,
            arrived_at=now,
        )
    )


def settle_down() -> None:
    """Return when the arrivals up to now, of this and of other processes, can be read back."""
    _writer.write_out()
    time.sleep(2 * MOMENT)
