"""What providers told of their own accord: stored with its evidence before it is worked on."""

from __future__ import annotations

from django.db import models

from orders.models.merchants import Merchant


class ProviderEvent(models.Model):
    """One event of one provider about one merchant's account; each takes effect once.

    `evidence` holds allow-listed members only; `body_sha256` proves which bytes were signed.
    """

    id = models.BigAutoField(primary_key=True)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="events")
    handler = models.CharField(max_length=40)
    event_id = models.CharField(max_length=255)
    type = models.CharField(max_length=100)
    reference = models.CharField(max_length=255, blank=True, default="")
    operation_id = models.CharField(max_length=40, blank=True, default="")
    evidence = models.JSONField(default=dict)
    body_sha256 = models.CharField(max_length=64)
    received_at = models.DateTimeField()
    processed_at = models.DateTimeField(null=True)
    effect = models.CharField(max_length=100, blank=True, default="")

    class Meta:
        verbose_name = "provider event"
        constraints = [
            models.UniqueConstraint(
                fields=["merchant", "handler", "event_id"], name="one_row_per_provider_event"
            ),
        ]
        indexes = [
            models.Index(fields=["reference"], name="provider_events_by_reference"),
            models.Index(fields=["operation_id"], name="provider_events_by_operation"),
        ]

    def __str__(self) -> str:
        return f"{self.type} {self.event_id}"
