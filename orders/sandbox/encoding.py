"""JSON that is kept."""

from __future__ import annotations

from typing import Any

import orjson


def encoded(document: Any) -> bytes:
    """Return the document as JSON in a buffer of its own length.

    orjson's buffer stays as long as it grew while writing, some 16 KB for a payment intent of
    one: a copy is cheap, and kept results and events are many.
    """
    return bytes(memoryview(orjson.dumps(document)))
