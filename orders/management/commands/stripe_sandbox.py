"""`manage.py stripe_sandbox`: serve a Stripe that moves no money."""

from __future__ import annotations

import asyncio
from argparse import ArgumentParser
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from orders.sandbox.app import run
from orders.sandbox.journal import JournalInUse, JournalUnreadable
from orders.sandbox.webhooks import Endpoint


class Command(BaseCommand):
    """Serves until it is told to end; needs neither database nor Redis."""

    help = "Serve a Stripe that moves no money and misbehaves on request (docs/sandbox.md)."
    requires_system_checks = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--port", type=int, required=True)
        parser.add_argument("--host", default="127.0.0.1")
        parser.add_argument("--state", type=Path, help="journal that a restart reads again")
        parser.add_argument("--webhook-url", help="where the events of every account go")
        parser.add_argument("--webhook-secret", help="what they are signed with")

    def handle(self, *args: Any, **options: Any) -> None:
        url, secret = options["webhook_url"], options["webhook_secret"]
        if bool(url) != bool(secret):
            raise CommandError("--webhook-url and --webhook-secret go together")
        endpoint = Endpoint(url=url, secret=secret) if url else None
        host, port, state = options["host"], options["port"], options["state"]
        try:
            asyncio.run(run(host=host, port=port, state=state, endpoint=endpoint))
        except (JournalInUse, JournalUnreadable, OSError) as error:
            raise CommandError(str(error)) from error
