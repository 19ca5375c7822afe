"""Facts, constraints and transitions; verbs are in `orders.actions`."""

from __future__ import annotations

from orders.models.checkouts import CheckoutSession
from orders.models.merchants import ApiKey, Member, Merchant
from orders.models.operations import Operation
from orders.models.orders import Order
from orders.models.provider_events import ProviderEvent

__all__ = [
    "ApiKey",
    "CheckoutSession",
    "Member",
    "Merchant",
    "Operation",
    "Order",
    "ProviderEvent",
]
