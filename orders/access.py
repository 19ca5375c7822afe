"""What an actor of one merchant may reach; everything else does not exist for it."""

from __future__ import annotations

from dataclasses import dataclass

from django.db.models import QuerySet

from orders.errors import NotFound
from orders.models import ApiKey, CheckoutSession, Operation, Order


@dataclass(frozen=True, slots=True, kw_only=True)
class Principal:
    """Who asks: a merchant's machine with a role. `actor` is how it is named in every record."""

    merchant_id: str
    role: str
    actor: str
    api_key_id: int
    idempotency_required: bool = True

    @property
    def is_agent(self) -> bool:
        """Whether the caller acts for a buyer, and so sees only what it did itself."""
        return self.role == ApiKey.Role.AGENT


def checkout(principal: Principal, checkout_id: str) -> CheckoutSession:
    """Return the merchant's checkout. Raises `NotFound`."""
    found = CheckoutSession.objects.filter(
        merchant_id=principal.merchant_id, id=checkout_id
    ).first()
    if found is None:
        raise NotFound("No such checkout.")
    return found


def orders(principal: Principal) -> QuerySet[Order]:
    """Return the orders that the caller may see: all of its merchant's, or an agent's own."""
    visible = Order.objects.filter(merchant_id=principal.merchant_id)
    return visible.filter(actor=principal.actor) if principal.is_agent else visible


def order(principal: Principal, order_id: str) -> Order:
    """Return one order that the caller may see. Raises `NotFound`."""
    found = orders(principal).filter(id=order_id).first()
    if found is None:
        raise NotFound("No such order.")
    return found


def operations(principal: Principal) -> QuerySet[Operation]:
    """Return the operations that the caller may see: all of its merchant's, or an agent's own."""
    visible = Operation.objects.filter(merchant_id=principal.merchant_id)
    return visible.filter(actor=principal.actor) if principal.is_agent else visible


def operation(principal: Principal, operation_id: str) -> Operation:
    """Return one operation that the caller may see. Raises `NotFound`."""
    found = operations(principal).filter(id=operation_id).first()
    if found is None:
        raise NotFound("No such operation.")
    return found
