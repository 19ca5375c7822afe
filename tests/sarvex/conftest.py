"""What the tests of the whole service share with those of the API."""

from __future__ import annotations

from tests.orders.api.conftest import quiet

__all__ = ["quiet"]
