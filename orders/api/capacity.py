"""Room for slow requests: some threads are always left for the quick ones.

A request that may call a provider, or wait for one that does, takes a place for as long. When all
places are taken it is refused before anything is begun, so that replays, reads, health checks and
the providers' own events still get a thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from django.conf import settings

from orders.errors import ServiceUnavailable

_places = threading.BoundedSemaphore(settings.SARVEX_SLOW_REQUESTS)


@contextmanager
def slow_request() -> Iterator[None]:
    """Hold one place for a request that may take as long as a provider does.

    Raises:
        ServiceUnavailable: all places are taken; nothing was begun.
    """
    if not _places.acquire(blocking=False):
        raise ServiceUnavailable("Too many requests are waiting for payment providers.")
    try:
        yield
    finally:
        _places.release()
