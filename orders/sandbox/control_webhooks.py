"""Webhooks by hand: who gets them, and lost, doubled, reordered and forged ones."""

from __future__ import annotations

import asyncio
from typing import Any

import orjson

from .accounts import API_VERSION
from .commands import Command, Wrong
from .identifiers import new_id
from .records import Event
from .signatures import signature
from .webhooks import Endpoint

ORDERS = ("as_made", "reversed", "shuffled")


async def show(command: Command) -> Any:
    """Tell endpoints, what is held and waiting, and the newest deliveries."""
    if "settled_within_ms" in command.query:
        await command.world.webhooks.settled(int(command.query["settled_within_ms"]) / 1000)
    return command.world.webhooks.told()


async def register(command: Command) -> Any:
    """Register an endpoint: `url`, `secret`, `account` (all when absent), `events`."""
    body = command.body
    if not isinstance(body.get("url"), str) or not isinstance(body.get("secret"), str):
        raise Wrong("an endpoint has a url and a secret")
    endpoint = Endpoint(
        url=body["url"],
        secret=body["secret"],
        account=body.get("account"),
        events=list(body.get("events") or ["*"]),
    )
    command.world.webhooks.endpoints.append(endpoint)
    command.world.note_endpoints()
    return endpoint


async def remove(command: Command) -> Any:
    """Forget one endpoint, or all."""
    removed = command.world.webhooks.remove(command.id or None)
    command.world.note_endpoints()
    return {"removed": removed}


async def hold(command: Command) -> Any:
    """Hold back every event from now on."""
    command.world.webhooks.holding = True
    return {"holding": True}


async def release(command: Command) -> Any:
    """Send what is held: `order` as_made, reversed or shuffled, each `copies` times."""
    order, copies = command.body.get("order", "as_made"), int(command.body.get("copies", 1))
    if order not in ORDERS:
        raise Wrong(f"order must be one of {', '.join(ORDERS)}")
    return {"released": command.world.webhooks.release(order, copies)}


async def forget_held(command: Command) -> Any:
    """Lose what is held."""
    lost = len(command.world.webhooks.held)
    command.world.webhooks.held.clear()
    command.world.webhooks.holding = False
    return {"lost": lost}


async def resend(command: Command) -> Any:
    """Send an `event` again, `times` times, at once if `parallel`; tell what came of each."""
    object_id = str(command.body.get("event"))
    account = command.account_with("events", object_id)
    event = account.events.get(object_id)
    assert event is not None
    webhooks = command.world.webhooks
    wanting = [one for one in webhooks.endpoints if one.wants(account.key, event.type)]
    sends = [
        webhooks.send(endpoint, event)
        for endpoint in wanting
        for _ in range(int(command.body.get("times", 1)))
    ]
    if command.body.get("parallel"):
        return {"deliveries": list(await asyncio.gather(*sends))}
    return {"deliveries": [await one for one in sends]}


async def forge(command: Command) -> Any:
    """Send what Stripe never would: a made-up `event`, or one with a wrong signature.

    `url` and `secret` default to those of the account's endpoint. `age_s` makes the signature old,
    `tampered` changes the body after signing, `signature` replaces the header.
    """
    body = command.body
    endpoint = _endpoint_of(command)
    event = body.get("event")
    if not isinstance(event, dict):
        event = _invented(str(body.get("type", "payment_intent.succeeded")), body.get("object"))
    raw = orjson.dumps(event)
    at = int(command.world.time() - float(body.get("age_s", 0)))
    signed = signature(raw, str(body.get("secret") or endpoint.secret), at)
    if body.get("tampered"):
        raw = raw.replace(b'"livemode":false', b'"livemode":true ', 1) + b" "
    status = await command.world.webhooks.post(
        str(body.get("url") or endpoint.url), raw, str(body.get("signature", signed))
    )
    return {"status": status, "event": event.get("id")}


def _endpoint_of(command: Command) -> Endpoint:
    body = command.body
    if body.get("url") and (body.get("secret") or "signature" in body):
        return Endpoint(str(body["url"]), str(body.get("secret", "")))
    account = body.get("account")
    for endpoint in command.world.webhooks.endpoints:
        if account is None or endpoint.account in (None, account):
            return endpoint
    raise Wrong("no endpoint is registered for this account: give url and secret")


def _invented(kind: str, what: Any) -> dict[str, Any]:
    return {
        "id": new_id("evt"),
        "object": "event",
        "api_version": API_VERSION,
        "created": 0,
        "data": {"object": what or {}},
        "livemode": False,
        "pending_webhooks": 1,
        "request": {"id": None, "idempotency_key": None},
        "type": kind,
    }


def event_told(event: Event) -> dict[str, Any]:
    """Return the event's body."""
    told: dict[str, Any] = orjson.loads(event.body)
    return told


async def show_events(command: Command) -> Any:
    """List an account's events, oldest first, in the order of their making."""
    by_key = command.world.accounts.by_key
    key = command.query.get("account")
    accounts = list(by_key.values()) if key is None else [by_key[key]] if key in by_key else []
    return {"data": [event_told(event) for account in accounts for event in account.events]}


TABLE = {
    ("GET", "events"): show_events,
    ("GET", "webhooks"): show,
    ("POST", "webhooks"): register,
    ("DELETE", "webhooks"): remove,
    ("DELETE", "webhooks/*"): remove,
    ("POST", "webhooks/hold"): hold,
    ("POST", "webhooks/release"): release,
    ("POST", "webhooks/forget"): forget_held,
    ("POST", "webhooks/resend"): resend,
    ("POST", "webhooks/forge"): forge,
}
