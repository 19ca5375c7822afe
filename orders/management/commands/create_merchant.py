"""create_merchant ID --name N --currency usd …: a tenant with one API key for each role."""

from __future__ import annotations

import json
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.actions.merchants import AlreadyThere, create_merchant
from orders.currencies import is_currency


class Command(BaseCommand):
    """Create a merchant and show its API keys, once."""

    help = "Create a merchant with one API key for each role. Secrets are shown once."

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what the contract names."""
        parser.add_argument("merchant_id", metavar="ID")
        parser.add_argument("--name", required=True)
        parser.add_argument("--currency", required=True)
        parser.add_argument("--stripe-secret-key", default="")
        parser.add_argument("--stripe-webhook-secret", default="")
        parser.add_argument("--confirm", choices=["automatic", "manual"], default="automatic")
        parser.add_argument("--idempotency", choices=["required", "optional"], default="required")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the merchant, or say in one line why not."""
        if not is_currency(options["currency"]):
            raise CommandError(f"{options['currency']!r} is no lower-case ISO 4217 currency")
        try:
            keys = create_merchant(
                merchant_id=options["merchant_id"],
                name=options["name"],
                currency=options["currency"],
                stripe_secret_key=options["stripe_secret_key"],
                stripe_webhook_secret=options["stripe_webhook_secret"],
                confirm=options["confirm"],
                idempotency=options["idempotency"],
            )
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        except AlreadyThere as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            told = {"merchant_id": options["merchant_id"], "api_keys": keys}
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"merchant {options['merchant_id']} created; its API keys, shown once:")
        for role, key in keys.items():
            self.stdout.write(f"  {role:9} {key}")
