"""What every route of the API does first: who asks, may they, and whose is it."""

from __future__ import annotations

from typing import Any, ClassVar

from rest_framework.request import Request
from rest_framework.views import APIView

from orders.access import Principal
from orders.api.bodies import read_body
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
        # HEAD is GET without its body, and tells as much by its headers.
        method = "GET" if request.method == "HEAD" else request.method or ""
        allowed = self.roles.get(method, frozenset())
        if allowed and principal.role not in allowed:
            raise Forbidden(f"A key of role {principal.role} may not do this.")
        self._refuse_odd_parameters(request)

    def _refuse_odd_parameters(self, request: Request) -> None:
        errors = {}
        for name, values in request.query_params.lists():
            if name not in self.filters | {"limit", "cursor"}:
                errors[name] = ["Unknown parameter."]
            elif len(values) > 1:
                errors[name] = ["Must be given once."]
            elif not values[0] or "\0" in values[0]:
                # An empty filter would list everything, which is hardly what was meant.
                errors[name] = ["Must not be empty, nor contain NUL characters."]
        if errors:
            raise Invalid(
                "Some query parameters are not valid; `errors` names them.", errors=errors
            )

    @property
    def body(self) -> Any:
        """The request's JSON body, read strictly. Raises what `read_body` raises.

        Not DRF's `request.data`, which takes a chunked body for an empty one.
        """
        return read_body(self.request._request)

    @property
    def principal(self) -> Principal:
        """Who asks."""
        principal: Principal = self.request.user  # type: ignore[assignment]
        return principal
