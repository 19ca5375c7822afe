"""Periodic work on orders. Tasks carry nothing and are never retried."""

from __future__ import annotations

from datetime import timedelta

from celery import shared_task

from orders.actions import reconcile

ACTOR = "system:reconcile"
# A worker has other things to do as well; beat comes by every few seconds.
A_WHILE = timedelta(seconds=10)


@shared_task(name="orders.reconcile_operations", ignore_result=True, expires=30)
def reconcile_operations() -> None:
    """Look up every operation that is due for it; several of these at once ask once each."""
    for _ in reconcile.look_up_what_is_due(actor=ACTOR, at_most=A_WHILE):
        pass
