"""Do one thing in many threads at the same moment, each with a connection of its own."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

from django.db import connection

Result = TypeVar("Result")


def at_once(times: int, do: Callable[[int], Result]) -> list[Result]:
    """Return what each of many threads returned; an error of any is raised."""
    barrier = Barrier(times)

    def one(number: int) -> Result:
        barrier.wait(30)
        try:
            return do(number)
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as threads:
        return list(threads.map(one, range(times)))
