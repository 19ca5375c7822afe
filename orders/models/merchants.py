"""Merchants, the keys of their machines and the memberships of their people."""

from __future__ import annotations

import secrets
from hashlib import sha256

from django.conf import settings
from django.core.validators import RegexValidator
from django.db import models
from django.db.models import Q
from django.db.models.functions import Now

from orders.models.secrets import decrypt

MERCHANT_ID = r"^[a-z0-9][a-z0-9_-]{0,62}$"


class Merchant(models.Model):
    """A tenant: whose orders, keys, people and provider account something is."""

    class Confirm(models.TextChoices):
        """Who confirms an order whose money is captured."""

        AUTOMATIC = "automatic"
        MANUAL = "manual"

    class Idempotency(models.TextChoices):
        """Whether completing a checkout without an idempotency key is refused."""

        REQUIRED = "required"
        OPTIONAL = "optional"

    id = models.CharField(
        primary_key=True,
        max_length=63,
        validators=[
            RegexValidator(MERCHANT_ID, "Use up to 63 of a-z, 0-9, - and _, letter or digit first.")
        ],
    )
    name = models.CharField(max_length=200)
    currency = models.CharField(max_length=3)
    confirm = models.CharField(max_length=10, choices=Confirm, default=Confirm.AUTOMATIC)
    idempotency = models.CharField(max_length=10, choices=Idempotency, default=Idempotency.REQUIRED)
    stripe_secret_key_sealed = models.TextField(blank=True, default="")
    stripe_webhook_secret_sealed = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(db_default=Now())

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(id__regex=MERCHANT_ID), name="merchant_ids_are_plain"
            ),
            models.CheckConstraint(
                condition=Q(confirm__in=["automatic", "manual"]), name="merchant_confirm_is_known"
            ),
            models.CheckConstraint(
                condition=Q(idempotency__in=["required", "optional"]),
                name="merchant_idempotency_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.id

    @property
    def stripe_secret_key(self) -> str:
        """The merchant's Stripe key in the clear; raises `SecretUnreadable`."""
        return decrypt(self.stripe_secret_key_sealed)

    @property
    def stripe_webhook_secret(self) -> str:
        """The merchant's Stripe signing secret in the clear; raises `SecretUnreadable`."""
        return decrypt(self.stripe_webhook_secret_sealed)


class ApiKey(models.Model):
    """A machine's key, of which only a hash is kept. Keys of one name are one actor.

    The secret part has 256 random bits, so a plain SHA-256 is enough; the prefix names the key
    to people and may be shown and logged.
    """

    class Role(models.TextChoices):
        """What the bearer may do."""

        AGENT = "agent"
        MERCHANT = "merchant"
        OPERATOR = "operator"

    id = models.BigAutoField(primary_key=True)
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="api_keys")
    role = models.CharField(max_length=10, choices=Role)
    name = models.CharField(max_length=100)
    prefix = models.CharField(max_length=40)
    hash = models.CharField(max_length=64)
    created_at = models.DateTimeField(db_default=Now())
    last_used_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.UniqueConstraint(fields=["prefix"], name="one_api_key_per_prefix"),
            models.UniqueConstraint(fields=["hash"], name="one_api_key_per_secret"),
            models.CheckConstraint(
                condition=Q(role__in=["agent", "merchant", "operator"]),
                name="api_key_role_is_known",
            ),
        ]

    def __str__(self) -> str:
        return self.prefix

    @property
    def actor(self) -> str:
        """Who acts with this key: `agent:NAME`, `merchant:NAME`, `operator:NAME`."""
        return f"{self.role}:{self.name}"


def new_api_key(role: str) -> tuple[str, str, str]:
    """Return a fresh key as (whole key, readable prefix, hash); the whole key is shown once."""
    prefix = f"svx_{role}_{secrets.token_hex(4)}"
    whole = f"{prefix}_{secrets.token_urlsafe(32)}"
    return whole, prefix, hash_api_key(whole)


def hash_api_key(whole: str) -> str:
    """Return what is stored of a key."""
    return sha256(whole.encode()).hexdigest()


class Member(models.Model):
    """A person who may use one merchant's order pages."""

    class Role(models.TextChoices):
        """Whether the person may act or only look."""

        VIEWER = "viewer"
        MANAGER = "manager"

    id = models.BigAutoField(primary_key=True)
    user = models.OneToOneField(
        settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership"
    )
    merchant = models.ForeignKey(Merchant, on_delete=models.PROTECT, related_name="members")
    role = models.CharField(max_length=10, choices=Role)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(role__in=["viewer", "manager"]), name="member_role_is_known"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} at {self.merchant_id}"
