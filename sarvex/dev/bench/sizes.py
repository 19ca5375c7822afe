"""How much is measured: enough to trust, enough to look, or enough to see that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Size:
    """How long, how often and how many."""

    rounds: int  # each has every row of the comparison once, so that all meet the same weather
    warm_up: float  # seconds before each row
    seconds: float  # of each row in each round
    bursts: int
    memory_early: int  # requests before the first look at the memory
    memory_late: int  # and before the second
    backlog: int  # events, at least
    paced: float  # seconds of 200 completes a second


FULL = Size(
    rounds=3,
    warm_up=1.0,
    seconds=6.0,
    bursts=5,
    memory_early=5_000,
    memory_late=50_000,
    backlog=10_000,
    paced=20.0,
)
QUICK = Size(
    rounds=1,
    warm_up=1.0,
    seconds=3.0,
    bursts=2,
    memory_early=1_000,
    memory_late=5_000,
    backlog=3_000,
    paced=5.0,
)
TINY = Size(
    rounds=1,
    warm_up=0.1,
    seconds=0.3,
    bursts=1,
    memory_early=20,
    memory_late=60,
    backlog=50,
    paced=0.5,
)
