"""reconcile_operations: look up every operation that is due for it, and settle what is known."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand

from orders.actions import reconcile
from orders.models import Operation

ACTOR = "system:reconcile"
A_DAY = timedelta(days=1)


class Command(BaseCommand):
    """Find out what became of operations whose outcome is not known. Never sends."""

    help = "Look up operations of unknown outcome at their providers and settle them; never sends."

    def handle(self, *args: Any, **options: Any) -> None:
        """Look each one up, telling what came of it."""
        looked = 0
        for operation_id, status in reconcile.look_up_what_is_due(actor=ACTOR, at_most=A_DAY):
            looked += 1
            self.stdout.write(f"{looked} {operation_id} {status}")
        waiting = Operation.objects.filter(status=Operation.Status.INDETERMINATE).count()
        self.stdout.write(f"{looked} looked up, {waiting} still of unknown outcome")
