"""GET /merchants/{m}/mutations: the audit trail, oldest first."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from audit.queries import attempts
from orders.api import schemas
from orders.api.endpoints import MERCHANT, OPERATOR, Endpoint
from orders.documents import mutation_document
from orders.queries.paging import page


class ListMutations(Endpoint):
    """Read the trail."""

    roles = {"GET": frozenset({MERCHANT, OPERATOR})}
    filters = frozenset({"order_id", "idempotency_key", "mutation_type"})

    @extend_schema(**schemas.LIST_MUTATIONS)
    def get(self, request: Request, merchant_id: str) -> Response:
        """Return what was attempted at the merchant and what came of it, refusals included."""
        asked = request.query_params.dict()
        rows = attempts(merchant_id=self.principal.merchant_id)
        for name in sorted(self.filters & set(asked)):
            rows = rows.filter(**{name: asked[name]})
        return Response(
            page(rows, document=mutation_document, order=("mutation_id",), parameters=asked)
        )
