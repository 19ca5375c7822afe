#!/usr/bin/env python
"""Sarvex's commands; `manage.py help` lists them."""

from __future__ import annotations

import os
import sys


def main() -> None:
    """Run one command against the database and Redis that the environment names.

    What is wrong with the settings or out of reach is said in one line, exit code 1.
    """
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sarvex.settings")
    from django.conf import settings
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line
    from django.db.utils import OperationalError

    from sarvex.dev.refusals import database_out_of_reach

    try:
        # A command has one thread: a pool would only wait before it says that nobody answers.
        settings.DATABASES["default"].get("OPTIONS", {}).pop("pool", None)
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as error:
        sys.exit(f"settings: {error}")
    except OperationalError as error:
        sys.exit(database_out_of_reach(settings.SARVEX_HOME, error))


if __name__ == "__main__":
    main()
