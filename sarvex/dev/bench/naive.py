"""What Sarvex is compared with: a view that charges and writes an order down, and no more.

The same web server, middleware, API keys, REST framework, ORM and Stripe SDK, through the same
handler; no idempotency, no trail, no outbox, no checkout. Served by the benchmark only.
"""

from __future__ import annotations

import uuid
from datetime import timedelta
from functools import lru_cache

from django.db import models
from django.urls import include, path
from django.utils import timezone
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from orders.api.endpoints import AGENT, Endpoint
from orders.handlers.base import ChargeOrder, Result
from orders.handlers.registry import handler_for
from orders.models import Merchant


class NaiveOrder(models.Model):
    """An order as a shop without protection writes it down; `goods` makes the table."""

    id = models.CharField(primary_key=True, max_length=40)
    merchant_id = models.CharField(max_length=64)
    amount = models.BigIntegerField()
    currency = models.CharField(max_length=3)
    reference = models.CharField(max_length=255)
    created_at = models.DateTimeField()

    class Meta:
        app_label = "bench"
        managed = False
        db_table = "bench_naiveorder"

    def __str__(self) -> str:
        return self.id


class PurchaseInput(serializers.Serializer[None]):
    """What is bought, and with what it is paid."""

    amount = serializers.IntegerField(min_value=1)
    currency = serializers.CharField(max_length=3)
    token = serializers.CharField(max_length=255)


@lru_cache
def _merchant(merchant_id: str) -> Merchant:
    return Merchant.objects.get(id=merchant_id)


class Purchase(Endpoint):
    """Charge, then insert."""

    roles = {"POST": frozenset({AGENT})}

    def post(self, request: Request) -> Response:
        """Do so for every request that comes, again for the second and the third of the same."""
        form = PurchaseInput(data=request.data)
        form.is_valid(raise_exception=True)
        said = form.validated_data
        order_id = uuid.uuid4().hex
        outcome = handler_for("stripe", _merchant(self.principal.merchant_id)).charge(
            ChargeOrder(
                handler_key=order_id,
                amount=said["amount"],
                currency=said["currency"],
                token=said["token"],
                capture=True,
                metadata={"order": order_id},
                begin_within=timedelta(seconds=20),
            )
        )
        if outcome.result is not Result.SUCCEEDED:
            return Response({"error": outcome.code}, status=402)
        order = NaiveOrder(
            id=order_id,
            merchant_id=self.principal.merchant_id,
            amount=said["amount"],
            currency=said["currency"],
            reference=outcome.reference,
            created_at=timezone.now(),
        )
        order.save(force_insert=True)
        return Response({"id": order.id, "amount": order.amount, "reference": order.reference})


urlpatterns = [path("naive", Purchase.as_view()), path("", include("sarvex.urls"))]
