"""revoke_api_key PREFIX."""

from __future__ import annotations

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from orders.actions.merchants import NoSuchKey, revoke_api_key


class Command(BaseCommand):
    """Revoke an API key."""

    help = "Revoke an API key by its prefix (svx_ROLE_XXXXXXXX); refused everywhere within 5 s."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take the prefix."""
        parser.add_argument("prefix", metavar="PREFIX")

    def handle(self, *args: Any, **options: Any) -> None:
        """Revoke the key, or say in one line why not."""
        try:
            revoke_api_key(prefix=options["prefix"], now=timezone.now())
        except NoSuchKey as error:
            raise CommandError(str(error)) from error
        self.stdout.write(f"{options['prefix']} is revoked")
