"""What every request passes through: its name and its log line; for people also the rest.

The API's routes need no session, no cookies and no forms, so everything that Django's admin and
pages need stands aside for them.
"""

from __future__ import annotations

import re
import time
import uuid
from collections.abc import Callable
from typing import Any

import structlog
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.security import SecurityMiddleware
from whitenoise.middleware import WhiteNoiseMiddleware

from orders.api.problems import response_for

log = structlog.get_logger("sarvex.request")

PEOPLE = ("/admin/", "/orders/")
REQUEST_ID = re.compile(r"[\x21-\x7e]{1,128}")
TRACEPARENT = re.compile(
    r"(?!ff)[0-9a-f]{2}-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-[0-9a-f]{2}"
)

GetResponse = Callable[[HttpRequest], HttpResponseBase]


class RequestContext:
    """Give each request its id, keep its trace, and write one log line about it.

    A `Request-Id` of up to 128 visible ASCII characters is kept, any other is replaced. A
    `traceparent` is kept when it is one of W3C Trace Context, level 1. A path with a trailing
    slash is the same resource as without, and nothing is redirected.
    """

    def __init__(self, get_response: GetResponse) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        """Name the request, answer it, and say so."""
        began = time.perf_counter()
        sent = request.META.get("HTTP_REQUEST_ID", "")
        request_id = sent if REQUEST_ID.fullmatch(sent) else f"req_{uuid.uuid4().hex}"
        traceparent = request.META.get("HTTP_TRACEPARENT", "")
        request.request_id = request_id  # type: ignore[attr-defined]
        request.traceparent = (  # type: ignore[attr-defined]
            traceparent if TRACEPARENT.fullmatch(traceparent) else ""
        )
        path = request.path_info
        if len(path) > 1 and path.endswith("/") and not path.startswith(PEOPLE):
            request.path_info = path.rstrip("/") or "/"
        with structlog.contextvars.bound_contextvars(request_id=request_id):
            response = self.get_response(request)
            response.headers["Request-Id"] = request_id
            _say_how_long(response)
            log.info(
                "request",
                method=request.method,
                route=_route(request),
                status=response.status_code,
                ms=round((time.perf_counter() - began) * 1000, 1),
            )
        return response

    def process_exception(
        self, request: HttpRequest, exception: Exception
    ) -> HttpResponseBase | None:
        """Answer what a view raised with a problem document, with DEBUG on as well."""
        if request.path_info.startswith(PEOPLE):
            return None
        return response_for(exception, request)


def _say_how_long(response: HttpResponseBase) -> None:
    """Name the body's length, without which the web server would send it in chunks."""
    if isinstance(response, HttpResponse) and not response.has_header("Content-Length"):
        response.headers["Content-Length"] = str(len(response.content))


def _route(request: HttpRequest) -> str:
    """Return the route's pattern: a path as sent may hold what does not belong in a log."""
    match = request.resolver_match
    return (match.route if match is not None else "") or "(none)"


class _ForPeople:
    """Stands aside unless the request is for a page that people look at."""

    get_response: Any

    def __call__(self, request: HttpRequest) -> Any:
        """Do the middleware's work for pages only."""
        if request.path_info.startswith(PEOPLE):
            return super().__call__(request)  # type: ignore[misc]
        return self.get_response(request)


class StaticFiles(WhiteNoiseMiddleware):  # type: ignore[misc]
    """Serve the static files of the admin and the API's documentation."""


class PeopleSecurity(_ForPeople, SecurityMiddleware):
    """HTTPS and its headers."""


class PeopleSession(_ForPeople, SessionMiddleware):
    """Sign-in sessions."""


class PeopleCommon(_ForPeople, CommonMiddleware):
    """Host checks, slashes and content lengths."""


class PeopleCsrf(_ForPeople, CsrfViewMiddleware):
    """Forms come from our own pages."""

    def process_view(self, request, callback, args, kwargs):  # type: ignore[no-untyped-def]
        """Check forms of pages; the API has no cookies that could be abused."""
        if request.path_info.startswith(PEOPLE):
            return super().process_view(request, callback, args, kwargs)
        return None


class PeopleAuthentication(_ForPeople, AuthenticationMiddleware):
    """Who is signed in."""

    def process_view(self, request, view_func, view_args, view_kwargs):  # type: ignore[no-untyped-def]
        """Leave the API's own authentication alone."""
        return


class PeopleMessages(_ForPeople, MessageMiddleware):
    """What a page says once."""


class PeopleFrames(_ForPeople, XFrameOptionsMiddleware):
    """No page of ours inside somebody else's."""
