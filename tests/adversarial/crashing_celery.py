"""The workers' way in, with crash points and a quick beat."""

from __future__ import annotations

import django

from sarvex.celery import app

django.setup()

from tests.adversarial import crash_points  # noqa: E402 (the apps must be there first)

crash_points.install()
app.conf.beat_schedule = {
    "deliver": {"task": "idempotency.deliver_due", "schedule": 0.5},
    "look up": {"task": "orders.reconcile_operations", "schedule": 0.5},
}

__all__ = ["app"]
