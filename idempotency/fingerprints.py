"""What makes two requests the same request."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import sha256
from typing import Any

import rfc8785


class Uncanonical(ValueError):
    """The body holds something for which RFC 8785 knows no single spelling, or is too deep."""


def fingerprint(*, method: str, route: str, path: Mapping[str, str], actor: str, body: Any) -> str:
    """Return the hex SHA-256 of what a request means, whatever way it is spelt.

    Member order, white space and escapes of the JSON body do not count (RFC 8785); text is
    compared code point by code point, so two Unicode normal forms are two texts.

    Raises:
        Uncanonical: the body holds a number or a text that JSON readers disagree about, or is
            nested deeper than it can be read.
    """
    try:
        return sha256(rfc8785.dumps([method, route, dict(path), actor, body])).hexdigest()
    except (rfc8785.CanonicalizationError, UnicodeEncodeError, RecursionError) as error:
        raise Uncanonical(str(error)) from error
