"""What Stripe says no with: HTTP status, type, code and the rest of its error envelope.

Types and codes are those of https://docs.stripe.com/error-codes; messages are our own words,
because nobody may depend on them.
"""

from __future__ import annotations

from typing import Any

INVALID = "invalid_request_error"


class Refused(Exception):
    """A request that ends without a 2xx.

    `began` says whether the endpoint had begun to execute. Stripe keeps the results of those
    under the idempotency key, and no others (https://docs.stripe.com/api/idempotent_requests).
    """

    def __init__(
        self,
        status: int,
        message: str,
        *,
        kind: str = INVALID,
        code: str | None = None,
        param: str | None = None,
        began: bool = False,
        **more: Any,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.began = began
        self.error: dict[str, Any] = {"message": message, "type": kind}
        if code is not None:
            self.error["code"] = code
            self.error["doc_url"] = f"https://docs.stripe.com/error-codes#{code.replace('_', '-')}"
        if param is not None:
            self.error["param"] = param
        self.error.update({name: value for name, value in more.items() if value is not None})


def invalid(message: str, *, param: str | None = None, code: str | None = None) -> Refused:
    """Refuse a parameter, before anything was begun."""
    return Refused(400, message, param=param, code=code)


def cannot(message: str, *, code: str | None = None, param: str | None = None) -> Refused:
    """Refuse what the objects' state does not allow; the result is kept."""
    return Refused(400, message, code=code, param=param, began=True)


def no_such(kind: str, object_id: str, *, param: str, status: int = 404) -> Refused:
    """Refuse an id that this account does not have, whoever else may have it."""
    return Refused(
        status, f"No such {kind}: '{object_id}'", code="resource_missing", param=param, began=True
    )


def server_error() -> Refused:
    """Return what Stripe answers when it broke in the middle; kept like any begun result."""
    return Refused(500, "Something went wrong on the sandbox's side.", kind="api_error", began=True)


def key_in_use(key: str | None) -> Refused:
    """Refuse a request whose idempotency key another one is holding right now."""
    return Refused(
        409,
        f"Another request with the idempotency key {key!r} is still in progress; try later.",
        kind="idempotency_error",
        code="idempotency_key_in_use",
    )


def key_reused(key: str) -> Refused:
    """Refuse a key that already stands for other parameters or another endpoint."""
    return Refused(
        400,
        f"The idempotency key {key!r} was first used with other parameters or another endpoint.",
        kind="idempotency_error",
    )


def rate_limited() -> Refused:
    """Refuse before anything began, as Stripe's limiter does."""
    return Refused(429, "Too many requests for this key; slow down.", code="rate_limit")


def missing_one(*names: str) -> Refused:
    """Refuse a request that names none of several parameters of which it needs one."""
    return Refused(
        400, f"One of {', '.join(names)} is required.", code="parameter_missing", param=names[0]
    )
