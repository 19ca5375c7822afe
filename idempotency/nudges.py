"""Tell the workers that something is due, a moment after the commit and never in its way.

The nudge is sent from a thread of its own: a broker that is down or hangs slows no request. A
lost nudge costs latency only, since the workers also come by every few seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

import structlog
from django.conf import settings
from django.utils.module_loading import import_string

from idempotency.later import LaterWriter

log = structlog.get_logger(__name__)


def _send(nudges: Sequence[None]) -> None:
    """Send one nudge for all that were asked for in the last moment."""
    try:
        import_string(settings.OUTBOX_NUDGE)()
    except Exception as error:  # noqa: BLE001 (kombu lets through whatever its transport raises)
        log.warning("nudge_not_sent", error=type(error).__name__)


_nudges: LaterWriter[None] = LaterWriter("nudges", _send)


def nudge_later() -> None:
    """Have the workers look at the outbox soon; costs no I/O."""
    if settings.OUTBOX_NUDGE:
        _nudges.add(None)
