"""create_member MERCHANT USERNAME [--password P] [--role viewer|manager]."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.actions.merchants import NoSuchMerchant
from orders.actions.people import UsernameTaken, create_member


class Command(BaseCommand):
    """Create a person who may use a merchant's order pages."""

    help = "Create a person who may use one merchant's order pages."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what the contract names."""
        parser.add_argument("merchant_id", metavar="MERCHANT")
        parser.add_argument("username", metavar="USERNAME")
        parser.add_argument("--password", default="")
        parser.add_argument("--role", choices=["viewer", "manager"], default="viewer")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the member, or say in one line why not."""
        try:
            password = create_member(
                merchant_id=options["merchant_id"],
                username=options["username"],
                password=options["password"],
                role=options["role"],
            )
        except (NoSuchMerchant, UsernameTaken) as error:
            raise CommandError(str(error)) from error
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(f"member {options['username']} of {options['merchant_id']} created")
        if not options["password"]:
            self.stdout.write(f"  password, shown once: {password}")
