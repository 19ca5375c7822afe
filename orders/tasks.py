"""Periodic work on orders. Tasks carry nothing and are never retried."""

from __future__ import annotations

from celery import shared_task

from orders.actions import reconcile
from orders.clock import database_now

ACTOR = "system:reconcile"


@shared_task(name="orders.reconcile_operations", ignore_result=True, expires=30)
def reconcile_operations() -> None:
    """Look up every operation that is due for it; several of these at once ask once each."""
    for operation_id in reconcile.operations_to_look_up(database_now()):
        reconcile.look_up(operation_id, actor=ACTOR, now=database_now())
