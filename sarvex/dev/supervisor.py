"""The processes of one stack under one parent: started, watched, restarted, ended together."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from sarvex.dev import liveness, logs
from sarvex.dev.console import say, show
from sarvex.dev.refusals import Refused
from sarvex.dev.tether import tethered

# In the environment of every process of a stack, so that what a killed supervisor left is found.
MARK = "SARVEX_STACK"
END_PATIENCE = 15.0  # seconds for requests and tasks under way, before SIGKILL
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds before a crashed process is started again
STEADY = 30.0  # seconds after which a process counts as well again


@dataclass
class Process:
    """One line of the Procfile, and the child that runs it at present."""

    name: str
    command: list[str]
    log: Path
    child: subprocess.Popen[bytes] | None = None
    log_began: int = 0  # size of the log when the child started
    started: float = 0.0
    crashes: int = 0  # in a row
    due: float = 0.0  # when it may start again


@dataclass
class Supervisor:
    """Starts processes, keeps them running and ends every one of them."""

    environment: Mapping[str, str]
    folder: Path  # where the processes work
    logs: Path
    ending: threading.Event  # set by a signal
    processes: list[Process] = field(default_factory=list)

    def start(self, commands: Mapping[str, list[str]]) -> None:
        """Start one process for each command."""
        for name, command in commands.items():
            process = Process(name, command, self.logs / f"{name}.log")
            self.processes.append(process)
            self._spawn(process)

    def tend(self) -> None:
        """Restart what has ended, with a line that says so; to be called again and again."""
        for process in self.processes:
            logs.trim(process.log)
            if process.child is None:
                if time.monotonic() >= process.due:
                    self._spawn(process)
            elif process.child.poll() is not None:
                self._report_crash(process, process.child)

    def crashes(self) -> int:
        """How often the worst process ended by itself, in a row."""
        return max((process.crashes for process in self.processes), default=0)

    def stop(self, impatient: threading.Event) -> None:
        """End every process and its children: asked first, killed when the patience is over."""
        children = [process.child for process in self.processes if process.child is not None]
        for child in children:
            _send(child, signal.SIGTERM)
        deadline = time.monotonic() + END_PATIENCE
        while any(child.poll() is None for child in children):
            if time.monotonic() > deadline or impatient.wait(0.02):
                break
        for child in children:
            _kill_group(child)
        self.processes.clear()
        end_marked(self.environment[MARK])

    def run(self, command: list[str]) -> int:
        """Run a command to its end, its output on the terminal, and return its exit code.

        A signal to us ends it first.
        """
        return self._run(command, output=None, errors=None)

    def ask(self, command: list[str], *, purpose: str) -> str:
        """Run a command and return what it printed.

        Raises:
            Refused: it failed; the line, or the lines above it, have its own words.
        """
        log = self.logs / "setup.log"
        errors = logs.opened(log)
        began = log.stat().st_size
        try:
            with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
                code = self._run(command, output=output.fileno(), errors=errors)
                output.seek(0)
                printed = output.read()
        finally:
            os.close(errors)
        if code != 0 and not self.ending.is_set():
            said = logs.last_lines(log, since=began, count=20) or printed.splitlines()[-20:]
            if len(said) == 1:
                raise Refused(said[0])
            for line in said:
                show(f"    {line}")
            raise Refused(f"{purpose} failed: see the lines above, or {log}")
        return printed

    def _run(self, command: list[str], *, output: int | None, errors: int | None) -> int:
        child = subprocess.Popen(
            command,
            cwd=self.folder,
            env=self.environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=errors,
            start_new_session=True,
            preexec_fn=tethered(signal.SIGKILL),
        )
        while child.poll() is None:
            if self.ending.wait(0.02):
                _send(child, signal.SIGTERM)
                _wait(child, 5.0)
        _kill_group(child)
        return child.returncode

    def _spawn(self, process: Process) -> None:
        output = logs.opened(process.log)
        process.log_began = process.log.stat().st_size
        try:
            process.child = subprocess.Popen(
                process.command,
                cwd=self.folder,
                env=self.environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
                preexec_fn=tethered(signal.SIGTERM),
            )
        except OSError as error:
            reason = f"{process.name}: {process.command[0]} cannot be started: {error.strerror}"
            raise Refused(reason) from None
        finally:
            os.close(output)
        process.started = time.monotonic()

    def _report_crash(self, process: Process, child: subprocess.Popen[bytes]) -> None:
        """Say how a process ended, and when it starts again."""
        _kill_group(child)  # what it started must not hold its port
        if time.monotonic() - process.started > STEADY:
            process.crashes = 0
        pause = min(FIRST_PAUSE * 2**process.crashes, LONGEST_PAUSE)
        process.crashes += 1
        process.child, process.due = None, time.monotonic() + pause
        say(f"{process.name} ended ({_how(child.returncode)}); it starts again in {pause:g} s")
        for line in logs.last_lines(process.log, since=process.log_began, count=10):
            show(f"    {process.name}: {line}")


def end_marked(stack: str) -> list[int]:
    """End every process that carries the stack's mark; return those that were found."""
    found = liveness.marked(f"{MARK}={stack}")
    for pid in found:
        _signal(pid, signal.SIGTERM)
    for pid in found:
        liveness.end(pid, (signal.SIGTERM, END_PATIENCE), (signal.SIGKILL, 5.0))
    return found


def _how(code: int) -> str:
    return f"exit code {code}" if code >= 0 else f"killed by {signal.Signals(-code).name}"


def _send(child: subprocess.Popen[bytes], number: signal.Signals) -> None:
    if child.poll() is None:
        child.send_signal(number)


def _wait(child: subprocess.Popen[bytes], patience: float) -> None:
    try:
        child.wait(patience)
    except subprocess.TimeoutExpired:
        child.kill()


def _kill_group(child: subprocess.Popen[bytes]) -> None:
    """Kill what is left of a child's group, its leader included, and collect the leader."""
    # Nobody is left, says Linux the first way and macOS the second.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()


def _signal(pid: int, number: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)
