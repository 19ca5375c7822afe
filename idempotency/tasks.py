"""Periodic work, and the nudge that makes it prompt. Tasks carry nothing and are never retried."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task

from idempotency.delivery import deliver_due as deliver

# Shorter than a worker is given to finish its work when it is asked to stop.
A_WHILE = timedelta(seconds=10)
# A nudge that waited this long is one of many: beat comes by every few seconds anyway.
NUDGE_EXPIRES = 10  # seconds


@shared_task(name="idempotency.deliver_due", ignore_result=True)
def deliver_due() -> None:
    """Deliver what is due. Any number of these may run at once, anywhere."""
    deliver(at_most=A_WHILE)


def nudge() -> None:
    """Ask a worker to deliver now; a broker that is away costs latency and nothing else."""
    deliver_due.apply_async(retry=False, expires=NUDGE_EXPIRES, ignore_result=True)
