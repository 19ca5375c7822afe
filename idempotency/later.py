"""Write small notes a moment later, so that no caller waits for them.

Notes are gathered in memory and written in batches by one thread of the process. What a SIGKILL
can take is the last moment's notes, so nothing that money depends on is written this way.
"""

from __future__ import annotations

import os
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

import structlog
from django.db import DatabaseError, DataError, InterfaceError, connection

log = structlog.get_logger(__name__)

# Short enough to be there when somebody looks, long enough to gather a burst into one statement.
MOMENT = 0.05  # seconds
BATCH = 500
# About 20 MB; past this PostgreSQL has been away for long, and the oldest notes are let go.
MOST_KEPT = 50_000

Note = TypeVar("Note")


class LaterWriter(Generic[Note]):
    """Notes of one kind, written by one thread of each process that makes any."""

    def __init__(self, name: str, write: Callable[[Sequence[Note]], object]) -> None:
        self.name = name
        self._write = write
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        """Start with no notes and no thread; a forked child's notes are its parent's to write."""
        self._waiting: deque[Note] = deque()
        self._something = threading.Event()
        self._writing = threading.Lock()
        self._starting = threading.Lock()
        self._writer_of: int | None = None  # the process whose thread writes

    def add(self, note: Note) -> None:
        """Take a note; costs no I/O."""
        if len(self._waiting) >= MOST_KEPT:
            self._waiting.popleft()
            log.error("note_let_go", writer=self.name, kept=MOST_KEPT)
        self._waiting.append(note)
        self._ensure_thread()
        self._something.set()

    def write_out(self) -> None:
        """Write what was gathered so far; what cannot be written stays for the next time."""
        with self._writing:
            while self._waiting:
                batch = [self._waiting.popleft() for _ in range(min(BATCH, len(self._waiting)))]
                try:
                    self._write(batch)
                except DataError:
                    # It would be refused for ever, and hold up everything that comes after it.
                    log.exception("notes_refused", writer=self.name, lost=len(batch))
                except (DatabaseError, InterfaceError) as error:
                    self._waiting.extendleft(reversed(batch))
                    log.warning(
                        "notes_not_written",
                        writer=self.name,
                        error=type(error).__name__,
                        kept=len(self._waiting),
                    )
                    return

    def _ensure_thread(self) -> None:
        if self._writer_of == os.getpid():
            return
        with self._starting:
            if self._writer_of != os.getpid():
                threading.Thread(target=self._run, name=self.name, daemon=True).start()
                # Not atexit: a web process ends without it, as all of multiprocessing's do.
                Finalize(None, self._finish, exitpriority=0)
                self._writer_of = os.getpid()

    def _run(self) -> None:
        while True:
            self._something.wait()
            time.sleep(MOMENT)
            self._something.clear()
            try:
                self.write_out()
            except Exception:
                # The thread is the only one there is: it says what went wrong and goes on.
                log.exception("later_writer_failed", writer=self.name)
            finally:
                connection.close()

    def _finish(self) -> None:
        self.write_out()
        connection.close()
