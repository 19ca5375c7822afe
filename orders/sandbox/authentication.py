"""Secret keys. Any `sk_test_…` key is an account; a few of them rehearse refusals."""

from __future__ import annotations

import base64
import binascii

from .errors import Refused, rate_limited

INVALID, LIMITED, FORBIDDEN = "sk_test_invalid", "sk_test_ratelimited", "sk_test_forbidden"


def secret_key(header: str | None) -> str:
    """Return the key of a Bearer or Basic header.

    Raises: Refused 401 without a usable key, 403 for a restricted one, 429 for a limited one.
    """
    key = _key_in(header)
    if key is None:
        raise Refused(401, "No API key was given: Authorization: Bearer sk_test_…")
    if key.startswith(LIMITED):
        raise rate_limited()
    if key.startswith((FORBIDDEN, "rk_test_")):
        raise Refused(403, f"The key '{_veiled(key)}' may not use this endpoint.")
    if not key.startswith("sk_test_") or key.startswith(INVALID) or len(key) < 12:
        raise Refused(401, f"Invalid API Key provided: {_veiled(key)}")
    return key


def _key_in(header: str | None) -> str | None:
    scheme, _, told = (header or "").partition(" ")
    told = told.strip()
    if scheme.lower() == "bearer" and told:
        return told
    if scheme.lower() == "basic":
        try:
            return base64.b64decode(told, validate=True).decode().partition(":")[0] or None
        except (binascii.Error, UnicodeDecodeError):
            return None
    return None


def _veiled(key: str) -> str:
    return f"{key[:8]}{'*' * max(0, len(key) - 12)}{key[-4:]}" if len(key) > 12 else "****"
