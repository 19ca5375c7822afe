"""Merchants and the keys of their machines."""

from __future__ import annotations

from datetime import datetime

from django.db import IntegrityError, transaction

from orders.models import ApiKey, Merchant
from orders.models.merchants import new_api_key
from orders.models.secrets import encrypt


class AlreadyThere(Exception):
    """There is a merchant of that id."""


class NoSuchMerchant(Exception):
    """There is no merchant of that id."""


class NoSuchKey(Exception):
    """There is no key of that prefix that could be revoked."""


@transaction.atomic(durable=True)
def create_merchant(
    *,
    merchant_id: str,
    name: str,
    currency: str,
    stripe_secret_key: str,
    stripe_webhook_secret: str,
    confirm: str,
    idempotency: str,
) -> dict[str, str]:
    """Create a merchant and return its whole API keys by role; they cannot be shown again.

    Raises:
        ValidationError: the id or another value is not one that a merchant can have.
        AlreadyThere: there is a merchant of that id; it is left as it is.
    """
    merchant = Merchant(
        id=merchant_id,
        name=name,
        currency=currency,
        confirm=confirm,
        idempotency=idempotency,
        stripe_secret_key_sealed=encrypt(stripe_secret_key),
        stripe_webhook_secret_sealed=encrypt(stripe_webhook_secret),
    )
    merchant.clean_fields()
    if Merchant.objects.filter(id=merchant_id).exists():
        raise AlreadyThere(f"there is a merchant {merchant_id} already")
    try:
        merchant.save(force_insert=True)
    except IntegrityError as error:
        raise AlreadyThere(f"there is a merchant {merchant_id} already") from error
    return {
        role: _new_key(merchant, role, name="default")[0]
        for role in ("merchant", "agent", "operator")
    }


def create_api_key(*, merchant_id: str, role: str, name: str) -> tuple[str, ApiKey]:
    """Create a key and return it whole, once, with its row. Without a name it gets one of its own.

    Raises:
        NoSuchMerchant
    """
    merchant = Merchant.objects.filter(id=merchant_id).first()
    if merchant is None:
        raise NoSuchMerchant(f"there is no merchant {merchant_id}")
    return _new_key(merchant, role, name=name)


def _new_key(merchant: Merchant, role: str, *, name: str) -> tuple[str, ApiKey]:
    whole, prefix, digest = new_api_key(role)
    key = ApiKey(
        merchant=merchant,
        role=role,
        name=name or prefix.rpartition("_")[2],
        prefix=prefix,
        hash=digest,
    )
    key.save(force_insert=True)
    return whole, key


def revoke_api_key(*, prefix: str, now: datetime) -> None:
    """Revoke a key; every process refuses it within five seconds.

    Raises:
        NoSuchKey: no unrevoked key has that prefix.
    """
    with transaction.atomic(durable=True):
        key = ApiKey.objects.select_for_update().filter(prefix=prefix, revoked_at=None).first()
        if key is None:
            raise NoSuchKey(f"there is no key {prefix} that could be revoked")
        key.revoked_at = now
        key.save(update_fields=["revoked_at"])
