"""GET /merchants/{m}/orders and /merchants/{m}/orders/{id}."""

from __future__ import annotations

from datetime import UTC, datetime

from django.db.models import Q, QuerySet
from django.utils.dateparse import parse_datetime
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orders import access
from orders.api import schemas
from orders.api.endpoints import AGENT, MERCHANT, OPERATOR, Endpoint
from orders.documents import order_document
from orders.errors import Invalid
from orders.models import Order
from orders.queries.paging import page


def moment_of(name: str, text: str) -> datetime:
    """Return an RFC 3339 time as it is in UTC. Raises `Invalid`."""
    try:
        moment = parse_datetime(text)
        if moment is not None and moment.tzinfo is not None:
            # PostgreSQL knows no offsets beyond sixteen hours; RFC 3339 has them up to a day.
            return moment.astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    message = "Must be an RFC 3339 time with its offset, such as 2026-01-31T12:00:00Z."
    raise Invalid(f"{name}: {message}", errors={name: [message]})


def one_of(name: str, text: str, choices: list[str]) -> str:
    """Return the text if it is one of the choices. Raises `Invalid`."""
    if text not in choices:
        message = f"Must be one of: {', '.join(choices)}."
        raise Invalid(f"{name}: {message}", errors={name: [message]})
    return text


class ListOrders(Endpoint):
    """Find orders."""

    roles = {"GET": frozenset({MERCHANT, OPERATOR})}
    filters = frozenset(
        {
            "idempotency_key",
            "status",
            "checkout_session_id",
            "created_after",
            "created_before",
            "email",
            "q",
        }
    )

    @extend_schema(**schemas.LIST_ORDERS)
    def get(self, request: Request, merchant_id: str) -> Response:
        """Return the merchant's orders, newest first."""
        asked = request.query_params.dict()
        rows = _filtered(access.orders(self.principal), asked)
        return Response(
            page(rows, document=order_document, order=("-created_at", "-id"), parameters=asked)
        )


def _filtered(rows: QuerySet[Order], asked: dict[str, str]) -> QuerySet[Order]:
    if key := asked.get("idempotency_key"):
        rows = rows.filter(idempotency_key=key)
    if status := asked.get("status"):
        rows = rows.filter(status=one_of("status", status, Order.Status.values))
    if checkout_id := asked.get("checkout_session_id"):
        rows = rows.filter(checkout_id=checkout_id)
    if after := asked.get("created_after"):
        rows = rows.filter(created_at__gt=moment_of("created_after", after))
    if before := asked.get("created_before"):
        rows = rows.filter(created_at__lt=moment_of("created_before", before))
    if email := asked.get("email"):
        rows = rows.filter(buyer__email__iexact=email)
    if text := asked.get("q"):
        rows = rows.filter(
            Q(id=text.lower())
            | Q(idempotency_key=text)
            | Q(checkout_id=text)
            | Q(payment_reference=text)
            | Q(merchant_order_id=text)
            | Q(buyer__email__icontains=text)
            | Q(buyer__name__icontains=text)
        )
    return rows


class ReadOrder(Endpoint):
    """Read an order."""

    roles = {"GET": frozenset({AGENT, MERCHANT, OPERATOR})}

    @extend_schema(**schemas.READ_ORDER)
    def get(self, request: Request, merchant_id: str, order_id: str) -> Response:
        """Return one order; an agent reads those that it completed itself."""
        return Response(order_document(access.order(self.principal, order_id)))
