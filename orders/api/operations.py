"""GET /merchants/{m}/operations and …/{id}; POST …/{id}/cancel and …/{id}/look-up."""

from __future__ import annotations

from django.http import HttpResponse
from django.utils import timezone
from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from orders import access
from orders.actions import reconcile
from orders.actions.cancel_operation import cancel_operation
from orders.api import schemas
from orders.api.capacity import slow_request
from orders.api.checkouts import validated
from orders.api.endpoints import AGENT, MERCHANT, OPERATOR, Endpoint
from orders.api.idempotent import claim_from, reply
from orders.api.inputs import NothingInput
from orders.api.orders import one_of
from orders.clock import database_now
from orders.documents import operation_document
from orders.models import Operation
from orders.queries.paging import page


class ListOperations(Endpoint):
    """Find operations."""

    roles = {"GET": frozenset({AGENT, MERCHANT, OPERATOR})}
    filters = frozenset({"status", "order_id", "idempotency_key"})

    @extend_schema(**schemas.LIST_OPERATIONS)
    def get(self, request: Request, merchant_id: str) -> Response:
        """Return the operations that the caller may see, newest first."""
        asked = request.query_params.dict()
        rows = access.operations(self.principal)
        if status := asked.get("status"):
            rows = rows.filter(status=one_of("status", status, Operation.Status.values))
        if order_id := asked.get("order_id"):
            rows = rows.filter(order_id=order_id)
        if key := asked.get("idempotency_key"):
            rows = rows.filter(idempotency_key=key)
        return Response(
            page(rows, document=operation_document, order=("-created_at", "-id"), parameters=asked)
        )


class ReadOperation(Endpoint):
    """Read an operation."""

    roles = {"GET": frozenset({AGENT, MERCHANT, OPERATOR})}

    @extend_schema(**schemas.READ_OPERATION)
    def get(self, request: Request, merchant_id: str, operation_id: str) -> Response:
        """Return one operation; an agent reads its own."""
        return Response(operation_document(access.operation(self.principal, operation_id)))


class CancelOperation(Endpoint):
    """Take back an operation that has not been sent."""

    roles = {"POST": frozenset({MERCHANT})}

    @extend_schema(**schemas.CANCEL_OPERATION)
    def post(self, request: Request, merchant_id: str, operation_id: str) -> HttpResponse:
        """Drop an accepted operation; 200 with it, 409 once it may have been sent."""
        validated(NothingInput, self.body)
        found = access.operation(self.principal, operation_id)
        claim = claim_from(
            request._request,
            self.principal,
            key="",
            route="cancel_operation",
            subject=found.checkout_id,
            path={"operation_id": operation_id},
            body={},
        )
        answer = cancel_operation(operation_id=found.id, claim=claim, now=timezone.now())
        return reply(answer, key="")


class LookUpOperation(Endpoint):
    """Find out now what became of an operation."""

    roles = {"POST": frozenset({OPERATOR})}

    @extend_schema(**schemas.LOOK_UP_OPERATION)
    def post(self, request: Request, merchant_id: str, operation_id: str) -> HttpResponse:
        """Ask the provider, settle what it says, and return the operation as it then stands."""
        validated(NothingInput, self.body)
        found = access.operation(self.principal, operation_id)
        with slow_request():
            reconcile.look_up(found.id, actor=self.principal.actor, now=database_now())
        return Response(operation_document(access.operation(self.principal, operation_id)))
