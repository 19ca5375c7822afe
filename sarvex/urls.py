"""Every address that Sarvex answers at."""

from __future__ import annotations

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.urls import include, path, re_path
from drf_spectacular.views import SpectacularJSONAPIView, SpectacularSwaggerSplitView

from orders.api.problems import refusal_response
from sarvex import health

urlpatterns = [
    path("", include("orders.api.urls")),
    path("healthz", health.healthz),
    path("readyz", health.readyz),
    path(
        "openapi.json",
        SpectacularJSONAPIView.as_view(authentication_classes=[], permission_classes=[]),
        name="openapi",
    ),
    path(
        "docs",
        SpectacularSwaggerSplitView.as_view(
            url_name="openapi",
            authentication_classes=[],
            permission_classes=[],
            http_method_names=[
                "get",
                "head",
            ],  # its OPTIONS would need a template that is not there
        ),
    ),
    path("admin/", admin.site.urls),
]


def _nothing(request: HttpRequest) -> HttpResponse:
    return refusal_response("not_found", "There is nothing at this address.", request)


# Every other address; with DEBUG on, Django would tell all routes in a page of HTML instead.
urlpatterns.append(re_path("", _nothing))


def _bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal_response("invalid_request", "The request cannot be read.", request)


def _not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal_response("not_found", "There is nothing at this address.", request)


def _forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    return refusal_response("forbidden", "This is not allowed.", request)


def _failed(request: HttpRequest) -> HttpResponse:
    return refusal_response("internal_error", "Something went wrong on our side.", request)


handler400, handler403, handler404, handler500 = _bad_request, _forbidden, _not_found, _failed
