"""Structured logs: one JSON object a line on standard output, without secrets or personal data.

Events carry ids and codes. Bodies, headers, tokens, buyers and provider replies are not logged,
and as a second wall values that look like keys or addresses are masked.
"""

from __future__ import annotations

import logging
import logging.config
import re
import sys
from collections.abc import MutableMapping
from typing import Any

import orjson
import structlog

SECRET = re.compile(
    r"(svx_[a-z]+_[0-9a-f]{8})_[A-Za-z0-9_-]+"
    r"|\b((?:sk|rk|pk)_(?:test_|live_)?|whsec_|pm_)[A-Za-z0-9_+/=-]{6,}"
    r"|(pi_[A-Za-z0-9]+_secret_)[A-Za-z0-9]+|(Bearer )\S+"
)
EMAIL = re.compile(r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}")


def mask(text: str) -> str:
    """Return the text without keys, client secrets and e-mail addresses."""
    masked = SECRET.sub(lambda found: next((g for g in found.groups() if g), "") + "[masked]", text)
    return EMAIL.sub("[email]", masked)


def _mask_values(_: Any, __: str, event: MutableMapping[str, Any]) -> MutableMapping[str, Any]:
    for name, value in event.items():
        event[name] = _masked(value)
    return event


def _masked(value: Any) -> Any:
    if isinstance(value, str):
        return mask(value) if "_" in value or "@" in value or "Bearer" in value else value
    if isinstance(value, dict):
        return {name: _masked(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_masked(inner) for inner in value]
    return value


def _dumps(event: Any, default: Any = None, **_: Any) -> str:
    return orjson.dumps(event, default=default or repr).decode()


SHARED: list[Any] = [
    structlog.contextvars.merge_contextvars,
    structlog.stdlib.add_log_level,
    structlog.stdlib.add_logger_name,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _mask_values,
]


def _says_more_than_a_status(entry: logging.LogRecord) -> bool:
    """Leave out Django's "Not Found" and the like: the request's own line tells it already."""
    return entry.exc_info is not None


def configure(options: dict[str, Any]) -> None:
    """Set up logging for the process; `options["level"]` is the least level that is written."""
    structlog.configure(
        processors=[
            structlog.stdlib.filter_by_level,
            structlog.stdlib.PositionalArgumentsFormatter(),
            *SHARED,
            structlog.processors.JSONRenderer(serializer=_dumps),
        ],
        logger_factory=structlog.stdlib.LoggerFactory(),
        wrapper_class=structlog.stdlib.BoundLogger,
        cache_logger_on_first_use=True,
    )
    foreign = structlog.stdlib.ProcessorFormatter(
        foreign_pre_chain=[structlog.stdlib.PositionalArgumentsFormatter(), *SHARED],
        processors=[
            structlog.stdlib.ProcessorFormatter.remove_processors_meta,
            structlog.processors.JSONRenderer(serializer=_dumps),
        ],
    )
    plain = logging.StreamHandler(sys.stdout)
    plain.setFormatter(logging.Formatter("%(message)s"))
    framed = logging.StreamHandler(sys.stdout)
    framed.setFormatter(foreign)
    root = logging.getLogger()
    root.handlers = [framed]
    root.setLevel(options["level"])
    for name in ("sarvex", "orders", "idempotency", "audit"):
        ours = logging.getLogger(name)
        ours.handlers, ours.propagate = [plain], False
        ours.setLevel(options["level"])
    logging.getLogger("django.request").addFilter(_says_more_than_a_status)
    logging.getLogger("stripe").setLevel(logging.WARNING)
