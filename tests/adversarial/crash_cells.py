"""The crash matrix: where somebody dies, who asks afterwards, and what must hold then."""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import requests

from idempotency.models import IdempotencyRecord, OutboxEvent
from orders.models import CheckoutSession, Operation, Order
from tests.adversarial.crash_stack import CrashStack
from tests.shop import Reply, Shop, new_key

PATIENCE = 40  # seconds until everything must have come to rest
FOLLOW_UPS = ("same key", "new key", "nobody")

WEB = (
    "web: accept not committed",
    "web: accepted, not sent",
    "web: provider working",
    "web: provider acted",
    "web: answered, not settled",
    "web: settle not committed",
    "web: settled, not answered",
)
WORKER = (
    "worker: leased, not worked on",
    "worker: claimed, not begun",
    "worker: begun, not sent",
    "worker: provider working",
    "worker: provider acted",
    "worker: answered, not settled",
    "worker: settle not committed",
    "worker: settled, not marked delivered",
)
EVENT = ("event: kept, not worked on", "event: settle not committed", "event: settled, not marked")
LOOK_UP = (
    "look-up: begun, not asked",
    "look-up: answered, not settled",
    "look-up: settle not committed",
    "look-up: settled",
)
POINTS = (*WEB, *WORKER, *EVENT, *LOOK_UP)
# Nobody has been asked to move money when these die, so nothing may have moved.
NEVER_SENT = {"web: accept not committed", "web: accepted, not sent", "worker: begun, not sent"}


@dataclass
class Verdict:
    """What one run of a cell came to."""

    charges: int
    orders: int
    answer: int | None
    seconds: float


def run_cell(stack: CrashStack, shop: Shop, point: str, follow_up: str) -> Verdict:
    """Let somebody die at the point, ask again or not, and hold what is left against the promise.

    Raises:
        AssertionError: a charge too many, an order lost, or something that never comes to rest.
    """
    began = time.monotonic()
    reached = shop.at(stack.url)
    checkout, key = shop.checkout(), new_key("crash")
    token = "pm_sandbox_drop_after" if point in LOOK_UP else "pm_card_visa"
    with ThreadPoolExecutor(1) as pool:
        first = _die(stack, reached, pool, point, checkout, key, token)
        answer = None
        if follow_up == "same key":
            answer = _ask_until_final(stack, reached, checkout, key, token)
        elif follow_up == "new key":
            answer = _ask_until_final(stack, reached, checkout, new_key("other"), token)
        _come_to_rest(shop, checkout)
        first.cancel()
    _check(stack, shop, point, follow_up, checkout, key, answer)
    return Verdict(
        charges=stack.stripe.summary(shop.account).charges,
        orders=Order.objects.filter(checkout_id=checkout).count(),
        answer=answer.status if answer else None,
        seconds=time.monotonic() - began,
    )


def _die(
    stack: CrashStack,
    shop: Shop,
    pool: ThreadPoolExecutor,
    point: str,
    checkout: str,
    key: str,
    token: str,
) -> Future[Reply | None]:
    """Send the first request, and return once somebody has died."""
    who, _, where = point.partition(": ")
    stack.wait_until_up()
    gate = f"gate-{key}" if where.startswith("provider") else ""
    if gate:
        when = "before" if where == "provider working" else "after"
        stack.stripe.gate(gate, when=when, account=shop.account, method="POST", times=1)
    elif who != "event":
        stack.arm(point)
    headers = {"Prefer": "respond-async"} if who == "worker" else {}
    sent = pool.submit(_send, shop, checkout, key, token, headers)
    if gate:
        assert stack.stripe.waiting_at(gate, at_least=1, timeout=20) >= 1, "nobody came to the gate"
        stack.kill(who)
        stack.stripe.open_gate(gate)
    elif who == "event":
        _die_of_event(stack, shop, sent, point)
    _wait_until_dead(stack, point)
    return sent


def _die_of_event(stack: CrashStack, shop: Shop, sent: Future[Reply | None], point: str) -> None:
    """Let the request's own process die with the charge made, and the event's process after it."""
    stack.arm("web: answered, not settled")
    _wait_until_dead(stack, "web: answered, not settled")
    sent.result(30)
    stack.wait_until_up()
    stack.arm(point)
    event = next(
        one["id"]
        for one in stack.stripe.events(shop.account)
        if one["type"] == "payment_intent.succeeded"
    )
    endpoint = f"{stack.url}/handlers/stripe/{shop.id}/events"
    hook = stack.stripe.register_webhook(endpoint, "whsec_test", account=shop.account)
    # A provider sends an event again until it is taken; the server may be away at any moment.
    _resend_until(stack, shop, event, lambda _: not stack.is_armed or _is_settled(shop, point))
    stack.disarm()
    _resend_until(stack, shop, event, lambda deliveries: deliveries[-1].get("status") == 200)
    stack.stripe.remove_webhooks(hook)


def _resend_until(
    stack: CrashStack, shop: Shop, event: str, done: Callable[[list[dict[str, Any]]], bool]
) -> None:
    deadline = time.monotonic() + PATIENCE
    while True:
        deliveries = stack.stripe.resend_event(event, account=shop.account)
        if done(deliveries):
            return
        assert time.monotonic() < deadline, f"never done: {deliveries}"
        time.sleep(0.2)


def _is_settled(shop: Shop, point: str) -> bool:
    """Whether a worker was quicker than the event, so that nobody can die of settling by it."""
    operations = Operation.objects.filter(merchant_id=shop.id)
    return point == "event: settle not committed" and all(one.is_final for one in operations)


def _send(shop: Shop, checkout: str, key: str, token: str, headers: dict[str, str]) -> Reply | None:
    """Send the request whose answer may never come."""
    try:
        return shop.complete(checkout, key, token, headers=headers)
    except requests.RequestException:
        return None


def _wait_until_dead(stack: CrashStack, point: str) -> None:
    deadline = time.monotonic() + PATIENCE
    while stack.is_armed:
        assert time.monotonic() < deadline, f"nobody died: {point}"
        time.sleep(0.02)


def _ask_until_final(stack: CrashStack, shop: Shop, checkout: str, key: str, token: str) -> Reply:
    """Ask as a good client does: the same request again while the answer says that it may help."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline:
        told = _send(shop, checkout, key, token, {})
        if told is not None and told.status != 202 and not told.json().get("retryable"):
            return told
        time.sleep(0.2)
    raise AssertionError("no final answer")


def _come_to_rest(shop: Shop, checkout: str) -> None:
    """Return when no operation is under way and every promise about it was kept."""
    deadline = time.monotonic() + PATIENCE
    operations = Operation.objects.filter(checkout_id=checkout)
    under_way = operations.exclude(status__in=Operation.FINAL)
    while time.monotonic() < deadline:
        ids = list(operations.values_list("id", flat=True))
        owed = OutboxEvent.objects.filter(subject__in=ids, delivered_at=None)
        if not under_way.exists() and not owed.exists():
            return
        time.sleep(0.1)
    raise AssertionError(f"not at rest: {list(under_way.values('id', 'status', 'error_code'))}")


def _check(
    stack: CrashStack,
    shop: Shop,
    point: str,
    follow_up: str,
    checkout: str,
    key: str,
    answer: Reply | None,
) -> None:
    charges = stack.stripe.summary(shop.account, metadata={"sarvex_merchant": shop.id}).charges
    orders = list(Order.objects.filter(checkout_id=checkout))
    status = CheckoutSession.objects.values_list("status", flat=True).get(id=checkout)
    assert charges == len(orders) <= 1, f"{charges} charges, {len(orders)} orders"
    assert status == ("completed" if orders else "open")
    if follow_up == "nobody" and point in NEVER_SENT:
        assert not orders
    else:
        assert len(orders) == 1
    _check_answer(shop, follow_up, checkout, key, orders, answer)
    _check_trail(shop, checkout, orders)


def _check_answer(
    shop: Shop,
    follow_up: str,
    checkout: str,
    key: str,
    orders: list[Order],
    answer: Reply | None,
) -> None:
    if answer is not None and answer.status == 200:
        assert answer.json()["order_id"] == orders[0].id
    elif answer is not None:
        assert (answer.status, answer.json()["code"]) == (409, "checkout_already_completed")
        assert answer.json()["order_id"] == orders[0].id
        assert follow_up == "new key"
    unfinished = IdempotencyRecord.objects.filter(
        merchant=shop.id, subject=checkout, state__in=["open", "unresolved"]
    )
    assert not unfinished.exists()
    if orders:
        kept = IdempotencyRecord.objects.get(
            merchant=shop.id, key=orders[0].idempotency_key, generation=orders[0].generation
        )
        assert (kept.state, kept.answer_status, kept.result_id) == ("answered", 200, orders[0].id)


def _check_trail(shop: Shop, checkout: str, orders: list[Order]) -> None:
    trail = shop.mutations()
    creates = [
        one
        for one in trail
        if one["checkout_session_id"] == checkout and one["mutation_type"] == "create"
    ]
    succeeded = [one for one in creates if one["local_status"] == "succeeded"]
    assert len(succeeded) == len(orders)
    assert all(one["completed_at"] for one in creates)
    created = OutboxEvent.objects.filter(
        topic="sync.order.created", subject__in=[one.id for one in orders]
    )
    assert created.count() == len(orders)
