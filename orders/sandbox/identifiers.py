"""Identifiers that look like Stripe's and tell nothing about when they were made."""

from __future__ import annotations

import random

_random = random.Random()  # noqa: S311 - names, not secrets


def new_id(prefix: str) -> str:
    """Return `prefix_` and 24 characters; never sortable by time, as Stripe's are not."""
    return f"{prefix}_{_random.getrandbits(96):024x}"


def new_secret(of: str) -> str:
    """Return the client secret of a payment intent."""
    return f"{of}_secret_{_random.getrandbits(96):024x}"
