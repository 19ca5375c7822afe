"""The secret key of a development stack: made once, kept in its home, for its owner only."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from django.core.exceptions import ImproperlyConfigured


def development_secret(home: Path) -> str:
    """Return the key kept in `home`, making it on first use; two starts at once agree on one.

    Raises:
        ImproperlyConfigured: the home cannot be written or read.
    """
    try:
        return _kept_key(home)
    except OSError as error:
        raise ImproperlyConfigured(
            f"SARVEX_HOME {home} cannot be used ({error.strerror}):"
            " set it to a folder of yours, or set SECRET_KEY"
        ) from None


def _kept_key(home: Path) -> str:
    path = home / "secret_key"
    if not path.exists():
        home.mkdir(parents=True, exist_ok=True)
        draft = home / f"secret_key.{os.getpid()}"
        draft.touch(mode=0o600)
        draft.write_text(secrets.token_urlsafe(48), encoding="ascii")
        try:
            os.link(draft, path)
        except FileExistsError:
            pass  # another start was first, and its key is the one
        finally:
            draft.unlink()
    return path.read_text(encoding="ascii").strip()
