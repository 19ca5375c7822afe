"""The HTTP server: one process, one loop, so that it can drop, hang and wait at will.

aiohttp's low-level server is used without its router and middlewares: benchmarks share two cores
with us, and every microsecond here is taken from what they measure.
"""

from __future__ import annotations

import asyncio
import gc
import signal
from email.utils import formatdate
from pathlib import Path

from aiohttp import web

from . import control
from .accounts import API_VERSION, Account
from .arrivals import Arrival
from .authentication import secret_key
from .errors import Refused, invalid
from .exchanges import JSON, Dropped, Exchange, Reply, Spoiled, refusal
from .faults import Subject, rehearsed
from .forms import Form, parse
from .identifiers import new_id
from .journal import Journal
from .routes import confirms, find
from .webhooks import Endpoint
from .world import World

# Records make no cycles; walking through all of them often would cost a tenth of a second each.
COLLECT = (100_000, 20, 100)
OK = b'{"status":"ok"}'


class Sandbox:
    """Serves Stripe's API, the control path and a health check."""

    def __init__(self, world: World) -> None:
        self.world = world

    async def serve(self, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request, or close its connection without a word."""
        path = request.path
        if path.startswith("/v1/"):
            return await self._api(request, path)
        if path.startswith("/_sandbox/"):
            return await control.serve(self.world, request)
        if path == "/healthz":
            return web.Response(body=OK, content_type=JSON)
        return web.Response(status=404, body=b'{"error":{"message":"not here"}}', content_type=JSON)

    async def _api(self, request: web.BaseRequest, path: str) -> web.StreamResponse:
        path = path.rstrip("/")
        request_id = new_id("req")
        arrival = self.world.arrivals.new(
            at=self.world.time(), method=request.method, path=path, request_id=request_id
        )
        try:
            exchange = await self._exchange(request, arrival)
            reply = await exchange.answer()
        except Dropped:
            arrival.state = "dropped"
            if request.transport is not None:
                request.transport.abort()
            return web.Response()
        except Spoiled as spoiled:
            reply = spoiled.reply
        except Refused as refused:
            if refused.status == 409 and arrival.account:
                self.world.accounts.of(arrival.account).count("conflicts")
            reply = refusal(refused)
        arrival.state, arrival.status = "answered", reply.status
        return _response(request, request_id, reply, self.world.accounts.clock.now())

    async def _exchange(self, request: web.BaseRequest, arrival: Arrival) -> Exchange:
        """Find out who asks for what, and which faults meet it.

        Raises: Refused.
        """
        headers = request.headers
        if request.method == "POST":
            arrival.idempotency_key = headers.get("Idempotency-Key") or None
        account = self.world.accounts.of(secret_key(headers.get("Authorization")))
        arrival.account = account.key
        account.count("requests")
        encoded = request.rel_url.raw_query_string
        if request.method == "POST":
            encoded = _text(await request.read())
        arrival.params, pairs = parse(encoded)
        endpoint = find(arrival.method, arrival.path)
        exchange = Exchange(self.world, account, arrival, endpoint, pairs)
        method = _confirmed_with(account, arrival)
        if self.world.faults.set:
            exchange.faults = self.world.faults.meeting(_subject(account, arrival, method))
        if (
            method is not None
            and method.startswith("pm_sandbox_")
            and not _is_kept(arrival, account)
        ):
            exchange.faults = [*exchange.faults, *rehearsed(method)]
        if exchange.faults:
            arrival.faults = [fault.id for fault in exchange.faults]
        return exchange


def _text(body: bytes) -> str:
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise invalid("The request is not valid UTF-8.") from None


def _is_kept(arrival: Arrival, account: Account) -> bool:
    """Say whether the key has a result: rehearsals are over when it is asked for again."""
    return arrival.idempotency_key in account.keys.kept


def _confirmed_with(account: Account, arrival: Arrival) -> str | None:
    """Return the payment method that this request would confirm with."""
    intent_id = confirms(arrival.method, arrival.path, arrival.params)
    if intent_id is None:
        return None
    told = arrival.params.get("payment_method")
    if isinstance(told, str) and told:
        return account.methods.get(told, told)
    intent = account.intents.get(intent_id)
    return intent.card if intent else None


def _subject(account: Account, arrival: Arrival, method: str | None) -> Subject:
    form: Form = arrival.params
    told = form.get("metadata")
    metadata = told if isinstance(told, dict) else {}
    parts = arrival.path.split("/")
    intent_id = parts[3] if len(parts) > 3 else str(form.get("payment_intent", ""))
    intent = account.intents.get(intent_id)
    return Subject(
        method=arrival.method,
        path=arrival.path,
        account=account.key,
        form=form,
        key=arrival.idempotency_key,
        payment_method=method or (intent.card if intent else None),
        metadata={**(intent.metadata if intent else {}), **metadata},
    )


def _response(request: web.BaseRequest, request_id: str, reply: Reply, now: int) -> web.Response:
    headers = {
        "Date": formatdate(now, usegmt=True),
        "Request-Id": request_id,
        "Stripe-Version": request.headers.get("Stripe-Version", API_VERSION),
        "Content-Type": reply.content_type,
    }
    if reply.original is not None:
        headers["Original-Request"] = reply.original
        headers["Idempotency-Key"] = request.headers.get("Idempotency-Key", "")
    if reply.replayed:
        headers["Idempotent-Replayed"] = "true"
    if reply.status == 429:
        headers["Stripe-Rate-Limited-Reason"] = "global-rate"
    if reply.status == 409:
        headers["Stripe-Should-Retry"] = "true"
    return web.Response(status=reply.status, body=reply.body, headers=headers)


async def run(
    *, host: str, port: int, state: Path | None = None, endpoint: Endpoint | None = None
) -> None:
    """Serve until SIGTERM or SIGINT.

    Raises: JournalInUse, JournalUnreadable; OSError when the port is taken.
    """
    world = World(Journal(state))
    world.start()
    gc.freeze()
    gc.set_threshold(*COLLECT)
    if endpoint is not None and all(one.url != endpoint.url for one in world.webhooks.endpoints):
        world.webhooks.endpoints.append(endpoint)
    server = web.Server(Sandbox(world).serve, access_log=None)
    loop = asyncio.get_running_loop()
    listening = await loop.create_server(server, host, port, backlog=1024)
    stop = asyncio.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop.set)
    await stop.wait()
    listening.close()
    await server.shutdown(0.1)
    await world.webhooks.close()
    world.journal.close()
