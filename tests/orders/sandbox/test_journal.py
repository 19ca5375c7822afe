"""A sandbox that is killed and started again."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from orders.sandbox.client import SandboxControl
from tests.orders.sandbox.server import Till, header, new_key, running_sandbox
from tests.processes import CHECKOUT, free_port


@pytest.fixture
def key() -> str:
    return new_key()


@contextmanager
def restarted(folder: Path, key: str) -> Iterator[tuple[Till, SandboxControl]]:
    """Run a sandbox on the folder's journal."""
    with running_sandbox(folder, "--state", str(folder / "state" / "sandbox.json")) as url:
        yield Till(url, key), SandboxControl(url)


def journal(folder: Path) -> Path:
    return folder / "state" / "sandbox.json"


class TestARestart:
    def test_forgets_nothing(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, control):
            paid = till.pay(key="k", metadata={"sarvex_order": "o1"})
            held = till.hold()
            back = till.refund(paid, 1000)
            dispute = control.dispute(till.pay().id)
            before = control.summary(key)
            events = [event["id"] for event in control.events(key)]

        with restarted(tmp_path, key) as (till, control):
            again = till.pay(key="k", metadata={"sarvex_order": "o1"})
            assert again.id == paid.id
            assert header(again, "Idempotent-Replayed") == "true"
            after = control.summary(key)
            assert (after.charges, after.amount_captured, after.amount_refunded) == (
                before.charges, before.amount_captured, before.amount_refunded,
            )  # fmt: skip
            assert [event["id"] for event in control.events(key)] == events
            assert [one.id for one in till.intents()][1:] == [held.id, paid.id]
            assert till.client.v1.refunds.retrieve(back.id).amount == 1000
            assert till.client.v1.disputes.retrieve(dispute["id"]).status == "needs_response"
            assert till.client.v1.payment_intents.capture(held.id).status == "succeeded"
            assert till.refund(paid).amount == 2500

    def test_forgets_what_was_reset(self, tmp_path: Path, key: str) -> None:
        other = new_key()
        with restarted(tmp_path, key) as (till, control):
            till.pay()
            Till(till.url, other).pay()
            control.reset(key)
        with restarted(tmp_path, key) as (till, _):
            assert till.intents() == []
            assert len(Till(till.url, other).intents()) == 1

    def test_keeps_its_clock_and_its_endpoints(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, control):
            control.shift_clock(5000)
            control.register_webhook("http://127.0.0.1:9/hooks", "whsec_x", account=key)
            first = till.pay().created
        with restarted(tmp_path, key) as (till, control):
            assert till.pay().created - first < 600
            [endpoint] = control.webhooks()["endpoints"]
            assert (endpoint["account"], endpoint["secret"]) == (key, "whsec_x")

    def test_lets_a_pending_refund_go_on(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, control):
            control.settings(refund_settles_after_ms=3_600_000)
            back = till.refund(till.pay(payment_method="pm_card_pendingRefund"))
            assert back.status == "pending"
        with restarted(tmp_path, key) as (till, control):
            control.end_refund(back.id, "succeeded")
            assert till.client.v1.refunds.retrieve(back.id).status == "succeeded"


class TestAJournal:
    def test_with_a_torn_end_is_repaired(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, _):
            till.pay(key="one")
            till.pay(key="two")
        whole = journal(tmp_path).read_bytes()
        journal(tmp_path).write_bytes(whole[:-20])

        with restarted(tmp_path, key) as (till, control):
            assert control.summary(key).charges == 1
            till.pay(key="three")
        with restarted(tmp_path, key) as (_, control):
            assert control.summary(key).charges == 2

    def test_with_a_broken_middle_is_refused(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, _):
            for _ in range(3):
                till.pay()
        lines = journal(tmp_path).read_bytes().splitlines(keepends=True)
        journal(tmp_path).write_bytes(lines[0] + b"nonsense\n" + lines[2])
        assert re.search(r"line 2 of .* is not readable", refused_start(tmp_path))

    def test_has_one_writer(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key):
            assert "another sandbox uses" in refused_start(tmp_path)

    def test_is_made_short_when_it_is_long(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, _):
            paid = till.pay(key="k")
            for number in range(20):
                till.client.v1.payment_intents.update(
                    paid.id, params={"metadata": {"n": str(number)}}
                )
        filler = journal(tmp_path).read_bytes().splitlines(keepends=True)[-1]
        with journal(tmp_path).open("ab") as file:
            for _ in range(17 * 1024 * 1024 // len(filler)):
                file.write(filler)

        with restarted(tmp_path, key) as (till, _):
            assert journal(tmp_path).stat().st_size < 200_000
            assert till.client.v1.payment_intents.retrieve(paid.id).metadata["n"] == "19"
            till.pay(key="later")
        with restarted(tmp_path, key) as (till, control):
            assert till.pay(key="k").id == paid.id
            assert control.summary(key).charges == 2

    def test_is_read_by_its_owner_only(self, tmp_path: Path, key: str) -> None:
        with restarted(tmp_path, key) as (till, _):
            till.pay()
        assert journal(tmp_path).stat().st_mode & 0o077 == 0


def refused_start(folder: Path) -> str:
    """Start a sandbox that must not start, and return what it says."""
    command = [sys.executable, "manage.py", "stripe_sandbox", "--port", str(free_port())]
    done = subprocess.run(
        [*command, "--state", str(journal(folder))],
        cwd=CHECKOUT,
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode == 1
    return done.stderr
