"""What every refusal of the API has in common, and what one must not have done."""

from __future__ import annotations

from typing import Any

from orders.errors import PROBLEM_TYPE, REFUSALS
from orders.sandbox.client import SandboxControl
from tests.shop import Reply, Shop, new_key

PAY: dict[str, Any] = {"payment": {"handler": "stripe", "token": "pm_card_visa"}}


def problem(told: Reply, code: str) -> dict[str, Any]:
    """Return the members of a refusal, having seen that it is one of this code, whole."""
    assert told.headers["Content-Type"] == PROBLEM_TYPE, told.content[:300]
    found: dict[str, Any] = told.json()
    kind = REFUSALS[code]
    assert (found["code"], told.status) == (code, kind.status), found
    assert found["status"] == told.status
    assert found["type"] == f"urn:sarvex:problem:{code}"
    assert found["title"] == kind.title
    assert found["detail"]
    assert found["retryable"] is kind.retryable
    assert found["request_id"] == told.headers["Request-Id"] != ""
    assert ("Retry-After" in told.headers) is kind.retryable
    assert told.headers["Cache-Control"] == "no-store"
    return found


def begins_nothing(shop: Shop, stripe: SandboxControl, checkout: str, key: str) -> None:
    """See that refused requests left no trace, and that their key is free for a right one."""
    assert shop.operations() == []
    assert stripe.requests(account=shop.account) == []
    assert shop.get(f"{{m}}/idempotency-keys/{key}").status == 404
    paid = shop.complete(checkout, key)
    assert (paid.status, paid.replayed) == (200, False), paid.content
    assert shop.complete(checkout, key).replayed
    assert stripe.summary(shop.account).charges == 1


def create(shop: Shop, body: Any = None, **options: Any) -> Reply:
    """Ask for a checkout with a body as it is."""
    return shop.call("POST", "/checkout", body, role="merchant", **options)


def complete_raw(shop: Shop, checkout: str, key: str | None = None, **options: Any) -> Reply:
    """Ask to complete a checkout with a body as it is."""
    key = new_key() if key is None else key
    return shop.call("POST", f"/checkout/{checkout}/complete", key=key, **options)
