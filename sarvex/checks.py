"""System checks: what would only be noticed when money is at stake is noticed at the start."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from cryptography.fernet import Fernet
from django.apps import AppConfig
from django.conf import settings
from django.core.checks import CheckMessage, Error, Tags, register
from django.utils.module_loading import import_string


@register
def dotted_paths_can_be_imported(
    app_configs: Sequence[AppConfig] | None, **_: Any
) -> list[CheckMessage]:
    """Find handlers and subscribers that the settings name and nobody wrote."""
    paths = [("PAYMENT_HANDLERS", path) for path in settings.PAYMENT_HANDLERS.values()]
    for subscribers in settings.OUTBOX_SUBSCRIBERS.values():
        paths += [("OUTBOX_SUBSCRIBERS", path) for path in subscribers]
    found: list[CheckMessage] = []
    for name, path in paths:
        try:
            import_string(path)
        except ImportError as error:
            found.append(Error(f"{name}: {path} cannot be imported: {error}", id="sarvex.E001"))
    return found


@register
def encryption_keys_are_keys(
    app_configs: Sequence[AppConfig] | None, **_: Any
) -> list[CheckMessage]:
    """Find entries of SARVEX_ENCRYPTION_KEYS that are no Fernet keys."""
    found: list[CheckMessage] = []
    for number, key in enumerate(settings.SARVEX_ENCRYPTION_KEYS, start=1):
        try:
            Fernet(key)
        except ValueError:
            found.append(
                Error(f"SARVEX_ENCRYPTION_KEYS: entry {number} is no Fernet key", id="sarvex.E002")
            )
    return found


@register(Tags.security, deploy=True)
def production_has_its_secrets(
    app_configs: Sequence[AppConfig] | None, **_: Any
) -> list[CheckMessage]:
    """Find settings that are fine for development and not for money."""
    found: list[CheckMessage] = []
    if settings.SECRET_KEY_IS_OURS:
        found.append(Error("SECRET_KEY is not set in the environment", id="sarvex.E003"))
    if settings.STRIPE_API_BASE:
        found.append(
            Error("STRIPE_API_BASE is set: charges would go to a stand-in", id="sarvex.E004")
        )
    if not settings.DATABASE_URL_IS_GIVEN:
        found.append(Error("DATABASE_URL is not set in the environment", id="sarvex.E005"))
    return found
