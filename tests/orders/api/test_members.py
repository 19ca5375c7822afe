"""What a body may say: integers, known members, real currencies, and no more than can be kept."""

from __future__ import annotations

import json
from typing import Any

import pytest

from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import PAY, begins_nothing, complete_raw, create, problem
from tests.shop import BASKET, TEE, Shop, new_key

# As they stand in the JSON text.
NO_AMOUNT = [
    "-1",
    "-0.0",
    "''",
    "null",
    "'5'",
    "true",
    "false",
    "1e2",
    "1.5",
    "100.0",
    "200000000000.0",
    "1e-400",
    "0.1",
    "1e-5",
    "100000000",
    "2147483648",
    "9007199254740993",
    "9223372036854775808",
    "18446744073709551616",
    "99999999999999999999",
    "1" + "0" * 300,
    "'1_000'",
    "'NaN'",
    "'Infinity'",
    "[]",
    "[1]",
    "{}",
]
AMOUNTS = ["shipping_amount", "tax_amount", "discount_amount"]


def with_member(body: dict[str, Any], path: str, text: str) -> bytes:
    """Return a body's JSON with one member's value spelt as given, with ' for "."""
    changed = json.loads(json.dumps(body))
    *outer, last = path.split(".")
    inner = changed
    for name in outer:
        inner = inner[int(name)] if name.isdigit() else inner.setdefault(name, {})
    inner[last] = "@@"
    return json.dumps(changed).replace('"@@"', text.replace("'", '"')).encode()


class TestAnAmount:
    @pytest.mark.parametrize("member", [*AMOUNTS, "line_items.0.unit_amount"])
    def test_is_an_integer_from_nought_to_99999999(self, quiet: Shop, member: str) -> None:
        for text in NO_AMOUNT:
            told = create(quiet, raw=with_member(BASKET, member, text))
            assert member in problem(told, "invalid_request")["errors"], text

    def test_may_be_nought_also_when_it_is_minus_nought(self, quiet: Shop) -> None:
        for member in AMOUNTS:
            for text in ("0", "-0"):
                told = create(quiet, raw=with_member(BASKET, member, text))
                assert told.status == 201
                assert told.json()[member] == 0

    def test_is_expected_as_an_integer_too(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        path = f"/checkout/{checkout}/complete"
        for text in [*NO_AMOUNT, "0", "-0"]:
            raw = with_member(PAY, "expected_amount_total", text)
            told = acme.call("POST", path, key=key, raw=raw)
            assert "expected_amount_total" in problem(told, "invalid_request")["errors"], text

        begins_nothing(acme, stripe, checkout, key)

    def test_is_not_the_price_of_a_refused_key(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key()
        refused = create(acme, raw=with_member(BASKET, "tax_amount", "-1"), key=key)

        told = create(acme, BASKET, key=key)

        problem(refused, "invalid_request")
        assert (told.status, told.replayed) == (201, False)


class TestAQuantity:
    def test_is_an_integer_from_one(self, quiet: Shop) -> None:
        for text in [*NO_AMOUNT, "0", "-0", "1000001"]:
            told = create(quiet, raw=with_member(BASKET, "line_items.0.quantity", text))
            errors = problem(told, "invalid_request")["errors"]
            assert "line_items.0.quantity" in errors, text

    def test_is_needed_as_a_price_is(self, quiet: Shop) -> None:
        told = create(quiet, {"currency": "usd", "line_items": [{"sku": "x"}]})

        errors = problem(told, "invalid_request")["errors"]
        assert errors.keys() == {"line_items.0.quantity", "line_items.0.unit_amount"}


class TestATotal:
    @pytest.mark.parametrize(
        ("change", "total"),
        [
            ({"discount_amount": 3500}, 0),
            ({"discount_amount": 3501}, -1),
            ({"line_items": [{"quantity": 1, "unit_amount": 0}], "shipping_amount": 0}, 0),
            ({"shipping_amount": 99_997_000}, 100_000_000),
            ({"line_items": [{"quantity": 1_000_000, "unit_amount": 99_999_999}] * 500}, None),
        ],
    )
    def test_out_of_range_is_refused(
        self, quiet: Shop, change: dict[str, Any], total: int | None
    ) -> None:
        found = problem(create(quiet, {**BASKET, **change}), "invalid_request")

        assert "amount_total" in found["errors"]
        if total is not None:
            assert f"comes to {total}." in found["detail"]

    def test_in_range_is_charged_to_the_last_unit(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout(shipping_amount=99_996_999)

        order = acme.complete(checkout, new_key(), expected_amount_total=99_999_999).json()

        assert order["amount_captured"] == 99_999_999
        assert stripe.summary(acme.account).amount_captured == 99_999_999

    def test_of_one_is_the_least(self, quiet: Shop) -> None:
        told = create(quiet, {**BASKET, "discount_amount": 3499})

        assert told.json()["amount_total"] == 1

    def test_sums_what_the_parts_say(self, quiet: Shop) -> None:
        items = [{"quantity": 3, "unit_amount": 1999}, {"quantity": 1, "unit_amount": 0}]
        told = create(
            quiet,
            {
                "currency": "jpy",
                "line_items": items,
                "shipping_amount": 1,
                "tax_amount": 20,
                "discount_amount": 300,
            },
        ).json()

        assert (told["amount_subtotal"], told["amount_total"]) == (5997, 5718)


class TestACurrency:
    @pytest.mark.parametrize(
        "text",
        ["USD", "Usd", "us", "usdd", "zzz", "xau", "xxx", "xts", "", " usd", "usd ", "u$d", "₿"],
    )
    def test_that_is_none_is_refused(self, quiet: Shop, text: str) -> None:
        told = create(quiet, {**BASKET, "currency": text})

        assert problem(told, "invalid_request")["errors"].keys() == {"currency"}

    @pytest.mark.parametrize("text", ["usd", "eur", "jpy", "kwd", "isk", "ugx"])
    def test_that_is_one_is_kept(self, quiet: Shop, text: str) -> None:
        assert create(quiet, {**BASKET, "currency": text}).json()["currency"] == text

    def test_is_text(self, quiet: Shop) -> None:
        values: list[Any] = [None, 840, ["usd"], {}, True]
        for value in values:
            told = create(quiet, {**BASKET, "currency": value})
            assert problem(told, "invalid_request")["errors"].keys() == {"currency"}


class TestAnUnknownMember:
    @pytest.mark.parametrize(
        "path",
        [
            "amount",
            "amount_total",
            "id",
            "merchant_id",
            "Currency",
            "line_items.0.price",
            "line_items.0.amount",
            "buyer.e_mail",
            "buyer.address",
            "shipping_address.zip",
            "non_field_errors",
        ],
    )
    def test_is_refused_when_a_checkout_is_made(self, quiet: Shop, path: str) -> None:
        address = {"line1": "1 Road", "country": "GB"}
        body = {**BASKET, "buyer": {}, "shipping_address": address}
        named = path.replace("non_field_errors", "body")

        told = create(quiet, raw=with_member(body, path, "1"))

        assert problem(told, "invalid_request")["errors"] == {named: ["Unknown member."]}

    @pytest.mark.parametrize(
        "path",
        [
            "amount",
            "expected_amount",
            "idempotency_key",
            "payment.amount",
            "payment.Token",
            "buyer.mail",
        ],
    )
    def test_is_refused_when_a_checkout_is_completed(self, quiet: Shop, path: str) -> None:
        body = {**PAY, "buyer": {}}

        told = complete_raw(quiet, quiet.checkout(), raw=with_member(body, path, "1"))

        assert problem(told, "invalid_request")["errors"] == {path: ["Unknown member."]}

    def test_is_refused_where_no_member_is_known(self, quiet: Shop) -> None:
        checkout = quiet.checkout()

        told = quiet.call("POST", f"/checkout/{checkout}/cancel", {"reason": "none"})

        assert problem(told, "invalid_request")["errors"] == {"reason": ["Unknown member."]}
        assert quiet.call("GET", f"/checkout/{checkout}").json()["status"] == "open"


class TestMetadata:
    @pytest.mark.parametrize(
        "value",
        [
            None,
            [],
            "text",
            {"a": 1},
            {"a": None},
            {"a": True},
            {"a": {}},
            {"": "empty"},
            {"n" * 41: "v"},
            {"n": "v" * 501},
            {str(number): "" for number in range(51)},
        ],
    )
    def test_beyond_its_limits_is_refused(self, quiet: Shop, value: Any) -> None:
        told = create(quiet, {**BASKET, "metadata": value})

        assert problem(told, "invalid_request")["errors"].keys() == {"metadata"}

    def test_within_its_limits_is_kept(self, quiet: Shop) -> None:
        metadata = {f"{number:🐶>40}": "v" * 500 for number in range(50)}

        assert create(quiet, {**BASKET, "metadata": metadata}).json()["metadata"] == metadata


class TestATimeToLive:
    def test_is_from_a_second_to_thirty_days(self, quiet: Shop) -> None:
        for text in [*NO_AMOUNT, "0", str(30 * 86_400 + 1)]:
            told = create(quiet, raw=with_member(BASKET, "expires_in", text))
            assert "expires_in" in problem(told, "invalid_request")["errors"], text
        for seconds in (1, 30 * 86_400):
            assert create(quiet, {**BASKET, "expires_in": seconds}).status == 201


WRONG_MEMBERS: list[tuple[str, str]] = [
    ("line_items", "[]"),
    ("line_items", "{}"),
    ("line_items", "null"),
    ("line_items", "'TEE-M'"),
    ("line_items", "[1]"),
    ("line_items", "[null]"),
    ("line_items.0.sku", "1"),
    ("line_items.0.sku", "''"),
    ("line_items.0.name", "'" + "n" * 201 + "'"),
    ("buyer", "null"),
    ("buyer", "'b@example.com'"),
    ("buyer.email", "'nobody'"),
    ("buyer.email", "'a@b.com\\nBcc: c@d.com'"),
    ("buyer.email", "'" + "a" * 250 + "@b.com'"),
    ("buyer.email", "7"),
    ("buyer.name", "7"),
    ("buyer.name", "'" + "n" * 201 + "'"),
    ("buyer.phone", "12345"),
    ("shipping_address", "'1 Road'"),
    ("shipping_address.line1", "null"),
    ("shipping_address.country", "'us'"),
    ("shipping_address.country", "'USA'"),
    ("shipping_address.country", "'U\\n'"),
    ("shipping_address.city", "1"),
    ("capture", "'later'"),
    ("capture", "null"),
    ("capture", "['automatic']"),
    ("capture", "true"),
]


class TestAnyMember:
    @pytest.mark.parametrize(("path", "text"), WRONG_MEMBERS)
    def test_that_is_wrong_is_named(self, quiet: Shop, path: str, text: str) -> None:
        body = {**BASKET, "line_items": [TEE]}
        if path.startswith("shipping_address."):
            body["shipping_address"] = {"line1": "1 Road", "country": "GB"}

        told = create(quiet, raw=with_member(body, path, text))

        errors = problem(told, "invalid_request")["errors"]
        assert any(name.startswith(path) for name in errors), errors

    def test_of_a_payment_that_is_wrong_is_named_and_begins_nothing(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        wrong = [
            ("payment", "null"),
            ("payment", "'stripe'"),
            ("payment", "[]"),
            ("payment.handler", "'cash'"),
            ("payment.handler", "'Stripe'"),
            ("payment.handler", "null"),
            ("payment.handler", "1"),
            ("payment.token", "''"),
            ("payment.token", "null"),
            ("payment.token", "1"),
            ("payment.token", "'pm card'"),
            ("payment.token", "'pm\\n'"),
            ("payment.token", "'" + "p" * 256 + "'"),
            ("buyer.email", "'nobody'"),
            ("buyer", "null"),
        ]
        for path, text in wrong:
            told = complete_raw(acme, checkout, key, raw=with_member(PAY, path, text))
            assert path in problem(told, "invalid_request")["errors"], (path, text)

        begins_nothing(acme, stripe, checkout, key)
