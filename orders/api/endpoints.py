"""What every route of the API does first: who asks, may they, and whose is it."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from orders.access import Principal
from orders.errors import Invalid, NotFound, Refusal
from orders.models import ApiKey

AGENT, MERCHANT, OPERATOR = ApiKey.Role.AGENT, ApiKey.Role.MERCHANT, ApiKey.Role.OPERATOR


class Forbidden(Refusal):
    """The key is valid, but its role may not do this."""

    code = "forbidden"


class Endpoint(APIView):
    """A route of the API. `roles` says who may use each method."""

    roles: ClassVar[dict[str, frozenset[ApiKey.Role]]] = {}
    # Query parameters that GET understands besides `limit` and `cursor`.
    filters: ClassVar[frozenset[str]] = frozenset()

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """Refuse strangers, other merchants' addresses (404), wrong roles and unknown filters."""
        super().initial(request, *args, **kwargs)
        principal = self.principal
        merchant_id = kwargs.get("merchant_id")
        if merchant_id is not None and merchant_id != principal.merchant_id:
            raise NotFound("There is nothing at this address.")
        allowed = self.roles.get(request.method or "", frozenset())
        if allowed and principal.role not in allowed:
            raise Forbidden(f"A key of role {principal.role} may not do this.")
        if any("\0" in value for value in request.query_params.values()):
            raise Invalid("Query parameters must not contain NUL characters.")
        unknown = set(request.query_params) - self.filters - {"limit", "cursor"}
        if unknown:
            raise Invalid(
                "Some query parameters are not known.",
                errors={name: ["Unknown parameter."] for name in sorted(unknown)},
            )

    @property
    def principal(self) -> Principal:
        """Who asks."""
        principal: Principal = self.request.user  # type: ignore[assignment]
        return principal
