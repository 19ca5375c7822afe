"""HTTP/1.1 byte by byte, for what no client library would send."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from requests.structures import CaseInsensitiveDict

from tests.shop import Reply

PATIENCE = 20.0  # seconds that an answer may take


class Closed(Exception):
    """The server closed the connection before a whole answer came."""


class Wire:
    """One connection to a web server."""

    def __init__(self, url: str) -> None:
        parts = urlsplit(url)
        self._socket = socket.create_connection((parts.hostname or "", parts.port or 80), PATIENCE)
        self._read = b""

    def send(self, *pieces: bytes) -> Wire:
        """Send bytes as they are."""
        for piece in pieces:
            self._socket.sendall(piece)
        return self

    def reply(self) -> Reply:
        """Return the next answer. Raises `Closed`."""
        head = self._until(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        headers = CaseInsensitiveDict(dict(line.split(": ", 1) for line in lines if line))
        if headers.get("Transfer-Encoding") == "chunked":
            content = b"".join(self._chunks())
        else:
            content = self._exactly(int(headers.get("Content-Length", 0)))
        return Reply(int(first.split()[1]), headers, content)

    def close(self) -> None:
        """Hang up."""
        self._socket.close()

    def _chunks(self) -> Iterator[bytes]:
        while size := int(self._until(b"\r\n"), 16):
            yield self._exactly(size)
            self._exactly(2)
        self._exactly(2)

    def _until(self, mark: bytes) -> bytes:
        while mark not in self._read:
            self._more()
        found, _, self._read = self._read.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        while len(self._read) < size:
            self._more()
        found, self._read = self._read[:size], self._read[size:]
        return found

    def _more(self) -> None:
        more = self._socket.recv(65536)
        if not more:
            raise Closed(self._read)
        self._read += more


@contextmanager
def wire(url: str) -> Iterator[Wire]:
    """Open a connection for the block."""
    one = Wire(url)
    try:
        yield one
    finally:
        one.close()


def request(
    method: str,
    path: str,
    body: bytes | None = None,
    *,
    chunked: bool = False,
    headers: dict[str, str] | None = None,
) -> bytes:
    """Return the bytes of a request, its headers spelt as given."""
    lines = [f"{method} {path} HTTP/1.1", "Host: 127.0.0.1"]
    lines += [f"{name}: {value}" for name, value in (headers or {}).items()]
    if chunked:
        lines.append("Transfer-Encoding: chunked")
    elif body is not None:
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n"
    if body is None:
        return head
    return head + (b"".join(in_chunks(body)) if chunked else body)


def in_chunks(body: bytes, size: int = 7000) -> Iterator[bytes]:
    """Yield a body in HTTP chunks, with the last one."""
    for begin in range(0, len(body), size):
        piece = body[begin : begin + size]
        yield b"%x\r\n%s\r\n" % (len(piece), piece)
    yield b"0\r\n\r\n"
