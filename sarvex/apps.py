"""The project itself, as an app: its system checks."""

from __future__ import annotations

from importlib import import_module

from django.apps import AppConfig


class SarvexConfig(AppConfig):
    """Wiring."""

    name = "sarvex"

    def ready(self) -> None:
        """Register the system checks."""
        import_module("sarvex.checks")
