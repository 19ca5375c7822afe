"""Why a development command cannot go on, said in one line."""

from __future__ import annotations


class Refused(Exception):
    """One clear line for the person at the terminal; never shown as a traceback."""
