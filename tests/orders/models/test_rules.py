"""The rules of money, each broken once with the rule and once without it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.utils import timezone

from orders.models import Member
from tests.audit.rules import Violation, refused_by, refused_without, rules_of
from tests.orders.models.lifecycles import FORBIDDEN
from tests.orders.models.rows import (
    a_checkout,
    a_merchant,
    a_name,
    a_provider_event,
    an_api_key,
    an_operation,
    an_order,
    brought_to,
    move,
)

ONE_CHARGE = "one_live_charge_per_checkout"
IN_RANGE = "order_amounts_are_in_range"
NO_MORE_BACK = "refunds_never_exceed_what_was_captured"
CHARGEABLE = "checkout_total_is_chargeable"
SUM_OF_PARTS = "checkout_total_is_the_sum_of_its_parts"
NOT_NEGATIVE = "checkout_parts_are_not_negative"
ENDS = "ended_operations_say_when"
NOW = timezone.now()


def twice(write: Callable[..., Any], *same: str, **different: Any) -> Callable[[], None]:
    """Return what writes two rows of which some members are the same."""

    def breaks() -> None:
        first = write()
        write(**{name: getattr(first, name) for name in same}, **different)

    return breaks


def another_charge_while(status: str) -> Violation:
    """Return the violation of charging a checkout whose charge is in a status."""

    def breaks() -> None:
        first = brought_to(an_operation(), status)
        an_operation(checkout=first.checkout)

    return Violation(ONE_CHARGE, f"another charge while one is {status}", breaks)


def another_order_while(status: str) -> Violation:
    """Return the violation of a second order for a checkout whose order is in a status."""

    def breaks() -> None:
        first = brought_to(an_order(), status)
        an_order(checkout=first.checkout)

    name = "one_live_order_per_checkout"
    return Violation(name, f"another order while one is {status}", breaks)


def the_same_try_again() -> None:
    first = brought_to(an_operation(), "failed")
    an_operation(checkout=first.checkout, handler_key=first.handler_key)


def the_next_try_while_one_is_live() -> None:
    first = brought_to(an_operation(type="refund"), "indeterminate")
    an_operation(
        type="refund", checkout=first.checkout, handler_key=first.handler_key, retry_count=1
    )


def one_refund_told_twice() -> None:
    checkout = a_checkout()
    for _ in range(2):
        brought_to(an_operation(type="refund", checkout=checkout, reference="re_1"), "succeeded")


def submitting_without_a_time() -> None:
    an_operation(status="submitting", submitted_at=None)


def an_end_without_a_time() -> None:
    operation = brought_to(an_operation(), "submitting")
    operation.fail()
    operation.save(update_fields=["status"])


def unknown_without_a_look() -> None:
    operation = brought_to(an_operation(), "submitting")
    operation.lose_sight()
    operation.save(update_fields=["status"])


def a_member_of_an_unknown_role() -> None:
    user = get_user_model()(username=a_name("ann"))
    user.save(force_insert=True)
    Member(user=user, merchant=a_merchant(), role="owner").save(force_insert=True)


AMOUNTS: list[tuple[str, str, Callable[..., object], dict[str, int]]] = [
    (IN_RANGE, "an order of nothing", an_order, {"amount_total": 0, "amount_captured": 0}),
    (IN_RANGE, "more captured than agreed", an_order, {"amount_captured": 3501}),
    (IN_RANGE, "less than nothing back", an_order, {"amount_refunded": -1}),
    (IN_RANGE, "less than nothing on its way", an_order, {"amount_refund_pending": -1}),
    (
        IN_RANGE,
        "less than nothing captured",
        an_order,
        {"amount_captured": -1, "amount_refunded": -1},
    ),
    (NO_MORE_BACK, "one cent too much", an_order, {"amount_refunded": 3501}),
    (
        NO_MORE_BACK,
        "one cent too much on its way",
        an_order,
        {"amount_refunded": 3000, "amount_refund_pending": 501},
    ),
    (
        NO_MORE_BACK,
        "a refund of what is only reserved",
        an_order,
        {"amount_captured": 0, "amount_refund_pending": 1},
    ),
    ("operations_move_something", "an amount of nothing", an_operation, {"amount": 0}),
    ("operations_move_something", "a negative amount", an_operation, {"amount": -3500}),
    (CHARGEABLE, "a total of nothing", a_checkout, {"amount_subtotal": 0, "amount_total": 0}),
    (
        CHARGEABLE,
        "nine digits",
        a_checkout,
        {"amount_subtotal": 100_000_000, "amount_total": 100_000_000},
    ),
    (SUM_OF_PARTS, "another total", a_checkout, {"amount_total": 3499}),
    (SUM_OF_PARTS, "a forgotten discount", a_checkout, {"discount_amount": 1}),
    *(
        (
            NOT_NEGATIVE,
            f"a negative {part}",
            a_checkout,
            {part: -1, "amount_subtotal": 3501, "amount_total": 3500},
        )
        for part in ("shipping_amount", "tax_amount")
    ),
    (
        NOT_NEGATIVE,
        "a negative discount_amount",
        a_checkout,
        {"discount_amount": -1, "amount_subtotal": 3499},
    ),
    (
        NOT_NEGATIVE,
        "a negative amount_subtotal",
        a_checkout,
        {"amount_subtotal": -1, "shipping_amount": 3501},
    ),
]
WORDS = [
    Violation("checkout_capture_is_known", "later", partial(a_checkout, capture="later")),
    Violation("merchant_ids_are_plain", "capitals", partial(a_merchant, id=a_name("Acme"))),
    Violation("merchant_ids_are_plain", "a colon", partial(a_merchant, id=a_name("a:b"))),
    Violation("merchant_confirm_is_known", "never", partial(a_merchant, confirm="never")),
    Violation("merchant_idempotency_is_known", "off", partial(a_merchant, idempotency="off")),
    Violation("api_key_role_is_known", "root", partial(an_api_key, role="root")),
    Violation("member_role_is_known", "owner", a_member_of_an_unknown_role),
]
VIOLATIONS = [
    *(
        another_charge_while(status)
        for status in ("accepted", "submitting", "indeterminate", "succeeded")
    ),
    *(another_order_while(status) for status in ("created", "confirmed", "shipped", "refunded")),
    Violation("one_operation_per_handler_key_and_try", "the same try again", the_same_try_again),
    Violation(
        "one_live_operation_per_handler_key",
        "the next try while one is live",
        the_next_try_while_one_is_live,
    ),
    Violation(
        "one_operation_per_provider_reference", "one refund told twice", one_refund_told_twice
    ),
    Violation("sent_operations_say_when", "a send without a time", submitting_without_a_time),
    Violation(ENDS, "an end without a time", an_end_without_a_time),
    Violation(ENDS, "a time without an end", partial(an_operation, settled_at=NOW)),
    Violation(
        "indeterminate_operations_are_looked_up", "one nobody looks up", unknown_without_a_look
    ),
    Violation(
        "one_order_per_key_and_generation",
        "a second order of one key",
        lambda: an_order(
            checkout=a_checkout(merchant=(first := an_order()).merchant),
            idempotency_key=first.idempotency_key,
        ),
    ),
    Violation(
        "one_order_per_payment",
        "two orders for one payment",
        lambda: an_order(
            checkout=a_checkout(merchant=(first := an_order()).merchant),
            payment_reference=first.payment_reference,
        ),
    ),
    Violation("one_api_key_per_prefix", "a second key", twice(an_api_key, "prefix")),
    Violation("one_api_key_per_secret", "a second key", twice(an_api_key, "hash")),
    Violation(
        "one_row_per_provider_event",
        "one event told twice",
        twice(a_provider_event, "merchant", "event_id"),
    ),
    *(Violation(rule, how, partial(write, **amounts)) for rule, how, write, amounts in AMOUNTS),
    Violation(
        "confirmed_orders_are_captured",
        "an order confirmed without its money",
        partial(an_order, status="confirmed", amount_captured=0),
    ),
    *WORDS,
    *FORBIDDEN,
]

# What the database itself holds of MISSION.md's invariants. What it cannot hold (that no provider
# is called inside a transaction, that Redis may be empty) has its tests beside the code.
INVARIANTS = {
    1: {
        "one_order_per_key_and_generation",
        "one_live_order_per_checkout",
        "one_live_charge_per_checkout",
        "one_live_operation_per_handler_key",
    },
    2: {"sent_operations_say_when", "operations_move_forward_only"},
    3: {"ended_operations_say_when"},
    4: {"operations_move_forward_only", "indeterminate_operations_are_looked_up"},
    5: {"refunds_never_exceed_what_was_captured", "one_live_charge_per_checkout"},
    6: {
        "orders_move_forward_only",
        "operations_move_forward_only",
        "checkouts_move_forward_only",
    },
}


class TestRulesOfMoney:
    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_refuse_what_breaks_them(self, violation: Violation) -> None:
        assert refused_by(violation.breaks) == violation.rule

    @pytest.mark.parametrize("violation", VIOLATIONS, ids=str)
    def test_are_all_that_refuses_it(self, violation: Violation) -> None:
        assert refused_without(violation) == ""

    def test_are_all_tried_here(self) -> None:
        assert {violation.rule for violation in VIOLATIONS} == rules_of("orders")

    @pytest.mark.parametrize("number", INVARIANTS)
    def test_hold_the_invariants(self, number: int) -> None:
        assert INVARIANTS[number] <= rules_of("orders")


def refused(breaks: Callable[[], object]) -> bool:
    """Whether some rule refuses; leaves nothing behind."""
    return bool(refused_by(breaks))


class TestCheckout:
    @pytest.mark.parametrize("status", ["failed", "cancelled"])
    def test_may_be_charged_again_once_its_charge_moved_nothing(self, status: str) -> None:
        def again() -> None:
            first = brought_to(an_operation(), status)
            an_operation(checkout=first.checkout)

        assert not refused(again)

    @pytest.mark.parametrize("kind", ["refund", "capture", "void"])
    def test_may_have_other_operations_beside_its_charge(self, kind: str) -> None:
        def beside() -> None:
            first = brought_to(an_operation(), "succeeded")
            an_operation(checkout=first.checkout, type=kind)

        assert not refused(beside)

    def test_may_have_a_new_order_once_its_order_is_cancelled(self) -> None:
        def again() -> None:
            first = brought_to(an_order(amount_captured=0), "cancelled")
            an_order(checkout=first.checkout)

        assert not refused(again)

    @pytest.mark.parametrize("total", [1, 99_999_999])
    def test_may_come_to_the_least_and_the_most(self, total: int) -> None:
        assert not refused(partial(a_checkout, amount_subtotal=total, amount_total=total))


class TestOperation:
    def test_may_be_tried_again_under_its_handler_key_once_it_failed(self) -> None:
        def again() -> None:
            first = brought_to(an_operation(), "failed")
            an_operation(checkout=first.checkout, handler_key=first.handler_key, retry_count=1)

        assert not refused(again)

    def test_may_share_its_handler_key_with_another_merchants(self) -> None:
        def of_two_merchants() -> None:
            an_operation(handler_key="key")
            an_operation(handler_key="key")

        assert not refused(of_two_merchants)

    def test_may_share_its_reference_with_an_operation_of_another_type(self) -> None:
        def charge_and_capture() -> None:
            checkout = a_checkout()
            for kind in ("charge", "capture", "void"):
                operation = an_operation(checkout=checkout, type=kind, reference="pi_1")
                brought_to(operation, "succeeded")

        assert not refused(charge_and_capture)


class TestOrder:
    def test_may_share_its_key_and_payment_with_another_merchants(self) -> None:
        def of_two_merchants() -> None:
            for _ in range(2):
                an_order(idempotency_key="key", payment_reference="pi_1")

        assert not refused(of_two_merchants)

    def test_may_share_its_key_with_an_order_of_an_earlier_life(self) -> None:
        def of_two_lives() -> None:
            first = an_order()
            an_order(
                checkout=a_checkout(merchant=first.merchant),
                idempotency_key=first.idempotency_key,
                generation=1,
            )

        assert not refused(of_two_lives)

    def test_may_be_shipped_after_money_went_back(self) -> None:
        def ship() -> None:
            order = brought_to(an_order(amount_refunded=3000, amount_refund_pending=500), "created")
            move(order, "confirmed")
            move(order, "shipped")

        assert not refused(ship)
