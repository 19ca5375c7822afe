"""One request to the API, from its arrival to its answer, or to its silence."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from .accounts import Account
from .arrivals import Arrival
from .calls import Call
from .encoding import encoded
from .errors import Refused, key_in_use, rate_limited, server_error
from .expansion import check, expand
from .faults import HANG_MS, Fault
from .idempotency import fingerprint
from .records import Kept
from .rendering import Document
from .world import World

log = logging.getLogger(__name__)
JSON, HTML = "application/json", "text/html"


class Dropped(Exception):
    """The connection ends here, without an answer."""


@dataclass(slots=True)
class Reply:
    """What goes over the wire."""

    status: int
    body: bytes
    original: str | None = None
    replayed: bool = False
    content_type: str = JSON
    began: bool = True


@dataclass(slots=True)
class Exchange:
    """Everything known of one authenticated request."""

    world: World
    account: Account
    arrival: Arrival
    endpoint: Callable[[Call], Document]
    pairs: tuple[tuple[str, str], ...]
    faults: list[Fault] = field(default_factory=list)

    async def answer(self) -> Reply:
        """Act, or replay, and misbehave where that is asked for.

        Raises: Dropped.
        """
        if not self.faults and not self.world.settings.default_delay_ms:
            return await self._act_or_replay()
        self._refuse_at_the_door()
        reply = await self._act_or_replay()
        await self._hold("after")
        for fault in self.faults:
            if fault.action == "drop_after":
                raise Dropped
            if fault.action == "empty":
                return Reply(200, b"", original=reply.original)
            if fault.action == "error_after":
                return spoiled(fault, reply)
        return reply

    def _refuse_at_the_door(self) -> None:
        for fault in self.faults:
            if fault.action == "drop_before":
                raise Dropped
            if fault.action == "in_use":
                raise key_in_use(self.arrival.idempotency_key)
            if fault.action == "rate_limited":
                raise rate_limited()
            if fault.action == "error_before":
                raise Spoiled(spoiled(fault, None))

    async def _act_or_replay(self) -> Reply:
        arrival, account, settings = self.arrival, self.account, self.world.settings
        key = arrival.idempotency_key
        if key is None:
            await self._hold("before")
            return self._act()
        print_ = fingerprint(arrival.method, arrival.path, self.pairs)
        now = account.clock.now()
        kept = account.keys.begin(key, print_, now=now, keep_for=settings.idempotency_keep_s)
        if kept is not None:
            await self._wait_as_always()
            arrival.replayed = True
            account.count("replays")
            return Reply(kept.status, kept.body, original=kept.request_id, replayed=True)
        try:
            await self._hold("before")
            return self._act(key, print_)
        finally:
            account.keys.release(key)

    def _act(self, key: str | None = None, print_: str = "") -> Reply:
        """Execute the endpoint and keep its result; nothing else runs in between."""
        reply = self._executed()
        reply.original = self.arrival.request_id if key is not None else None
        if key is not None and reply.began:
            to_keep = self._as_kept(reply)
            self.account.keys.keep(
                Kept(key, self.account.clock.now(), print_, self.arrival.request_id,
                     to_keep.status, to_keep.body)
            )  # fmt: skip
        self.world.commit(self.account)
        return reply

    def _executed(self) -> Reply:
        arrival = self.arrival
        call = Call(
            self.account,
            arrival.params,
            self.account.clock.now(),
            arrival.request_id,
            arrival.idempotency_key,
            any(fault.action == "wrong_amount" for fault in self.faults),
        )
        expanded = "expand" in arrival.params
        try:
            if expanded:
                check(arrival.params)
            document = self.endpoint(call)
            if expanded:
                expand(self.account, arrival.params, document)
            return Reply(200, encoded(document))
        except Refused as refused:
            return refusal(refused)
        except Exception:
            log.exception("the sandbox broke on %s %s", arrival.method, arrival.path)
            return refusal(server_error())
        finally:
            arrival.acted = bool(self.account.changed)

    def _as_kept(self, reply: Reply) -> Reply:
        for fault in self.faults:
            if fault.action == "error_after" and fault.keeps_error:
                return spoiled(fault, reply)
        return reply

    async def _hold(self, when: str) -> None:
        if when == "before":
            await self._wait_as_always()
        for fault in self.faults:
            if fault.when != when:
                continue
            if fault.action == "gate":
                await self.world.gates.named(fault.gate or "").wait()
            elif fault.action == "delay":
                await asyncio.sleep((fault.ms or 0) / 1000)
            elif fault.action == "hang":
                await asyncio.sleep((fault.ms or HANG_MS) / 1000)

    async def _wait_as_always(self) -> None:
        if self.world.settings.default_delay_ms:
            await asyncio.sleep(self.world.settings.default_delay_ms / 1000)


class Spoiled(Exception):
    """An answer that a fault gives instead of ours."""

    def __init__(self, reply: Reply) -> None:
        super().__init__(reply.status)
        self.reply = reply


def spoiled(fault: Fault, reply: Reply | None) -> Reply:
    """Return the answer that the fault asks for."""
    original = reply.original if reply else None
    if fault.html:
        page = f"<html><body><h1>{fault.status}</h1></body></html>\n".encode()
        return Reply(fault.status, page, original=original, content_type=HTML)
    if fault.body is not None:
        return Reply(fault.status, fault.body.encode(), original=original)
    refused = Refused(fault.status, fault.message, kind=fault.type, code=fault.code)
    told = refusal(refused)
    told.original = original
    return told


def refusal(refused: Refused) -> Reply:
    """Return the error envelope."""
    body: dict[str, Any] = {"error": refused.error}
    return Reply(refused.status, encoded(body), began=refused.began)
