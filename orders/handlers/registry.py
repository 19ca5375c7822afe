"""Find the handler that a checkout asks for, with its merchant's credentials."""

from __future__ import annotations

from django.conf import settings
from django.utils.module_loading import import_string

from orders.handlers.base import Handler
from orders.models import Merchant


def known_handlers() -> list[str]:
    """Return the names that a payment may ask for."""
    return sorted(settings.PAYMENT_HANDLERS)


def handler_for(name: str, merchant: Merchant) -> Handler:
    """Return the handler of that name for one merchant.

    Raises:
        KeyError: no handler has that name; callers check `known_handlers` first.
    """
    handler: Handler = import_string(settings.PAYMENT_HANDLERS[name])(merchant)
    return handler
