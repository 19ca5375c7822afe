"""create_api_key MERCHANT --role agent|merchant|operator [--name N]."""

from __future__ import annotations

import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.actions.merchants import NoSuchMerchant, create_api_key


class Command(BaseCommand):
    """Create an API key and show it, once."""

    help = (
        "Create an API key. Keys of one name are one actor: give a replacement the old key's name,"
        " and another client a name of its own (the default)."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """Take what the contract names."""
        parser.add_argument("merchant_id", metavar="MERCHANT")
        parser.add_argument("--role", choices=["agent", "merchant", "operator"], required=True)
        parser.add_argument("--name", default="")
        parser.add_argument("--json", action="store_true", dest="as_json")

    def handle(self, *args: Any, **options: Any) -> None:
        """Create the key, or say in one line why not."""
        try:
            whole, key = create_api_key(
                merchant_id=options["merchant_id"], role=options["role"], name=options["name"]
            )
        except NoSuchMerchant as error:
            raise CommandError(str(error)) from error
        if options["as_json"]:
            told = {
                "merchant_id": key.merchant_id,
                "role": key.role,
                "name": key.name,
                "prefix": key.prefix,
                "api_key": whole,
            }
            self.stdout.write(json.dumps(told))
            return
        self.stdout.write(f"{whole}\n  acts as {key.actor}; revoke it by its prefix {key.prefix}")
