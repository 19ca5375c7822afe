"""JSON in: read strictly, because two readers of one body must never see two things."""

from __future__ import annotations

import json
from collections import Counter
from email.message import Message
from typing import Any

import orjson
from django.conf import settings
from django.db import connection
from django.http import HttpRequest

from orders.errors import Refusal

# No body of ours goes deeper than four; whoever reads a body later may recurse into this.
DEEPEST = 32

JSON = "application/json"


class MalformedJson(Refusal):
    """The body is not JSON that every reader reads alike."""

    code = "malformed_json"


class PayloadTooLarge(Refusal):
    """The body is larger than the service reads."""

    code = "payload_too_large"

    def headers(self) -> dict[str, str]:
        """Say that the connection ends here: what is left of the body is not read."""
        return {"Connection": "close"}


class UnsupportedMediaType(Refusal):
    """The body is not said to be JSON in UTF-8."""

    code = "unsupported_media_type"


def read_body(request: HttpRequest) -> Any:
    """Return the request's JSON body; an empty body reads as an empty object.

    Refused: another media type or charset, compression, invalid UTF-8, duplicate members, NaN
    and infinities, lone surrogates, NUL characters, and anything over 256 KiB.

    Raises:
        MalformedJson, PayloadTooLarge, UnsupportedMediaType
    """
    raw = read_raw(request)
    if not raw:
        return {}
    _refuse_other_media(request)
    return parse(raw)


def parse(raw: bytes) -> Any:
    """Return the value of a strict JSON text. Raises `MalformedJson`."""
    try:
        value = orjson.loads(raw)
        if raw.count(b"{") + raw.count(b"[") > DEEPEST and _is_deeper(value, DEEPEST):
            raise MalformedJson(f"The body may be nested {DEEPEST} deep at the most.")
        json.loads(raw, object_pairs_hook=_without_duplicates)
    except ValueError as error:  # of orjson, or of an integer longer than Python reads
        raise MalformedJson(f"The body is not acceptable JSON: {error}.") from error
    if b"\\u0000" in raw and _has_nul(value):
        raise MalformedJson("Text must not contain NUL characters.")
    return value


def read_raw(request: HttpRequest) -> bytes:
    """Return the body's bytes, 256 KiB at the most. Raises `PayloadTooLarge`."""
    # A body comes as slowly as its sender likes: no database connection waits for it.
    connection.close()
    most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
    length = request.META.get("CONTENT_LENGTH") or ""
    if length.isdigit() and int(length) > most:
        raise PayloadTooLarge(f"The body may have {most} bytes at the most.")
    if length.isdigit() and int(length) > 0:
        return request.read()
    # No length was given: a chunked body, which Django by itself takes for an empty one.
    chunked = request.META.get("HTTP_TRANSFER_ENCODING", "")
    if "chunked" not in chunked.lower():
        return b""
    raw: bytes = request.META["wsgi.input"].read(most + 1)
    if len(raw) > most:
        raise PayloadTooLarge(f"The body may have {most} bytes at the most.")
    return raw


def _refuse_other_media(request: HttpRequest) -> None:
    media_type = request.META.get("CONTENT_TYPE") or "application/octet-stream"
    if media_type != JSON and not _means_json(media_type):
        raise UnsupportedMediaType("Send the body as application/json in UTF-8.")
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "identity").lower()
    if encoding != "identity":
        raise UnsupportedMediaType("Send the body without a Content-Encoding.")


def _means_json(media_type: str) -> bool:
    """Whether a media type with parameters, in whatever case, says JSON in UTF-8."""
    declared = Message()
    declared["content-type"] = media_type
    charset = str(declared.get_param("charset") or "utf-8").lower()
    return declared.get_content_type() == JSON and charset in {"utf-8", "utf8"}


def _without_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    if len(members) != len(pairs):
        twice, _ = Counter(name for name, _ in pairs).most_common(1)[0]
        raise MalformedJson(f"The member {twice!r} occurs twice.")
    return members


def _is_deeper(value: Any, deepest: int) -> bool:
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return deepest == 0 or any(_is_deeper(one, deepest - 1) for one in inner)


def _has_nul(value: Any) -> bool:
    if isinstance(value, str):
        return "\0" in value
    if isinstance(value, dict):
        return any(_has_nul(name) or _has_nul(member) for name, member in value.items())
    return isinstance(value, list) and any(_has_nul(member) for member in value)
