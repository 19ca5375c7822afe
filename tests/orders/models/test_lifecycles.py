"""The lifecycles: which step leads where, what a step asks for, and who wins a race."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django_fsm import ConcurrentTransition, TransitionNotAllowed

from orders.models import CheckoutSession, Operation, Order
from orders.transitions import REACHED_FROM, can_transition, preconditions
from tests.audit.rules import refused_by, undone
from tests.orders.models.lifecycles import (
    BEGINNINGS,
    CHECKOUTS,
    EDGES,
    OPERATIONS,
    ORDERS,
    STATUSES,
    begin,
    go,
)
from tests.orders.models.rows import Row, a_checkout, an_operation, an_order, brought_to

Step = Callable[[Any], object]

# What the money has to be for an order's step; every other step asks for nothing.
CAPTURED = {"amount_captured": 3500}
UNCAPTURED = {"amount_captured": 0}
ALL_BACK = {"amount_captured": 3500, "amount_refunded": 3500}

STEPS: dict[str, dict[str, tuple[Step, str, dict[str, int]]]] = {
    ORDERS: {
        "confirm": (Order.confirm, "confirmed", CAPTURED),
        "ship": (lambda row: row.ship(carrier="post", tracking_number="1"), "shipped", CAPTURED),
        "cancel": (Order.cancel, "cancelled", UNCAPTURED),
        "refund": (Order.refund, "refunded", ALL_BACK),
    },
    OPERATIONS: {
        "begin": (Operation.begin, "submitting", {}),
        "succeed": (Operation.succeed, "succeeded", {}),
        "fail": (Operation.fail, "failed", {}),
        "lose_sight": (Operation.lose_sight, "indeterminate", {}),
        "cancel": (Operation.cancel, "cancelled", {}),
    },
    CHECKOUTS: {
        "begin": (CheckoutSession.begin, "completing", {}),
        "complete": (CheckoutSession.complete, "completed", {}),
        "reopen": (CheckoutSession.reopen, "open", {}),
        "cancel": (CheckoutSession.cancel, "canceled", {}),
    },
}
MODELS: dict[str, type[Row]] = {ORDERS: Order, OPERATIONS: Operation, CHECKOUTS: CheckoutSession}
TRIED = [
    (rule, name, status)
    for rule, steps in STEPS.items()
    for name in steps
    for status in STATUSES[rule]
]


class TestSteps:
    @pytest.mark.parametrize(("rule", "name", "status"), TRIED)
    def test_are_taken_along_the_drawn_edges_only(self, rule: str, name: str, status: str) -> None:
        step, target, money = STEPS[rule][name]
        row = MODELS[rule](status=status, **money)

        if (status, target) in EDGES[rule]:
            step(row)
            assert row.status == target
        else:
            with pytest.raises(TransitionNotAllowed):
                step(row)
            assert row.status == status

    @pytest.mark.parametrize("rule", STEPS)
    def test_are_all_tried_here(self, rule: str) -> None:
        row = MODELS[rule]()

        assert {step.name for step in row.get_all_status_transitions()} == set(STEPS[rule])
        assert [str(status) for status in MODELS[rule].Status] == STATUSES[rule]

    @pytest.mark.parametrize(
        ("rule", "old", "new"), [(rule, *edge) for rule in EDGES for edge in sorted(EDGES[rule])]
    )
    def test_along_the_drawn_edges_pass_the_trigger(self, rule: str, old: str, new: str) -> None:
        assert refused_by(partial(go, rule, old, new)) == ""

    @pytest.mark.parametrize(
        ("rule", "status"), [(rule, one) for rule in BEGINNINGS for one in sorted(BEGINNINGS[rule])]
    )
    def test_begin_where_the_trigger_lets_them(self, rule: str, status: str) -> None:
        assert refused_by(partial(begin, rule, status)) == ""

    @pytest.mark.parametrize(
        ("rule", "status"), [(rule, one) for rule in EDGES for one in STATUSES[rule]]
    )
    def test_may_lead_nowhere(self, rule: str, status: str) -> None:
        """A row that is saved as it is stays what it is: only a change of status is a step."""
        assert refused_by(partial(go, rule, status, status)) == ""


class TestRace:
    """Two people hold the same row, and both take a step; the second to save is told."""

    @pytest.mark.parametrize(
        ("write", "status", "first", "second"),
        [
            (an_order, "created", "confirm", "confirm"),
            (an_order, "confirmed", "ship", "ship"),
            (an_operation, "accepted", "begin", "cancel"),
            (an_operation, "accepted", "cancel", "begin"),
            (an_operation, "submitting", "succeed", "fail"),
            (an_operation, "submitting", "lose_sight", "succeed"),
            (an_operation, "indeterminate", "fail", "succeed"),
            (a_checkout, "open", "begin", "begin"),
            (a_checkout, "open", "cancel", "begin"),
            (a_checkout, "completing", "complete", "reopen"),
        ],
    )
    def test_has_one_winner(
        self, write: Callable[[], Row], status: str, first: str, second: str
    ) -> None:
        with undone():
            row = brought_to(write(), status)
            winner, loser = (type(row).objects.get(pk=row.pk) for _ in range(2))
            take(winner, first)
            with pytest.raises(ConcurrentTransition), transaction.atomic():
                take(loser, second)

            row.refresh_from_db()
            assert row.status == winner.status

    def test_is_not_lost_by_who_read_the_row_afterwards(self) -> None:
        with undone():
            row = brought_to(an_operation(), "submitting")
            take(row, "lose_sight")
            take(type(row).objects.get(pk=row.pk), "succeed")

            row.refresh_from_db()
            assert row.status == "succeeded"


def take(row: Row, name: str) -> None:
    """Take a step and save it, with the times that belong to the new status."""
    rule = next(rule for rule, model in MODELS.items() if isinstance(row, model))
    step, target, _ = STEPS[rule][name]
    step(row)
    changed = ["status"]
    if isinstance(row, Operation):
        row.submitted_at = row.created_at
        row.settled_at = row.created_at if target in {"succeeded", "failed", "cancelled"} else None
        row.next_look_at = row.created_at if target == "indeterminate" else None
        changed += ["submitted_at", "settled_at", "next_look_at"]
    row.save(update_fields=changed)


def an_unwritten_order(status: str, **facts: Any) -> Order:
    """Return an order that is in no table."""
    return Order(status=status, amount_total=3500, **facts)


class TestPreconditions:
    @pytest.mark.parametrize(
        ("step", "facts"),
        [
            ("confirm", {"amount_captured": 0}),
            ("confirm", {"amount_captured": 3500, "stock_available": False}),
            ("cancel", {"amount_captured": 1}),
            ("refund", {"amount_captured": 3500, "amount_refunded": 3499}),
            ("refund", {"amount_captured": 0, "amount_refunded": 0}),
            ("refund", {"amount_captured": 3500, "amount_refund_pending": 3500}),
        ],
    )
    def test_keep_an_order_where_it_is(self, step: str, facts: dict[str, Any]) -> None:
        order = an_unwritten_order("created", **facts)

        with pytest.raises(TransitionNotAllowed):
            getattr(order, step)()
        assert order.status == "created"

    def test_let_a_partly_captured_order_be_confirmed_and_refunded(self) -> None:
        order = an_unwritten_order("created", amount_captured=1000)
        order.confirm()
        order.amount_refunded = 1000
        order.refund()

        assert order.status == "refunded"

    def test_are_told_by_name_whether_they_hold(self) -> None:
        order = an_unwritten_order("shipped", amount_captured=3500, stock_available=False)

        assert preconditions(order, "confirmed") == [
            {"name": "status", "passed": False},
            {"name": "captured", "passed": True},
            {"name": "stock", "passed": False},
        ]
        assert preconditions(order, "shipped") == [{"name": "status", "passed": False}]

    def test_come_with_what_a_shipment_says(self) -> None:
        order = an_unwritten_order("confirmed", amount_captured=3500)
        order.ship(carrier="post", tracking_number="1")

        assert (order.carrier, order.tracking_number) == ("post", "1")


class TestCanTransition:
    @pytest.mark.parametrize("to", sorted(REACHED_FROM))
    @pytest.mark.parametrize("status", STATUSES[ORDERS])
    @pytest.mark.parametrize("facts", [CAPTURED, UNCAPTURED, ALL_BACK])
    def test_agrees_with_the_steps(self, status: str, to: str, facts: dict[str, int]) -> None:
        [step] = [step for step, target, _ in STEPS[ORDERS].values() if target == to]
        order = an_unwritten_order(status, **facts)
        violations = can_transition(order, to)

        try:
            step(order)
        except TransitionNotAllowed:
            assert violations != []
        else:
            assert violations == []

    def test_says_from_where_an_order_may_go(self) -> None:
        order = an_unwritten_order("shipped", **ALL_BACK)

        assert can_transition(order, "refunded") == [
            "An order becomes refunded from created or confirmed; this one is shipped."
        ]

    @pytest.mark.parametrize(
        ("to", "facts", "words"),
        [
            ("confirmed", UNCAPTURED, "its money has not been captured"),
            (
                "confirmed",
                {**CAPTURED, "stock_available": False},
                "the merchant says that the goods are not in stock",
            ),
            ("cancelled", CAPTURED, "its money has been captured; refund it instead"),
            ("refunded", CAPTURED, "not all of its captured money has been refunded"),
        ],
    )
    def test_says_what_stands_in_the_way(self, to: str, facts: dict[str, Any], words: str) -> None:
        order = an_unwritten_order("created", **facts)

        assert can_transition(order, to) == [f"The order cannot become {to}: {words}."]

    def test_names_everything_that_stands_in_the_way(self) -> None:
        order = an_unwritten_order("refunded", amount_captured=0, stock_available=False)

        assert len(can_transition(order, "confirmed")) == 3
