"""From a request to its claim, and from an answer to its response."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse

from idempotency.answers import Answer, Claim
from idempotency.fingerprints import Uncanonical, fingerprint
from orders.access import Principal
from orders.api.problems import request_id_of
from orders.documents import time_text
from orders.errors import Invalid, Refusal

RESERVED = "sarvex:"
ACCEPTED = 202
VISIBLE_ASCII = re.compile(r"[\x21-\x7e]{1,255}")

KEY_DESCRIPTION = """\
Names your intention. Reuse the SAME value on every retry of the same purchase: after a time-out,
a dropped connection, a 5xx, a 202 or a crash of your own. A retry with the same value can never
charge twice; a retry with a new value is a NEW purchase attempt. Use a new value only for a new
purchase, or to try another payment after a 402. Derive it from the purchase (for example the id of
your task and the step in it), store it before you send, and never make it from the clock or at
random per attempt. 1 to 255 visible ASCII characters; the prefix `sarvex:` is reserved."""


class KeyMissing(Refusal):
    """The route moves money and no key came with the request."""

    code = "idempotency_key_missing"


class KeyInvalid(Refusal):
    """The key is empty, too long, or has characters that a key cannot have."""

    code = "idempotency_key_invalid"


def key_of(request: HttpRequest) -> str:
    """Return the request's key without its pair of quotes, or "" when it has none.

    Raises:
        KeyInvalid
    """
    sent = request.META.get("HTTP_IDEMPOTENCY_KEY")
    if sent is None:
        return ""
    key: str = sent[1:-1] if len(sent) >= 2 and sent[0] == sent[-1] == '"' else sent
    if not VISIBLE_ASCII.fullmatch(key):
        raise KeyInvalid("An Idempotency-Key has 1 to 255 visible ASCII characters, no spaces.")
    if key.startswith(RESERVED):
        raise KeyInvalid(f"Keys that begin with {RESERVED!r} are reserved.")
    request.idempotency_key = key  # type: ignore[attr-defined]  # for refusals to echo
    return key


def required_key(request: HttpRequest) -> str:
    """Return the request's key. Raises `KeyMissing`, `KeyInvalid`."""
    key = key_of(request)
    if not key:
        raise KeyMissing(
            "This request may move money: name it with an Idempotency-Key header, and reuse the"
            " same value on every retry of it."
        )
    return key


def claim_from(
    request: HttpRequest,
    principal: Principal,
    *,
    key: str,
    route: str,
    subject: str,
    path: Mapping[str, str],
    body: Any,
) -> Claim:
    """Return what the request claims under its key.

    Raises:
        Invalid: the body holds a number that JSON readers disagree about.
    """
    try:
        print_of_it = fingerprint(
            method=request.method or "", route=route, path=path, actor=principal.actor, body=body
        )
    except Uncanonical as error:
        raise Invalid(
            f"The body cannot be compared with a later retry: {error}.",
            errors={"body": ["Numbers must be integers within ±(2^53 - 1)."]},
        ) from error
    return Claim(
        merchant=principal.merchant_id,
        key=key,
        actor=principal.actor,
        fingerprint=print_of_it,
        route=route,
        subject=subject,
        request_id=request_id_of(request),
        traceparent=getattr(request, "traceparent", ""),
    )


def prefers_async(request: HttpRequest) -> bool:
    """Whether the caller would rather not wait: `Prefer: respond-async` (RFC 7240, section 4.1)."""
    preferences = request.META.get("HTTP_PREFER", "").lower().split(",")
    return any(one.split(";")[0].strip() == "respond-async" for one in preferences)


def reply(answer: Answer, *, key: str, respond_async: bool = False) -> HttpResponse:
    """Return the response that carries an answer; a replay differs in its headers only."""
    headers = {"Cache-Control": "no-store", **answer.headers}
    if key:
        headers["Idempotency-Key"] = key
    if respond_async and answer.status == ACCEPTED:
        headers["Preference-Applied"] = "respond-async"
    if answer.replayed:
        headers["Idempotent-Replayed"] = "true"
    if answer.expires_at is not None and key:
        headers["Idempotency-Expires"] = time_text(answer.expires_at) or ""
    return HttpResponse(answer.body, status=answer.status, headers=headers)
