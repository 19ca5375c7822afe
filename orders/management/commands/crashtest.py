"""crashtest URL --merchant-key K --agent-key K: the crash matrix against a running stack."""

from __future__ import annotations

import shlex
from typing import Any

import requests
from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from orders.sandbox.crashtest import Run, Stack, rehearse, steps

HEAD = f"{'what goes wrong':45} {'who asks':9} {'what is answered':32} charges orders  "
ROW = "{step:45} {follow_up:9} {answer:32} {charges:>7} {orders:>6}  {verdict}"


class Command(BaseCommand):
    """Hurt a staging stack at every step that can be told apart from outside, and print a table."""

    help = (
        "Rehearse lost answers and killed processes against a running stack that charges through"
        " the sandbox. Never against a stack that moves money."
    )
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: CommandParser) -> None:
        """Take where the stack is, who acts at it, and how its processes are killed."""
        parser.add_argument("url", metavar="URL")
        parser.add_argument("--merchant", default="demo")
        parser.add_argument("--merchant-key", required=True)
        parser.add_argument("--agent-key", required=True)
        parser.add_argument("--sandbox", default=settings.STRIPE_API_BASE)
        parser.add_argument("--kill-web", default="", help="a command that kills web processes")
        parser.add_argument("--kill-worker", default="", help="a command that kills the workers")
        parser.add_argument("--only", default="", help="only steps whose words contain this")
        parser.add_argument("--patience", type=float, default=120.0, help="seconds for each cell")

    def handle(self, *args: Any, **options: Any) -> None:
        """Run the matrix; fail when a cell does not hold."""
        stack = self._stack(options)
        total = 3 * len(steps(stack))
        self.stdout.write(HEAD + f"({total} cells)")
        broken = 0
        for run in rehearse(stack):
            broken += not run.held
            self.stdout.write(_row(run))
        if broken:
            raise CommandError(f"{broken} of {total} cells do not hold")
        self.stdout.write(f"all {total} cells hold")

    def _stack(self, options: dict[str, Any]) -> Stack:
        if not options["sandbox"]:
            raise CommandError("name the sandbox with --sandbox URL or STRIPE_API_BASE")
        for url in (f"{options['url']}/readyz", f"{options['sandbox']}/healthz"):
            try:
                requests.get(url, timeout=10).raise_for_status()
            except requests.RequestException as error:
                raise CommandError(f"{url} does not answer") from error
        return Stack(
            url=options["url"].rstrip("/"),
            sandbox=options["sandbox"],
            merchant_id=options["merchant"],
            merchant_key=options["merchant_key"],
            agent_key=options["agent_key"],
            kill_web=shlex.split(options["kill_web"]),
            kill_worker=shlex.split(options["kill_worker"]),
            only=options["only"],
            patience=options["patience"],
        )


def _row(run: Run) -> str:
    return ROW.format(
        step=run.step,
        follow_up=run.follow_up,
        answer=run.answer,
        charges=run.charges,
        orders=run.orders,
        verdict="holds" if run.held else f"DOES NOT HOLD: {run.why}",
    )
