"""The API's addresses. Ids that cannot be ours are not found before anything is asked."""

from __future__ import annotations

from django.urls import path, register_converter

from orders.api import checkouts, idempotency_keys, mutations, operations, orders, provider_events


class _Text:
    regex: str

    def to_python(self, value: str) -> str:
        """Return the id as it stands in the path."""
        return value

    def to_url(self, value: str) -> str:
        """Return the id as it stands in a path."""
        return value


class CheckoutId(_Text):
    """`cs_` and 32 hex digits."""

    regex = "cs_[0-9a-f]{32}"


class OrderId(_Text):
    """24 hex digits."""

    regex = "[0-9a-f]{24}"


class OperationId(_Text):
    """`op_` and 32 hex digits."""

    regex = "op_[0-9a-f]{32}"


class MerchantId(_Text):
    """What `create_merchant` takes."""

    regex = "[a-z0-9][a-z0-9_-]{0,62}"


register_converter(CheckoutId, "checkout")
register_converter(OrderId, "order")
register_converter(OperationId, "operation")
register_converter(MerchantId, "merchant")

M = "merchants/<merchant:merchant_id>"

urlpatterns = [
    path("checkout", checkouts.CreateCheckout.as_view()),
    path("checkout/<checkout:checkout_id>", checkouts.ReadCheckout.as_view()),
    path("checkout/<checkout:checkout_id>/complete", checkouts.CompleteCheckout.as_view()),
    path("checkout/<checkout:checkout_id>/cancel", checkouts.CancelCheckout.as_view()),
    path(
        "handlers/<slug:handler>/<merchant:merchant_id>/events",
        provider_events.ReceiveProviderEvent.as_view(),
    ),
    path(f"{M}/orders", orders.ListOrders.as_view()),
    path(f"{M}/orders/<order:order_id>", orders.ReadOrder.as_view()),
    path(f"{M}/mutations", mutations.ListMutations.as_view()),
    path(f"{M}/operations", operations.ListOperations.as_view()),
    path(f"{M}/operations/<operation:operation_id>", operations.ReadOperation.as_view()),
    path(f"{M}/operations/<operation:operation_id>/cancel", operations.CancelOperation.as_view()),
    path(f"{M}/operations/<operation:operation_id>/look-up", operations.LookUpOperation.as_view()),
    path(f"{M}/idempotency-keys/<path:key>", idempotency_keys.ReadIdempotencyKey.as_view()),
]
