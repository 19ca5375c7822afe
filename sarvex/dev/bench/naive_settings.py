"""Sarvex's settings with the one route more that the benchmark compares it with."""

from __future__ import annotations

from sarvex.settings import *  # noqa: F403

ROOT_URLCONF = "sarvex.dev.bench.naive"
