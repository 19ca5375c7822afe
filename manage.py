#!/usr/bin/env python
"""Sarvex's commands; `manage.py help` lists them."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one command against the database and Redis that the environment names."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sarvex.settings")
    from django.core.management import execute_from_command_line

    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
