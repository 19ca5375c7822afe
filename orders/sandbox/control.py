"""The control path: how tests, demonstrations and operators make the sandbox misbehave.

JSON in, JSON out, from this machine only.
"""

from __future__ import annotations

import ipaddress
from collections.abc import Awaitable, Callable
from typing import Any

import orjson
from aiohttp import web

from . import control_money, control_webhooks
from .commands import Command, Wrong
from .faults import fault_from
from .summary import summary
from .world import World

Handler = Callable[[Command], Awaitable[Any]]
_TABLE: dict[tuple[str, str], Handler] = {}


async def serve(world: World, request: web.BaseRequest) -> web.Response:
    """Answer one request to the control path."""
    if not _from_here(request.remote):
        return _json(403, {"error": "the control path answers this machine only"})
    parts = [part for part in request.path.split("/")[2:] if part]
    handler, object_id = _find(request.method, parts)
    if handler is None:
        return _json(404, {"error": f"no {request.method} {request.path}"})
    try:
        body = _body(await request.read())
        command = Command(world, object_id, body, dict(request.rel_url.query))
        return _json(200, await handler(command))
    except Wrong as wrong:
        return _json(404 if wrong.absent else 400, {"error": str(wrong)})
    except (KeyError, TypeError, ValueError) as error:
        return _json(400, {"error": f"{type(error).__name__}: {error}"})


def _body(raw: bytes) -> dict[str, Any]:
    body = orjson.loads(raw) if raw else {}
    if not isinstance(body, dict):
        raise Wrong("the body is a JSON object")
    return body


def _find(method: str, parts: list[str]) -> tuple[Handler | None, str]:
    """Return the handler of `noun`, `noun/id` or `noun/id/verb`, and the id."""
    noun, rest = (parts[0] if parts else ""), parts[1:]
    exact = _TABLE.get((method, "/".join(parts)))
    if exact is not None:
        return exact, ""
    pattern = "/".join([noun, "*", *rest[1:]])
    return (_TABLE.get((method, pattern)), rest[0]) if rest else (None, "")


def _from_here(remote: str | None) -> bool:
    try:
        return remote is not None and ipaddress.ip_address(remote).is_loopback
    except ValueError:
        return False


def _json(status: int, told: Any) -> web.Response:
    body = orjson.dumps(told)
    return web.Response(status=status, body=body, content_type="application/json")


async def add_fault(command: Command) -> Any:
    """Set a fault."""
    return command.world.faults.add(fault_from(command.body)).told()


async def list_faults(command: Command) -> Any:
    """List the faults that are set."""
    return {"data": [fault.told() for fault in command.world.faults.set]}


async def clear_faults(command: Command) -> Any:
    """Forget one fault, or all."""
    return {"cleared": command.world.faults.clear(command.id or None)}


async def show_gate(command: Command) -> Any:
    """Tell how many wait; with `at_least` and `timeout_ms`, first wait for so many."""
    gate = command.world.gates.named(command.id)
    if "at_least" in command.query:
        timeout = int(command.query.get("timeout_ms", "5000")) / 1000
        await gate.at_least(int(command.query["at_least"]), timeout)
    return gate.told(command.id)


async def open_gate(command: Command) -> Any:
    """Let `count` of the waiting through, or everybody from now on."""
    gate = command.world.gates.named(command.id)
    count = command.body.get("count")
    released = gate.open(None if count is None else int(count))
    return {**gate.told(command.id), "released": released}


async def close_gate(command: Command) -> Any:
    """Hold whoever comes from now on."""
    gate = command.world.gates.named(command.id)
    gate.close()
    return gate.told(command.id)


async def show_requests(command: Command) -> Any:
    """List arrivals, oldest first, filtered by whatever member the query names."""
    wanted = dict(command.query)
    limit = int(wanted.pop("limit", "1000"))
    found = command.world.arrivals.matching(wanted)
    return {"data": found[-limit:], "total": len(found)}


async def show_summary(command: Command) -> Any:
    """Count what happened to money, by `account` and `metadata[name]`."""
    key = command.query.get("account")
    by_key = command.world.accounts.by_key
    accounts = by_key.values() if key is None else [by_key[key]] if key in by_key else []
    metadata = {
        name[9:-1]: value for name, value in command.query.items() if name.startswith("metadata[")
    }
    return summary(accounts, metadata)


async def reset(command: Command) -> Any:
    """Forget one `account`, or everything."""
    command.world.reset(command.body.get("account"))
    return {"reset": command.body.get("account") or "everything"}


async def move_clock(command: Command) -> Any:
    """Move the clock by `shift_s`, or set its whole offset with `offset_s`."""
    world = command.world
    by = float(command.body.get("shift_s", 0))
    world.set_clock(float(command.body.get("offset_s", world.clock_offset)) + by)
    control_money.expire_all_due(world)
    return {"offset_s": world.clock_offset, "now": world.accounts.clock.now()}


async def set_default_delay(command: Command) -> Any:
    """Let every API request take `ms`."""
    command.world.settings.default_delay_ms = int(command.body["ms"])
    return command.world.settings


async def change_settings(command: Command) -> Any:
    """Change `default_delay_ms`, `idempotency_keep_s`, `refund_settles_after_ms`."""
    settings = command.world.settings
    for name, value in command.body.items():
        if name not in {"default_delay_ms", "idempotency_keep_s", "refund_settles_after_ms"}:
            raise Wrong(f"unknown setting: {name}")
        setattr(settings, name, None if value is None else int(value))
    return settings


_TABLE.update(
    {
        ("POST", "faults"): add_fault,
        ("GET", "faults"): list_faults,
        ("DELETE", "faults"): clear_faults,
        ("DELETE", "faults/*"): clear_faults,
        ("GET", "gates/*"): show_gate,
        ("POST", "gates/*/open"): open_gate,
        ("POST", "gates/*/close"): close_gate,
        ("GET", "requests"): show_requests,
        ("GET", "summary"): show_summary,
        ("POST", "reset"): reset,
        ("POST", "clock"): move_clock,
        ("POST", "default_delay"): set_default_delay,
        ("POST", "settings"): change_settings,
        **control_money.TABLE,
        **control_webhooks.TABLE,
    }
)
