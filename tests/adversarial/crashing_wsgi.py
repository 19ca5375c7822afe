"""The web server's way in, with crash points."""

from __future__ import annotations

from sarvex.wsgi import application
from tests.adversarial import crash_points

crash_points.install()

__all__ = ["application"]
