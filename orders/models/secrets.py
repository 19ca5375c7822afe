"""Secrets of other people: encrypted at rest, keys rotated by putting a new one in front."""

from __future__ import annotations

from base64 import urlsafe_b64encode
from functools import lru_cache

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings


class SecretUnreadable(Exception):
    """No configured key opens the secret: a key was taken out before its secrets were rotated."""


@lru_cache(maxsize=1)
def _fernet() -> MultiFernet:
    derived = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"sarvex provider secrets")
    last = urlsafe_b64encode(derived.derive(settings.SECRET_KEY.encode()))
    return MultiFernet([Fernet(key) for key in (*settings.SARVEX_ENCRYPTION_KEYS, last)])


def encrypt(secret: str) -> str:
    """Return the secret sealed with the newest key; an empty secret stays empty."""
    return _fernet().encrypt(secret.encode()).decode() if secret else ""


@lru_cache(maxsize=1024)
def decrypt(sealed: str) -> str:
    """Open what `encrypt` sealed with any of the configured keys.

    Raises:
        SecretUnreadable: none of them opens it.
    """
    if not sealed:
        return ""
    try:
        return _fernet().decrypt(sealed.encode()).decode()
    except InvalidToken as error:
        raise SecretUnreadable("no key in SARVEX_ENCRYPTION_KEYS opens this secret") from error


def rotate(sealed: str) -> str:
    """Seal again with the newest key what any of the configured keys opens."""
    return _fernet().rotate(sealed.encode()).decode() if sealed else ""
