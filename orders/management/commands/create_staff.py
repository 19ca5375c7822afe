"""create_staff USERNAME [--password P] --group support|finance|auditor."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.actions.people import STAFF_GROUPS, UsernameTaken, create_staff


class Command(BaseCommand):
    """Create a person for the back office."""

    help = "Create a person for the back office."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what the contract names."""
        parser.add_argument("username", metavar="USERNAME")
        parser.add_argument("--password", default="")
        parser.add_argument("--group", choices=STAFF_GROUPS, required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the person, or say in one line why not."""
        try:
            password = create_staff(
                username=options["username"], password=options["password"], group=options["group"]
            )
        except UsernameTaken as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"{options['username']} of {options['group']} created")
        if not options["password"]:
            self.stdout.write(f"  password, shown once: {password}")
