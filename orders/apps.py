"""The domain: checkouts, orders and the operations that move their money."""

from __future__ import annotations

from django.apps import AppConfig


class OrdersConfig(AppConfig):
    """The app that knows money."""

    name = "orders"
    verbose_name = "Orders"
