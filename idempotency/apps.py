"""Repetition: requests that come again, events that go out again."""

from __future__ import annotations

from django.apps import AppConfig


class IdempotencyConfig(AppConfig):
    """An app that knows keys, answers and events, and nothing of what they are about."""

    name = "idempotency"
    verbose_name = "Idempotency"
