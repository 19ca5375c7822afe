"""The trail: what was attempted, by whom, and what came of it."""

from __future__ import annotations

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """An app that knows facts and nothing of the things that they are about."""

    name = "audit"
    verbose_name = "Audit trail"
