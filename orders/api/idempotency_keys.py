"""GET /merchants/{m}/idempotency-keys/{key}: what became of a request."""

from __future__ import annotations

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response

from idempotency import arrivals
from orders.api import schemas
from orders.api.endpoints import AGENT, MERCHANT, OPERATOR, Endpoint
from orders.errors import NotFound
from orders.queries.keys import key_as_seen_by


class ReadIdempotencyKey(Endpoint):
    """Find out what became of a request."""

    roles = {"GET": frozenset({AGENT, MERCHANT, OPERATOR})}

    @extend_schema(**schemas.READ_KEY)
    def get(self, request: Request, merchant_id: str, key: str) -> Response:
        """Return the key's state, its answer's status, its order, and the requests that arrived."""
        if len(key) > 255 or "\0" in key:
            raise NotFound("No request with this key has begun anything.")
        arrivals.settle_down()
        # A key may end in slashes of its own; at other addresses they mean nothing.
        path = request._request.path
        as_sent = key + "/" * (len(path) - len(path.rstrip("/")))
        try:
            return Response(key_as_seen_by(self.principal, as_sent))
        except NotFound:
            if as_sent == key:
                raise
            return Response(key_as_seen_by(self.principal, key))
