"""deliver_outbox [--once]: deliver what is due, for a shell and for tests."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

from django.core.management.base import BaseCommand, CommandParser

from idempotency.delivery import deliver_due

PAUSE = 1.0  # seconds between two looks at an empty outbox


class Command(BaseCommand):
    """Deliver due events: all that are due now with --once, else until it is stopped."""

    help = "Deliver due outbox events until stopped; with --once those that are due now."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take --once."""
        parser.add_argument("--once", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        """Deliver, saying what was done."""
        while True:
            told = deliver_due(at_most=timedelta(hours=1))
            if options["once"] or told.delivered or told.failed:
                self.stdout.write(f"{told.delivered} delivered, {told.failed} put off or parked")
            if options["once"]:
                return
            time.sleep(PAUSE)
