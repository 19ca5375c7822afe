"""Every failure as problem+json (RFC 9457), whoever noticed it."""

from __future__ import annotations

from typing import Any

import structlog
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.db import InterfaceError, OperationalError
from django.http import Http404, HttpRequest, HttpResponse, UnreadablePostError
from rest_framework import exceptions

from orders.errors import PROBLEM_TYPE, REFUSALS, Refusal, problem

log = structlog.get_logger(__name__)

CODE_OF_STATUS = {
    400: "invalid_request",
    401: "unauthenticated",
    403: "forbidden",
    404: "not_found",
    405: "method_not_allowed",
    413: "payload_too_large",
    415: "unsupported_media_type",
    429: "rate_limited",
}


def request_id_of(request: HttpRequest) -> str:
    """Return the id under which the request is known; set by the outermost middleware."""
    return getattr(request, "request_id", "")


def problem_response(error: Exception, context: dict[str, Any]) -> HttpResponse:
    """Return the problem document of whatever a view raised."""
    return response_for(error, context["request"]._request)


def response_for(error: Exception, request: HttpRequest) -> HttpResponse:
    """Return the problem document of an error; what nobody foresaw is a 500, and is logged."""
    if isinstance(error, Refusal):
        body = error.body(request_id_of(request))
        return _response(error.kind.status, body, error.headers(), request)
    if isinstance(error, OperationalError | InterfaceError):
        log.error("database_unavailable", error=type(error).__name__)
        return refusal_response(
            "service_unavailable",
            "The database is out of reach; this request was not worked on.",
            request,
        )
    if isinstance(error, Http404):
        return refusal_response("not_found", "There is nothing at this address.", request)
    if isinstance(error, PermissionDenied):
        return refusal_response("forbidden", "This is not allowed.", request)
    if isinstance(error, SuspiciousOperation | UnreadablePostError):
        return refusal_response("invalid_request", "The request cannot be read.", request)
    if isinstance(error, exceptions.APIException):
        return _of_rest_framework(error, request)
    log.error("request_failed", exc_info=error)
    return refusal_response(
        "internal_error",
        "Something went wrong on our side. Send the same request again with the same"
        " Idempotency-Key.",
        request,
    )


def refusal_response(code: str, detail: str, request: HttpRequest, **members: Any) -> HttpResponse:
    """Return a problem document of one of the codes in `orders.errors`."""
    kind = REFUSALS[code]
    body = problem(code, detail, request_id=request_id_of(request), **members)
    headers = {"Retry-After": str(kind.retry_after)} if kind.retry_after else {}
    return _response(kind.status, body, headers, request)


def _of_rest_framework(error: exceptions.APIException, request: HttpRequest) -> HttpResponse:
    code = CODE_OF_STATUS.get(error.status_code, "invalid_request")
    if isinstance(error, exceptions.ValidationError):
        return refusal_response(
            "invalid_request",
            "Some members of the request are not valid; `errors` names them.",
            request,
            errors=flat_errors(error.detail),
        )
    return refusal_response(code, str(error.detail), request)


def flat_errors(detail: Any, path: str = "") -> dict[str, list[str]]:
    """Return nested validation errors as dotted member → messages."""
    if isinstance(detail, dict):
        found: dict[str, list[str]] = {}
        for name, inner in detail.items():
            inner_path = path if name == "non_field_errors" else f"{path}.{name}".lstrip(".")
            found.update(flat_errors(inner, inner_path))
        return found
    if isinstance(detail, list) and any(isinstance(one, dict | list) for one in detail):
        found = {}
        for index, inner in enumerate(detail):
            if inner:
                found.update(flat_errors(inner, f"{path}[{index}]"))
        return found
    messages = detail if isinstance(detail, list) else [detail]
    return {path or "body": [str(message) for message in messages]}


def _response(
    status: int, body: bytes, headers: dict[str, str], request: HttpRequest
) -> HttpResponse:
    key: str = getattr(request, "idempotency_key", "")
    if key:
        headers = {**headers, "Idempotency-Key": key}
    return HttpResponse(
        body,
        status=status,
        content_type=PROBLEM_TYPE,
        headers={"Cache-Control": "no-store", **headers},
    )
