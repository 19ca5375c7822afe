"""A whole stack as a person starts it; stand-in processes where the real ones do not matter."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path

from sarvex.dev import liveness, ports, servers
from sarvex.dev.supervisor import MARK

PATIENCE = 90.0

# Ready at once on PORT; everything else that a web process does is tested elsewhere.
WEB = """
import http.server, os
class Ready(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer.allow_reuse_port = True
http.server.HTTPServer(("127.0.0.1", int(os.environ["PORT"])), Ready).serve_forever()
"""
# A worker with a child in a session of its own, which no signal to the worker's group reaches.
WORKER = """
import subprocess, sys, time
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
print("working", flush=True)
time.sleep(600)
"""


class RunningStack:
    """One `python -m sarvex.dev.run`, and what it has printed so far."""

    def __init__(
        self,
        home: Path,
        *,
        procfile: Path | None = None,
        under: Sequence[str] = (),  # the words of a program that starts it
        **environment: str,
    ) -> None:
        self.home = home
        home.mkdir(parents=True, exist_ok=True)
        self.port = environment.get("PORT") or str(ports.port_for(home, "test-web"))
        # The tests' own servers are not this stack's.
        outer = {k: v for k, v in os.environ.items() if k not in {"DATABASE_URL", "REDIS_URL"}}
        self.mark = f"{MARK}={home}"
        words: list[str | Path] = [*under, sys.executable, "-m", "sarvex.dev.run"]
        self.process = subprocess.Popen(
            [*words, "--procfile", procfile] if procfile else words,
            cwd=servers.CHECKOUT,
            env=outer | {"SARVEX_HOME": str(home), "PORT": self.port} | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.lines.append(line.rstrip("\n"))

    @property
    def printed(self) -> str:
        """All that was printed so far."""
        return "\n".join(self.lines)

    def await_line(self, part: str) -> str:
        """Wait until a line with `part` was printed, and return it."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            for line in self.lines:
                if part in line:
                    return line
            if self.process.poll() is not None and not self._reader.is_alive():
                break
            time.sleep(0.02)
        raise AssertionError(f"no line with {part!r}:\n{self.printed}")

    def await_ready(self) -> RunningStack:
        """Wait for the line that says ready."""
        assert self.await_line("ready ") == f"ready http://127.0.0.1:{self.port}"
        return self

    def end(self, number: signal.Signals = signal.SIGTERM) -> int:
        """Signal the supervisor and return its exit code when it has ended."""
        if self.process.poll() is None:
            self.process.send_signal(number)
        return self.wait()

    def wait(self) -> int:
        """Wait for its end and return the exit code."""
        code = self.process.wait(PATIENCE)
        self._reader.join(PATIENCE)
        assert self.process.stdout is not None
        self.process.stdout.close()
        return code

    def processes(self) -> list[int]:
        """Everything that this stack started and that still lives, the servers apart."""
        return liveness.marked(self.mark)

    def pid_of(self, program: str) -> int:
        """The one process of the stack whose command line has `program`."""
        named = [
            pid
            for pid in self.processes()
            if program in Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
        ]
        assert len(named) == 1, named
        return named[0]


def stand_in_procfile(folder: Path) -> Path:
    """Write a Procfile of stand-in processes."""
    for name, program in (("web", WEB), ("worker", WORKER)):
        (folder / f"stand_in_{name}.py").write_text(program)
    path = folder / "Procfile"
    python = sys.executable
    path.write_text(
        f"web: {python} {folder}/stand_in_web.py\nworker: {python} {folder}/stand_in_worker.py\n"
    )
    return path
