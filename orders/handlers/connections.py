"""Connections that are not used when they come too late.

Finding a host's address has no time-out of its own, and a process may be frozen at any moment.
A connection that stands only after the request's deadline is given up before its first byte is
sent, so that whoever has meanwhile concluded that nothing was sent stays right.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

_of_thread = threading.local()


class ConnectedTooLate(urllib3.exceptions.ConnectTimeoutError):
    """The connection stood only after the deadline; nothing was sent through it."""


@contextmanager
def deadline(seconds: float) -> Iterator[None]:
    """Give up what this thread begins to send later than so many seconds from now."""
    _of_thread.until = time.monotonic() + seconds
    try:
        yield
    finally:
        _of_thread.until = None


def _refuse_if_too_late() -> None:
    until = getattr(_of_thread, "until", None)
    if until is not None and time.monotonic() > until:
        raise ConnectedTooLate("connected after the deadline; nothing was sent")


class _PunctualHttp(HTTPConnection):
    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        """Begin a request, unless it is too late for it."""
        if self.sock is None:
            self.connect()
        _refuse_if_too_late()
        super().putrequest(*args, **kwargs)


class _PunctualHttps(HTTPSConnection):
    def putrequest(self, *args: Any, **kwargs: Any) -> None:
        """Begin a request, unless it is too late for it."""
        if self.sock is None:
            self.connect()
        _refuse_if_too_late()
        super().putrequest(*args, **kwargs)


class _PunctualHttpPool(HTTPConnectionPool):
    ConnectionCls = _PunctualHttp


class _PunctualHttpsPool(HTTPSConnectionPool):
    ConnectionCls = _PunctualHttps


class PunctualAdapter(HTTPAdapter):
    """Sends through connections that keep the thread's deadline; never sends twice by itself."""

    def init_poolmanager(self, *args: Any, **kwargs: Any) -> None:
        """Make pools of such connections."""
        super().init_poolmanager(*args, **kwargs)
        self.poolmanager.pool_classes_by_scheme = {
            "http": _PunctualHttpPool,
            "https": _PunctualHttpsPool,
        }


def session_for(address: str) -> requests.Session:
    """Return a session that has read the environment's proxies once, and reads no `.netrc`.

    By itself requests walks through all of the environment, and looks for a `.netrc`, before every
    request; a name in there would even replace the merchant's key.
    """
    session = requests.Session()
    session.trust_env = False
    session.proxies = requests.utils.get_environ_proxies(address)
    session.mount("http://", PunctualAdapter())
    session.mount("https://", PunctualAdapter())
    return session
