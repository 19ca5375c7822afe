"""The README's curl lines, run in order by a real shell against the real web server.

Every ```sh block that says curl, or sets what the curl lines need, is run in one shell. The
```text block right after it is what the README says it prints: its lines must come in that order,
`…` stands for anything, and a line that is only `…` for any number of lines.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from orders.sandbox.client import SandboxControl
from tests.processes import CHECKOUT
from tests.shop import Shop

README = CHECKOUT / "README.md"
BLOCKS = re.compile(
    r"^```sh\n(?P<lines>.*?)^```\n(?:```text\n(?P<prints>.*?)^```\n)?", re.MULTILINE | re.DOTALL
)
EXPORTED = re.compile(r"\b([A-Z_]+)=(\S+)")
MARK = "--- the next block ---"
PATIENCE = 60  # seconds for all blocks together


@dataclass(frozen=True)
class Block:
    """Lines of the README for a shell, and what it says that they print."""

    lines: str
    prints: str


def blocks() -> list[Block]:
    """Return the README's blocks for a shell that asks the service, in order."""
    found = [
        Block(match["lines"], match["prints"] or "")
        for match in BLOCKS.finditer(README.read_text("utf-8"))
    ]
    return [one for one in found if "curl" in one.lines or one.lines.startswith("export")]


def given(block: Block, values: dict[str, str]) -> str:
    """Return the exports with this run's values in place of the README's."""
    named = {match[1] for match in EXPORTED.finditer(block.lines)}
    assert named == set(values), "the README sets other variables than the journey knows"
    return EXPORTED.sub(lambda match: f"{match[1]}='{values[match[1]]}'", block.lines)


def as_pattern(printed: str) -> re.Pattern[str]:
    """Return what matches an output that has these lines in this order."""
    pattern = ""
    for line in printed.splitlines():
        if line == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.split("…")) + r"\n"
    return re.compile(pattern)


@pytest.fixture
def printed(acme: Shop, stripe: SandboxControl, web: str, tmp_path: Path) -> list[str]:
    """Run all of the README's blocks in one shell; return what each printed."""
    exports, *others = blocks()
    values = {
        "SARVEX": web,
        "MERCHANT": acme.id,
        "MERCHANT_KEY": acme.keys["merchant"],
        "AGENT_KEY": acme.keys["agent"],
    }
    script = "set -eu\n" + given(exports, values)
    for block in others:
        script += f"{block.lines}printf '\\n%s\\n' '{MARK}'\n"
    told = subprocess.run(
        ["/bin/sh", "-c", script],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "NO_PROXY": "*"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
        check=False,
    )
    assert told.returncode == 0, told.stderr
    return told.stdout.replace("\r\n", "\n").split(f"\n{MARK}\n")[:-1]


class TestReadme:
    """What a newcomer types first."""

    def test_needs_nothing_but_curl_and_a_shell(self) -> None:
        assert shutil.which("curl"), "the README's examples need curl"

    def test_prints_what_it_says(self, printed: list[str]) -> None:
        told = [block for block in blocks() if "curl" in block.lines]
        assert len(printed) == len(told) == 6
        for block, output in zip(told, printed, strict=True):
            assert block.prints, f"the README does not say what this prints:\n{block.lines}"
            assert as_pattern(block.prints).match(output.rstrip("\n") + "\n"), (
                f"{block.lines}\nprints\n{output}\nand not\n{block.prints}"
            )

    def test_replays_the_first_answer_byte_for_byte(self, printed: list[str]) -> None:
        _, first, again, *_ = printed
        assert first.partition("\n\n")[2] == again.partition("\n\n")[2]
        assert "idempotent-replayed" not in first

    def test_charges_each_of_its_two_checkouts_once(
        self, printed: list[str], acme: Shop, stripe: SandboxControl
    ) -> None:
        orders = acme.orders()
        assert [order["amount_total"] for order in orders] == [1500, 3500]
        charges = [operation for operation in acme.operations() if operation["type"] == "charge"]
        assert [one["status"] for one in charges] == ["succeeded", "succeeded"]
        assert stripe.summary(acme.account).charges == 2
