"""Loopback ports that belong to a home: the same ones after every restart, while they are free."""

from __future__ import annotations

import hashlib
import json
import socket
from pathlib import Path

from sarvex.dev.private import write_private
from sarvex.dev.refusals import Refused

# Below the range from which systems lend ports to outgoing connections (from 32768 on Linux),
# above what is commonly taken: a port chosen here is still free after a restart.
FIRST, LAST = 20_000, 29_999


def is_free(port: int) -> bool:
    """Say whether a server could listen on this loopback port now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def reserve(port: int) -> socket.socket:
    """Keep a port for a web process of ours, as long as the returned socket is open.

    The web server shares its port with whoever else asks to share it: two stacks would both
    start, and each would get some of the other's requests. A socket that is bound and does not
    listen takes no connection, and makes the next `reserve` refuse.

    Raises:
        Refused: somebody has the port.
    """
    if not is_free(port):
        raise Refused(f"port {port} is in use: set PORT to another one")
    held = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    try:
        held.bind(("127.0.0.1", port))
    except OSError as error:
        held.close()
        raise Refused(f"port {port} cannot be used: {error.strerror}") from None
    return held


def port_for(home: Path, name: str) -> int:
    """Return the port of `name` in this home, choosing another one only when it is taken."""
    path = home / "ports.json"
    try:
        ports: dict[str, int] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError):
        ports = {}
    if name in ports and is_free(ports[name]):
        return ports[name]
    size = LAST - FIRST + 1
    start = int.from_bytes(hashlib.sha256(f"{home}\0{name}".encode()).digest()[:4]) % size
    for step in range(size):
        port = FIRST + (start + step) % size
        if port not in ports.values() and is_free(port):
            write_private(path, json.dumps({**ports, name: port}))
            return port
    raise Refused(f"no free port between {FIRST} and {LAST} for {name}")
