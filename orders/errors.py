"""Refusals: why something was not done, in a form that programs and people can act on.

`REFUSALS` is the one place that knows which code means which HTTP status, whether trying again
can help, and what to call it. The errors themselves stand beside the verbs that raise them.
"""

from __future__ import annotations

from typing import Any, ClassVar, NamedTuple

import orjson

PROBLEM_TYPE = "application/problem+json"


class Kind(NamedTuple):
    """What a code means over HTTP."""

    status: int
    title: str
    retryable: bool = False
    retry_after: int | None = None  # seconds


REFUSALS: dict[str, Kind] = {
    "invalid_request": Kind(400, "The request is not valid"),
    "malformed_json": Kind(400, "The body is not acceptable JSON"),
    "idempotency_key_missing": Kind(400, "An Idempotency-Key header is required"),
    "idempotency_key_invalid": Kind(400, "The Idempotency-Key header is not valid"),
    "unauthenticated": Kind(401, "A valid API key is required"),
    "payment_declined": Kind(402, "The payment was declined"),
    "payment_requires_action": Kind(402, "The payment needs an action by the buyer"),
    "forbidden": Kind(403, "This key may not do that"),
    "not_found": Kind(404, "There is nothing here"),
    "method_not_allowed": Kind(405, "The method is not allowed here"),
    "idempotency_key_reused": Kind(409, "The key already stands for another request"),
    "checkout_already_completed": Kind(409, "The checkout has its order already"),
    "checkout_canceled": Kind(409, "The checkout was canceled"),
    "checkout_expired": Kind(409, "The checkout has expired"),
    "amount_changed": Kind(409, "The amount is not the expected one"),
    "invalid_transition": Kind(409, "The order cannot go there from where it is"),
    "refund_exceeds_captured": Kind(409, "The refund is more than is left"),
    "idempotency_request_in_progress": Kind(
        409, "The same request is still being worked on", True, 2
    ),
    "checkout_in_progress": Kind(409, "Another request is completing the checkout", True, 5),
    "operation_in_progress": Kind(409, "Another operation on the order is under way", True, 5),
    "payload_too_large": Kind(413, "The body is too large"),
    "unsupported_media_type": Kind(415, "The body must be JSON in UTF-8"),
    "rate_limited": Kind(429, "Too many requests", True, 1),
    "internal_error": Kind(500, "Something went wrong on our side", True, 5),
    "payment_handler_misconfigured": Kind(
        502, "The payment provider refused the merchant's credentials", True, 60
    ),
    "payment_handler_unavailable": Kind(
        503, "The payment provider could not be reached; nothing was charged", True, 5
    ),
    "service_unavailable": Kind(503, "The service cannot work at the moment", True, 2),
}


class Refusal(Exception):
    """Something was not done. `members` are the code's own members of the problem document."""

    code: ClassVar[str] = "invalid_request"

    def __init__(self, detail: str, **members: Any) -> None:
        super().__init__(detail)
        self.detail = detail
        self.members = members

    @property
    def kind(self) -> Kind:
        """The code's HTTP status, title and advice."""
        return REFUSALS[self.code]

    def headers(self) -> dict[str, str]:
        """Return the headers that belong to the refusal's meaning."""
        after = self.members.get("retry_after", self.kind.retry_after)
        return {"Retry-After": str(after)} if self.kind.retryable and after else {}

    def body(self, request_id: str) -> bytes:
        """Return the problem document (RFC 9457) as JSON."""
        return problem(self.code, self.detail, request_id=request_id, **self.members)


def problem(code: str, detail: str, *, request_id: str, **members: Any) -> bytes:
    """Return a problem document (RFC 9457) of one of the codes above, as JSON."""
    kind = REFUSALS[code]
    members.pop("retry_after", None)
    return orjson.dumps(
        {
            "type": f"urn:sarvex:problem:{code}",
            "title": kind.title,
            "status": kind.status,
            "detail": detail,
            "code": code,
            "retryable": kind.retryable,
            "request_id": request_id,
            **members,
        }
    )


class Invalid(Refusal):
    """The request says something that cannot be meant. `errors` maps fields to messages."""

    code = "invalid_request"


class NotFound(Refusal):
    """There is no such thing, or it is somebody else's, which is told in the same words."""

    code = "not_found"


class ServiceUnavailable(Refusal):
    """The database, or room for one more, is missing; nothing was begun."""

    code = "service_unavailable"
