"""`python -m sarvex.dev.bench`: measure everything in one run, and print one table.

The figures of one run belong together: all of it shares the machine's cores, the database and the
provider with the generator itself, so what counts is how the rows relate.
"""

from __future__ import annotations

import argparse
import signal
import sys

from sarvex.dev import servers
from sarvex.dev.bench import phases, table
from sarvex.dev.bench.sizes import FULL, QUICK, TINY
from sarvex.dev.bench.stack import stack
from sarvex.dev.console import say, show
from sarvex.dev.refusals import Refused
from sarvex.dev.tether import follow_parent


def main() -> None:
    """Measure and print; exit 1 with one line when something cannot be measured."""
    parser = argparse.ArgumentParser(prog="python -m sarvex.dev.bench", description=__doc__)
    sizes = parser.add_mutually_exclusive_group()
    sizes.add_argument("--quick", action="store_true", help="about a minute, rough figures")
    sizes.add_argument("--tiny", action="store_true", help="only show that it works")
    arguments = parser.parse_args()
    size = QUICK if arguments.quick else TINY if arguments.tiny else FULL
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    follow_parent(signal.SIGTERM)
    home = servers.default_home() / "bench"
    try:
        say("starting the servers, and migrating an empty database")
        with stack(home) as running:
            found = phases.measure(running, size)
    except Refused as refusal:
        sys.exit(f"sarvex: {refusal}")
    except KeyboardInterrupt:
        sys.exit(130)
    show("")
    for line in table.lines(found):
        show(line)


if __name__ == "__main__":
    main()
