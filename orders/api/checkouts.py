"""POST /checkout, GET /checkout/{id}, POST /checkout/{id}/complete, POST /checkout/{id}/cancel."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from idempotency import arrivals
from orders.actions import keys
from orders.actions.cancel_checkout import cancel_checkout
from orders.actions.complete_checkout import Payment, complete_checkout
from orders.actions.create_checkout import Basket, create_checkout
from orders.api import schemas
from orders.api.capacity import slow_request
from orders.api.endpoints import AGENT, MERCHANT, OPERATOR, Endpoint
from orders.api.idempotent import claim_from, key_of, prefers_async, reply, required_key
from orders.api.inputs import CheckoutInput, CompleteInput, Members, NothingInput
from orders.errors import Invalid
from orders.handlers.registry import known_handlers
from orders.queries.checkouts import checkout_as_seen_by


def validated(form: type[Members], body: Any) -> dict[str, Any]:
    """Return the body's members. Raises DRF's `ValidationError`, told as `invalid_request`."""
    checked = form(data=body)
    checked.is_valid(raise_exception=True)
    members: dict[str, Any] = checked.validated_data
    return members


class CreateCheckout(Endpoint):
    """Open a checkout session."""

    roles = {"POST": frozenset({MERCHANT})}

    @extend_schema(**schemas.CREATE_CHECKOUT)
    def post(self, request: Request) -> HttpResponse:
        """Freeze a priced basket; 201 with the session."""
        now, body, key = timezone.now(), self.body, key_of(request._request)
        said = validated(CheckoutInput, body)
        claim = claim_from(
            request._request,
            self.principal,
            key=key,
            route="create_checkout",
            subject="",
            path={},
            body=body,
        )
        expires_in = timedelta(seconds=said.pop("expires_in"))
        basket = Basket(expires_in=expires_in, **said)
        return reply(create_checkout(claim=claim, basket=basket, now=now), key=key)


class ReadCheckout(Endpoint):
    """Read a checkout session."""

    roles = {"GET": frozenset({AGENT, MERCHANT, OPERATOR})}

    @extend_schema(**schemas.READ_CHECKOUT)
    def get(self, request: Request, checkout_id: str) -> Response:
        """Return the session, with its order or its operation once there is one."""
        if not self.principal.is_agent:
            arrivals.settle_down()
        return Response(checkout_as_seen_by(self.principal, checkout_id, now=timezone.now()))


class CompleteCheckout(Endpoint):
    """Complete a checkout session."""

    roles = {"POST": frozenset({AGENT, MERCHANT})}

    @extend_schema(**schemas.COMPLETE_CHECKOUT)
    def post(self, request: Request, checkout_id: str) -> HttpResponse:
        """Charge the checkout and make its order, at most once, however often this is sent."""
        now, body, principal = timezone.now(), self.body, self.principal
        if principal.idempotency_required:
            key = required_key(request._request)
        else:
            key = key_of(request._request) or f"checkout:{checkout_id}"
        try:
            claim = claim_from(
                request._request,
                principal,
                key=key,
                route="complete_checkout",
                subject=checkout_id,
                path={"checkout_id": checkout_id},
                body=body,
            )
        except Invalid:
            validated(CompleteInput, body)  # which can name the member that is wrong
            raise
        # An equal request was valid when it was first answered: look for its answer first.
        shelved = keys.shelved(claim, now=now)
        if shelved is not None:
            return reply(shelved, key=key)
        said = validated(CompleteInput, body)
        payment = Payment(**said["payment"])
        if payment.handler not in known_handlers():
            raise Invalid(
                "There is no such payment handler.",
                errors={"payment.handler": [f"Must be one of: {', '.join(known_handlers())}."]},
            )
        respond_async = prefers_async(request._request)
        with slow_request():
            answer = complete_checkout(
                claim=claim,
                payment=payment,
                expected_amount_total=said.get("expected_amount_total"),
                buyer=said.get("buyer"),
                respond_async=respond_async,
                now=now,
            )
        return reply(answer, key=key, respond_async=respond_async)


class CancelCheckout(Endpoint):
    """Cancel a checkout session."""

    roles = {"POST": frozenset({AGENT, MERCHANT})}

    @extend_schema(**schemas.CANCEL_CHECKOUT)
    def post(self, request: Request, checkout_id: str) -> HttpResponse:
        """Close the session for good; 200 with the session."""
        now, body, key = timezone.now(), self.body, key_of(request._request)
        validated(NothingInput, body)
        claim = claim_from(
            request._request,
            self.principal,
            key=key,
            route="cancel_checkout",
            subject=checkout_id,
            path={"checkout_id": checkout_id},
            body=body,
        )
        return reply(cancel_checkout(claim=claim, now=now), key=key)
