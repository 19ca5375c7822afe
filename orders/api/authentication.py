"""Who asks: API keys, remembered for a few seconds so that a replay needs no SQL."""

from __future__ import annotations

import time
from collections import OrderedDict
from collections.abc import Sequence
from datetime import timedelta

from django.http import HttpRequest
from django.utils import timezone
from drf_spectacular.extensions import OpenApiAuthenticationExtension
from rest_framework.authentication import BaseAuthentication
from rest_framework.request import Request

from idempotency.later import LaterWriter
from orders.access import Principal
from orders.errors import Refusal
from orders.models import ApiKey, Merchant
from orders.models.merchants import hash_api_key

# A revoked key is refused everywhere within this time; the contract allows five seconds.
REMEMBERED_FOR = 3.0
MOST_REMEMBERED = 10_000
LAST_USE_RESOLUTION = timedelta(minutes=1)

_remembered: OrderedDict[str, tuple[Principal, float]] = OrderedDict()


class Unauthenticated(Refusal):
    """There is no API key, or none that is valid."""

    code = "unauthenticated"

    def headers(self) -> dict[str, str]:
        """Name the scheme, as RFC 9110 asks of every 401."""
        return {"WWW-Authenticate": 'Bearer realm="sarvex"'}


class ApiKeyAuthentication(BaseAuthentication):
    """`Authorization: Bearer <api key>`."""

    def authenticate(self, request: Request) -> tuple[Principal, None]:
        """Return who asks. Raises `Unauthenticated`."""
        return principal_of(request._request), None

    def authenticate_header(self, request: Request) -> str:
        """Name the scheme for DRF's own refusals."""
        return 'Bearer realm="sarvex"'


def principal_of(request: HttpRequest) -> Principal:
    """Return the principal of the request's API key, asking the database every few seconds.

    Raises:
        Unauthenticated
    """
    scheme, _, whole = request.META.get("HTTP_AUTHORIZATION", "").partition(" ")
    whole = whole.strip()
    if scheme.lower() != "bearer" or not whole:
        raise Unauthenticated("Send your API key as `Authorization: Bearer <api key>`.")
    digest = hash_api_key(whole)
    remembered = _remembered.get(digest)
    if remembered is not None and time.monotonic() < remembered[1]:
        return remembered[0]
    principal = _look_up(digest)
    _remembered[digest] = (principal, time.monotonic() + REMEMBERED_FOR)
    while len(_remembered) > MOST_REMEMBERED:
        _remembered.popitem(last=False)
    return principal


def forget() -> None:
    """Ask the database about every key again."""
    _remembered.clear()


def _look_up(digest: str) -> Principal:
    # The lookup is by the hash of a secret with 256 random bits, so its timing tells nothing.
    key = ApiKey.objects.select_related("merchant").filter(hash=digest, revoked_at=None).first()
    if key is None:
        _remembered.pop(digest, None)
        raise Unauthenticated("The API key is not valid, or was revoked.")
    now = timezone.now()
    if key.last_used_at is None or now - key.last_used_at > LAST_USE_RESOLUTION:
        _uses.add(key.id)
    return Principal(
        merchant_id=key.merchant_id,
        role=key.role,
        actor=key.actor,
        api_key_id=key.id,
        idempotency_required=key.merchant.idempotency == Merchant.Idempotency.REQUIRED,
    )


def _write_last_uses(key_ids: Sequence[int]) -> None:
    ApiKey.objects.filter(id__in=set(key_ids)).update(last_used_at=timezone.now())


_uses: LaterWriter[int] = LaterWriter("api-key-uses", _write_last_uses)


class ApiKeyScheme(OpenApiAuthenticationExtension):  # type: ignore[no-untyped-call]
    """How the OpenAPI document describes the scheme."""

    target_class = ApiKeyAuthentication
    name = "apiKey"

    def get_security_definition(self, auto_schema: object) -> dict[str, str]:
        """Return the security scheme object."""
        return {"type": "http", "scheme": "bearer", "description": "An API key of one merchant."}
