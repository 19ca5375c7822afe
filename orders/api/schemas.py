"""What the OpenAPI document says of each route."""

from __future__ import annotations

from typing import Any

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, OpenApiResponse

from orders.api.idempotent import KEY_DESCRIPTION
from orders.api.inputs import CheckoutInput, CompleteInput, NothingInput

OBJECT = OpenApiTypes.OBJECT


def _key(*, required: bool) -> OpenApiParameter:
    return OpenApiParameter(
        name="Idempotency-Key",
        type=str,
        location=OpenApiParameter.HEADER,
        required=required,
        description=KEY_DESCRIPTION,
    )


PREFER = OpenApiParameter(
    name="Prefer",
    type=str,
    location=OpenApiParameter.HEADER,
    description=(
        "`respond-async` (RFC 7240): do not wait. The answer is a 202 with the operation in"
        " `accepted`; a worker sends it, and while it is `accepted` it can be cancelled."
    ),
)


def _query(name: str, description: str, kind: Any = str) -> OpenApiParameter:
    return OpenApiParameter(name=name, type=kind, description=description)


def _answers(**described: str) -> dict[Any, OpenApiResponse]:
    texts = {
        "status_400": "`invalid_request`, `malformed_json`: nothing was begun.",
        "status_401": "`unauthenticated`",
        "status_403": "`forbidden`: the key's role may not do this.",
        "status_404": "`not_found`: no such thing, or another merchant's.",
        **described,
    }
    return {
        (
            int(name.removeprefix("status_")),
            "application/json" if name < "status_4" else "application/problem+json",
        ): OpenApiResponse(OBJECT, description=text)
        for name, text in sorted(texts.items())
    }


_PAGE = [
    _query("limit", "1 to 100; 20 when absent.", int),
    _query("cursor", "`next_cursor` of the page before."),
]

CREATE_CHECKOUT: dict[str, Any] = {
    "operation_id": "createCheckout",
    "summary": "Open a checkout session",
    "parameters": [_key(required=False)],
    "request": CheckoutInput,
    "responses": _answers(status_201="The session.", status_409="`idempotency_key_reused`"),
}
READ_CHECKOUT: dict[str, Any] = {
    "operation_id": "readCheckout",
    "summary": "Read a checkout session",
    "responses": _answers(
        status_200="The session; with `order_id` or `operation` once there is one."
    ),
}
COMPLETE_CHECKOUT: dict[str, Any] = {
    "operation_id": "completeCheckout",
    "summary": "Charge a checkout and make its order, effectively once",
    "description": (
        "One intention, one charge, one order, one answer, however often this is sent. A 200 is"
        " the order. A 202 means that the outcome is not known yet: it is NOT a failure; send the"
        " same request again with the same Idempotency-Key after `Retry-After`, or read the"
        " operation at `Location`. Only a 402 says that the payment was declined; to try another"
        " payment, use a new key."
    ),
    "parameters": [_key(required=True), PREFER],
    "request": CompleteInput,
    "responses": _answers(
        status_200="The order.",
        status_202="The operation: its outcome is not known yet. Never an error.",
        status_402="`payment_declined` with `decline_code`, `payment_requires_action`: final.",
        status_409=(
            "Permanent: `idempotency_key_reused`, `checkout_already_completed` with `order_id`,"
            " `checkout_canceled`, `checkout_expired`, `amount_changed`. To be tried again after"
            " `Retry-After`: `idempotency_request_in_progress`, `checkout_in_progress`."
        ),
        status_502="`payment_handler_misconfigured`: nothing was charged.",
        status_503="`payment_handler_unavailable`, `service_unavailable`: nothing was charged.",
    ),
}
CANCEL_CHECKOUT: dict[str, Any] = {
    "operation_id": "cancelCheckout",
    "summary": "Close a checkout session for good",
    "parameters": [_key(required=False)],
    "request": NothingInput,
    "responses": _answers(
        status_200="The session.",
        status_409="`checkout_already_completed`, `checkout_in_progress`, `checkout_expired`",
    ),
}
LIST_ORDERS: dict[str, Any] = {
    "operation_id": "listOrders",
    "summary": "Find orders, newest first",
    "parameters": [
        _query("idempotency_key", "The key that the order was completed under."),
        _query("status", "created, confirmed, shipped, cancelled or refunded."),
        _query("checkout_session_id", "The checkout that became the order."),
        _query("created_after", "RFC 3339 time, exclusive."),
        _query("created_before", "RFC 3339 time, exclusive."),
        _query("email", "The buyer's address."),
        _query("q", "An id of any kind, or part of the buyer's name or address."),
        *_PAGE,
    ],
    "responses": _answers(status_200="A page of orders."),
}
READ_ORDER: dict[str, Any] = {
    "operation_id": "readOrder",
    "summary": "Read an order",
    "responses": _answers(status_200="The order."),
}
LIST_OPERATIONS: dict[str, Any] = {
    "operation_id": "listOperations",
    "summary": "Find operations, newest first",
    "parameters": [
        _query("status", "accepted, submitting, succeeded, failed, indeterminate or cancelled."),
        _query("order_id", "The order whose money it moves."),
        _query("idempotency_key", "The key that it was asked under."),
        *_PAGE,
    ],
    "responses": _answers(status_200="A page of operations."),
}
READ_OPERATION: dict[str, Any] = {
    "operation_id": "readOperation",
    "summary": "Read an operation",
    "responses": _answers(status_200="The operation."),
}
CANCEL_OPERATION: dict[str, Any] = {
    "operation_id": "cancelOperation",
    "summary": "Take back an operation that has not been sent yet",
    "request": NothingInput,
    "responses": _answers(
        status_200="The operation, cancelled.",
        status_409="`invalid_transition`: it may have been sent, or has ended.",
    ),
}
LOOK_UP_OPERATION: dict[str, Any] = {
    "operation_id": "lookUpOperation",
    "summary": "Ask the provider now what became of an operation; never sends",
    "request": NothingInput,
    "responses": _answers(status_200="The operation as it then stands."),
}
LIST_MUTATIONS: dict[str, Any] = {
    "operation_id": "listMutations",
    "summary": "Read the audit trail, oldest first",
    "parameters": [
        _query("order_id", "Only about this order."),
        _query("idempotency_key", "Only under this key."),
        _query("mutation_type", "create, capture, confirm, ship, refund, void, transition, …"),
        *_PAGE,
    ],
    "responses": _answers(status_200="A page of mutations."),
}
RECEIVE_PROVIDER_EVENT: dict[str, Any] = {
    "operation_id": "receiveProviderEvent",
    "summary": "Take a payment provider's signed event; each event id takes effect once",
    "request": OBJECT,
    "responses": {200: OpenApiResponse(OBJECT, description="It was kept, and took effect.")},
    "auth": [],
}
READ_KEY: dict[str, Any] = {
    "operation_id": "readIdempotencyKey",
    "summary": "Find out what became of a request",
    "responses": _answers(
        status_200="State, fingerprint, answer's status, order or operation, and every arrival."
    ),
}
