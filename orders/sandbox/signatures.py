"""Stripe's webhook signatures (https://docs.stripe.com/webhooks#verify-manually)."""

from __future__ import annotations

import hashlib
import hmac


def signature(body: bytes, secret: str, timestamp: int) -> str:
    """Return the `Stripe-Signature` header for a body sent at a time."""
    signed = f"{timestamp}.".encode() + body
    digest = hmac.new(secret.encode(), signed, hashlib.sha256).hexdigest()
    return f"t={timestamp},v1={digest}"
