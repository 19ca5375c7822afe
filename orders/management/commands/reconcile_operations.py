"""reconcile_operations: look up every operation that is due for it, and settle what is known."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand

from orders.actions import reconcile
from orders.clock import database_now
from orders.models import Operation


class Command(BaseCommand):
    """Find out what became of operations whose outcome is not known. Never sends."""

    help = "Look up operations of unknown outcome at their providers and settle them; never sends."

    def handle(self, *args: Any, **options: Any) -> None:
        """Look each one up, telling what came of it."""
        due = reconcile.operations_to_look_up(database_now())
        for number, operation_id in enumerate(due, start=1):
            reconcile.look_up(operation_id, actor="system:reconcile", now=database_now())
            status = Operation.objects.values_list("status", flat=True).get(id=operation_id)
            self.stdout.write(f"{number}/{len(due)} {operation_id} {status}")
        waiting = Operation.objects.filter(status=Operation.Status.INDETERMINATE).count()
        self.stdout.write(f"{len(due)} looked up, {waiting} still of unknown outcome")
