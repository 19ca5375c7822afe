"""POST /handlers/{handler}/{m}/events: what providers tell of their own accord."""

from __future__ import annotations

from django.http import Http404, HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from orders.actions.receive_event import receive_event
from orders.api import schemas
from orders.api.bodies import read_raw
from orders.api.capacity import slow_request
from orders.errors import Invalid
from orders.handlers.base import ForgedEvent
from orders.handlers.registry import handler_for, known_handlers
from orders.models import Merchant


class ReceiveProviderEvent(APIView):
    """Take a payment provider's event."""

    authentication_classes = []

    @extend_schema(**schemas.RECEIVE_PROVIDER_EVENT)
    def post(self, request: Request, handler: str, merchant_id: str) -> HttpResponse:
        """Keep a signed event and let it take effect once; 400 when nobody signed it."""
        merchant = Merchant.objects.filter(id=merchant_id).first()
        if merchant is None or handler not in known_handlers():
            raise Http404
        now, raw = timezone.now(), read_raw(request._request)
        try:
            notice = handler_for(handler, merchant).read_event(
                raw, dict(request._request.headers), now=now
            )
        except ForgedEvent as error:
            raise Invalid(str(error)) from error
        with slow_request():
            effect = receive_event(merchant=merchant, handler=handler, notice=notice, now=now)
        return Response({"received": True, "effect": effect})
