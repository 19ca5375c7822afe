"""A shelf of final answers in Redis: what is found there is right, what is missing is only slower.

An entry is sealed with a MAC over the key that it belongs to, so an entry that was damaged, moved
or forged reads as missing. Redis that is down or does not answer costs one short time-out, and is
then left alone for a while.
"""

from __future__ import annotations

import hmac
import time
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from typing import Any

import orjson
import redis
import structlog
from django.conf import settings
from django.db import connection
from redis.backoff import NoBackoff
from redis.retry import Retry

from idempotency.answers import Answer

log = structlog.get_logger(__name__)

_MAC_BYTES = 32
_resting_until = 0.0  # this process's clock; set when Redis did not answer


@lru_cache(maxsize=1)
def _client() -> redis.Redis:
    patience = settings.SARVEX_REDIS_TIMEOUT.total_seconds()
    return redis.Redis.from_url(
        settings.REDIS_URL,
        socket_timeout=patience,
        socket_connect_timeout=patience,
        retry=Retry(NoBackoff(), 0),
        protocol=2,
    )


@lru_cache(maxsize=1)
def _mac_key() -> bytes:
    return sha256(b"sarvex replay cache\0" + settings.SECRET_KEY.encode()).digest()


def _name(merchant: str, key: str) -> bytes:
    # The database's name keeps two stacks that share one Redis apart.
    scope = orjson.dumps([str(connection.settings_dict["NAME"]), merchant, key])
    return b"sarvex:replay:" + sha256(scope).hexdigest().encode()


def _seal(name: bytes, content: bytes) -> bytes:
    return hmac.digest(_mac_key(), name + b"\0" + content, "sha256")


def _try(command: str, *arguments: Any, **options: Any) -> Any:
    """Ask Redis once; None when it is down, hung or being left alone."""
    global _resting_until
    if time.monotonic() < _resting_until:
        return None
    try:
        return getattr(_client(), command)(*arguments, **options)
    except redis.RedisError as error:
        rest = settings.SARVEX_REDIS_REST.total_seconds()
        _resting_until = time.monotonic() + rest
        log.warning("replay_cache_unavailable", error=type(error).__name__, rest_seconds=rest)
        return None


def find(*, merchant: str, key: str, fingerprint: str, now: datetime) -> Answer | None:
    """Return the answer of an equal request whose window has not passed, or None.

    A different fingerprint is None as well: only the database may say that a key is taken.
    """
    name = _name(merchant, key)
    entry = _try("get", name)
    if entry is None or len(entry) <= _MAC_BYTES:
        return None
    seal, content = entry[:_MAC_BYTES], entry[_MAC_BYTES:]
    if not hmac.compare_digest(seal, _seal(name, content)):
        log.warning("replay_cache_entry_not_ours")
        return None
    head, _, body = content.partition(b"\n")
    told = orjson.loads(head)
    expires_at = datetime.fromisoformat(told["expires_at"])
    if told["fingerprint"] != fingerprint or now >= expires_at:
        return None
    return Answer(
        status=told["status"],
        body=body,
        headers=told["headers"],
        final=True,
        replayed=True,
        expires_at=expires_at,
    )


def wake_up() -> None:
    """End a rest early: ask Redis again at once."""
    global _resting_until
    _resting_until = 0.0


def is_up() -> bool:
    """Whether Redis answers now."""
    return _try("ping") is True


def keep(*, merchant: str, key: str, fingerprint: str, answer: Answer, now: datetime) -> None:
    """Put a final answer on the shelf until its window ends; failing to is no failure."""
    if not answer.final or answer.expires_at is None:
        return
    remaining = answer.expires_at - now
    if remaining <= timedelta(0):
        return
    head = orjson.dumps(
        {
            "fingerprint": fingerprint,
            "status": answer.status,
            "headers": answer.headers,
            "expires_at": answer.expires_at.isoformat(),
        }
    )
    name, content = _name(merchant, key), head + b"\n" + answer.body
    _try("set", name, _seal(name, content) + content, px=int(remaining.total_seconds() * 1000) or 1)
