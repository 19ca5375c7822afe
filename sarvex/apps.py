"""The project itself, as an app: its system checks."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class SarvexConfig(AppConfig):
    """Wiring."""

    name = "sarvex"

    def ready(self) -> None:
        """Register the system checks, and the Celery app that nudges are sent through."""
        import_module("sarvex.checks")
        import_module("sarvex.celery")
