"""Lists: pages that stay put, filters that mean what they say, and plans that use an index."""

from __future__ import annotations

import json
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.models import MutationAttempt
from orders.models import CheckoutSession, Operation, Order
from orders.models.checkouts import new_checkout_id
from orders.models.operations import new_operation_id
from orders.sandbox.client import SandboxControl
from tests.audit.lines import a_line
from tests.idempotency.rows import a_record
from tests.orders.api.problems import problem
from tests.shop import Shop, new_key, open_shop

A_MOMENT = datetime(2026, 1, 31, 12, tzinfo=UTC)


def write_checkouts(shop: Shop, count: int) -> list[CheckoutSession]:
    """Write checkouts that orders can have."""
    return CheckoutSession.objects.bulk_create(
        CheckoutSession(
            id=new_checkout_id(),
            merchant_id=shop.id,
            currency="usd",
            line_items=[],
            amount_subtotal=3500,
            amount_total=3500,
            expires_at=A_MOMENT + timedelta(days=1),
        )
        for _ in range(count)
    )


def write_orders(
    shop: Shop, count: int, *, at: datetime = A_MOMENT, spread: timedelta = timedelta(0)
) -> list[str]:
    """Write captured orders, all of one moment unless spread; return their ids."""
    made = Order.objects.bulk_create(
        Order(
            id=new_checkout_id()[-24:],
            merchant_id=shop.id,
            checkout=checkout,
            currency="usd",
            amount_total=3500,
            amount_captured=3500,
            idempotency_key=checkout.id,
            generation=0,
            actor="agent:default",
            payment_handler="stripe",
            payment_status="captured",
            payment_reference=f"pi_{checkout.id}",
            line_items=[],
            buyer={"email": f"{checkout.id}@example.com"},
            created_at=at + spread * number,
        )
        for number, checkout in enumerate(write_checkouts(shop, count))
    )
    return [one.id for one in made]


def write_operations(shop: Shop, count: int) -> list[str]:
    """Write accepted operations, all of one moment; return their ids."""
    record = a_record(merchant=shop.id)
    made = []
    for checkout in write_checkouts(shop, count):
        name = new_operation_id()
        made.append(
            Operation(
                id=name,
                merchant_id=shop.id,
                type="charge",
                amount=3500,
                currency="usd",
                handler="stripe",
                handler_key=checkout.id,
                checkout=checkout,
                planned_order_id=checkout.id[-24:],
                record=record,
                idempotency_key=checkout.id,
                generation=0,
                mutation_id=name,
                root_id=name,
                actor="agent:default",
                request_id="req_1",
                created_at=A_MOMENT,
            )
        )
    return [one.id for one in Operation.objects.bulk_create(made)]


def write_lines(shop: Shop, count: int) -> list[str]:
    """Write attempts into the trail; return their ids."""
    lines = [
        a_line(merchant_id=shop.id, idempotency_key=f"k{number}", order_id=f"{number:024x}")
        for number in range(count)
    ]
    return [one.mutation_id for one in MutationAttempt.objects.bulk_create(lines)]


def pages(shop: Shop, path: str, limit: int) -> Iterator[list[dict[str, object]]]:
    """Yield every page of a list."""
    cursor = ""
    while True:
        told = shop.get(f"{path}?limit={limit}{cursor}")
        assert told.status == 200, told.content
        yield told.json()["data"]
        if told.json()["next_cursor"] is None:
            return
        cursor = f"&cursor={told.json()['next_cursor']}"


class TestPaging:
    @pytest.mark.parametrize("limit", [7, 50, 60, 100])
    def test_shows_each_of_120_orders_of_one_moment_once_while_new_ones_arrive(
        self, acme: Shop, limit: int
    ) -> None:
        there = write_orders(acme, 120)

        seen: list[object] = []
        for page in pages(acme, "{m}/orders", limit):
            assert len(page) <= limit
            seen += [one["order_id"] for one in page]
            write_orders(acme, 2)
            write_orders(acme, 1, at=A_MOMENT + timedelta(seconds=1))

        old = [one for one in seen if one in set(there)]
        assert sorted(map(str, old)) == sorted(there)
        assert len(seen) == len(set(seen))

    def test_is_newest_first_for_orders_and_operations_and_oldest_first_for_the_trail(
        self, acme: Shop
    ) -> None:
        orders = write_orders(acme, 45, spread=timedelta(minutes=1))
        operations, lines = write_operations(acme, 45), write_lines(acme, 45)

        def seen(path: str, name: str) -> list[object]:
            return [one[name] for page in pages(acme, path, 20) for one in page]

        assert seen("{m}/orders", "order_id") == orders[::-1]
        assert seen("{m}/operations", "id") == operations[::-1]
        assert seen("{m}/mutations", "mutation_id") == lines

    def test_shows_twenty_unless_told_otherwise(self, acme: Shop) -> None:
        write_orders(acme, 21)

        told = acme.get("{m}/orders").json()

        assert len(told["data"]) == 20
        assert told["next_cursor"]

    def test_ends_where_the_last_page_is_full(self, acme: Shop) -> None:
        write_orders(acme, 20)

        assert [len(page) for page in pages(acme, "{m}/orders", 10)] == [10, 10]
        assert open_shop("empty").get("{m}/orders").json() == {"data": [], "next_cursor": None}

    def test_keeps_its_filters_from_page_to_page(self, acme: Shop) -> None:
        write_orders(acme, 5)
        late = write_orders(acme, 5, at=A_MOMENT + timedelta(days=1))
        query = "limit=2&created_after=2026-02-01T00:00:00Z"

        first = acme.get(f"{{m}}/orders?{query}").json()
        second = acme.get(f"{{m}}/orders?{query}&cursor={first['next_cursor']}").json()

        shown = [one["order_id"] for one in first["data"] + second["data"]]
        assert len(set(shown)) == 4
        assert set(shown) <= set(late)


class TestALimit:
    @pytest.mark.parametrize(
        "text", ["0", "101", "-1", "1.5", "", "ten", "1e1", "99999", "%00", "%D9%A1", "+5", "5%20"]
    )
    def test_is_from_1_to_100(self, quiet: Shop, text: str) -> None:
        for path in ("orders", "operations", "mutations"):
            told = quiet.get(f"{{m}}/{path}?limit={text}")
            assert problem(told, "invalid_request")["errors"].keys() == {"limit"}

    def test_may_be_either_bound(self, quiet: Shop) -> None:
        for text in ("1", "100"):
            assert quiet.get(f"{{m}}/orders?limit={text}").status == 200


def cursor_of(*values: object) -> str:
    """Spell a cursor as a forger would."""
    return urlsafe_b64encode(json.dumps(values).encode()).decode().rstrip("=")


NOW = A_MOMENT.isoformat()
FORGED = [
    "x",
    "0",
    "====",
    "%00",
    "%C3%A9",
    "null",
    "A" * 10_000,
    cursor_of(),
    cursor_of("order"),
    cursor_of("order", NOW),
    cursor_of("order", NOW, "a", "b"),
    cursor_of("order", NOW, None),
    cursor_of("order", None, "a"),
    cursor_of("order", NOW, "\0"),
    cursor_of("order", "\0", "a"),
    cursor_of("order", NOW, 1),
    cursor_of("order", NOW, ["a"]),
    cursor_of("order", NOW, {"a": 1}),
    cursor_of("order", 1_700_000_000, "a"),
    cursor_of("order", "yesterday", "a"),
    cursor_of("order", "2026-01-31", "a"),
    cursor_of("order", "2026-01-31T12:00:00", "a"),
    cursor_of("order", "2026-99-99T12:00:00Z", "a"),
    cursor_of("order", "0001-01-01T00:00:00+23:59", "a"),
    cursor_of("order", "2026-01-31T12:00:00+20:00", "a"),
    cursor_of(None, NOW, "a"),
    cursor_of(["order"], NOW, "a"),
    cursor_of("operation", NOW, "op_1"),
    cursor_of("merchant", NOW, "a"),
    cursor_of(NOW, "a"),
    urlsafe_b64encode(b'{"order": 1}').decode(),
    urlsafe_b64encode(b'"order"').decode(),
    urlsafe_b64encode(b"7").decode(),
    urlsafe_b64encode(b"\xff\xfe").decode(),
]


class TestACursor:
    def test_that_this_list_never_gave_out_is_refused(self, quiet: Shop) -> None:
        for cursor in FORGED:
            told = quiet.get(f"{{m}}/orders?cursor={cursor}")
            assert problem(told, "invalid_request")["errors"].keys() == {"cursor"}, cursor

    def test_of_another_list_is_refused(self, acme: Shop) -> None:
        write_orders(acme, 2)
        write_operations(acme, 2)
        write_lines(acme, 2)
        given = {
            path: acme.get(f"{{m}}/{path}?limit=1").json()["next_cursor"]
            for path in ("orders", "operations", "mutations")
        }
        for giver, cursor in given.items():
            for path in given:
                told = acme.get(f"{{m}}/{path}?cursor={cursor}")
                assert told.status == (200 if path == giver else 400)

    def test_at_the_ends_of_time_is_no_failure(self, quiet: Shop) -> None:
        for text in ("0001-01-01T00:00:00+00:00", "9999-12-31T23:59:59.999999+00:00"):
            told = quiet.get(f"{{m}}/orders?cursor={cursor_of('order', text, 'z')}")
            assert (told.status, told.json()["data"]) == (200, [])

    def test_shows_nothing_of_another_merchant(self, acme: Shop, rival: Shop) -> None:
        write_orders(acme, 3)
        cursor = acme.get("{m}/orders?limit=1").json()["next_cursor"]

        assert rival.get(f"{{m}}/orders?cursor={cursor}").json()["data"] == []


class TestAFilter:
    def test_finds_an_order_by_anything_that_is_known_of_it(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        buyer = {"email": "Zoe.100%_Sure@Example.com", "name": "Zo\u00eb O'Hara"}
        checkout, key = acme.checkout(buyer=buyer), new_key()
        order = acme.complete(checkout, key).json()
        acme.complete(acme.checkout(buyer={"email": "other@example.com"}), new_key())
        found = {
            "idempotency_key": [key],
            "checkout_session_id": [checkout],
            "email": ["Zoe.100%_Sure@Example.com", "zoe.100%_sure@EXAMPLE.COM"],
            "q": [
                order["order_id"],
                order["order_id"].upper(),
                key,
                checkout,
                order["payment"]["reference"],
                "o'hara",
                "100%_sure",
                "zo\u00eb",
            ],
        }
        for name, values in found.items():
            for value in values:
                told = acme.orders(**{name: quote(value)})
                assert [one["order_id"] for one in told] == [order["order_id"]], (name, value)
        for value in ("100%sure", "100_", "zo_", "\\", "zoe@", "zoe%"):
            assert acme.orders(q=quote(value)) == [], value
        for value in ("example.com", "Zoe", "%", "*"):
            assert acme.orders(email=quote(value)) == []

    def test_takes_the_status(self, acme: Shop, stripe: SandboxControl) -> None:
        acme.complete(acme.checkout(), new_key())
        acme.complete(acme.checkout(capture="manual"), new_key())

        counts = {name: len(acme.orders(status=name)) for name in Order.Status.values}

        assert counts == {"created": 1, "confirmed": 1, "shipped": 0, "cancelled": 0, "refunded": 0}
        assert len(acme.operations(status="succeeded")) == 2
        assert acme.operations(status="failed") == []

    def test_takes_times_exclusively_and_in_any_zone(self, acme: Shop) -> None:
        early, late = write_orders(acme, 1), write_orders(acme, 1, at=A_MOMENT + timedelta(hours=1))

        def seen(**filters: str) -> list[object]:
            told = acme.orders(**{name: quote(text) for name, text in filters.items()})
            return [one["order_id"] for one in told]

        assert seen(created_after="2026-01-31T12:00:00Z") == late
        assert seen(created_after="2026-01-31T11:59:59.999Z") == late + early
        assert seen(created_before="2026-01-31T13:00:00+00:00") == early
        assert seen(created_before="2026-01-31T15:00:00.001+02:00") == late + early
        assert (
            seen(created_after="2026-01-31T12:30:00Z", created_before="2026-02-01T00:00Z") == late
        )
        assert seen(created_after="0001-01-01T00:00:00Z") == late + early
        assert seen(created_before="9999-12-31T23:59:59Z") == late + early
        assert seen(created_after="2026-02-01T09:00:00+20:30") == late

    @pytest.mark.parametrize(
        "query",
        [
            "status=paid",
            "status=Confirmed",
            "created_after=yesterday",
            "created_after=2026-01-31",
            "created_after=2026-01-31T12:00:00",
            "created_before=2026-13-31T12:00:00Z",
            "created_before=1769860800",
            "created_before=%00",
            "created_before=0001-01-01T00:00:00%2B23:00",
            "created_before=9999-12-31T23:59:59-23:00",
            "created_before=2026-01-31T12:00:00%2B25:00",
            "email=%00",
            "q=%00",
            "q=a%00b",
            "idempotency_key=",
            "status=",
            "q=",
            "email=",
            "checkout_session_id=",
            "status=created&status=confirmed",
        ],
    )
    def test_that_cannot_be_meant_is_refused_and_named(self, quiet: Shop, query: str) -> None:
        told = quiet.get(f"{{m}}/orders?{query}")

        name = query.partition("=")[0]
        assert problem(told, "invalid_request")["errors"].keys() == {name}

    def test_that_nobody_knows_is_refused_and_named(self, quiet: Shop) -> None:
        checkout = quiet.checkout()
        for path in (
            "{m}/orders?emial=b@example.com",
            "{m}/orders?order_id=1",
            "{m}/orders?%00=1",
            "{m}/operations?q=1",
            "{m}/mutations?status=1",
            f"/checkout/{checkout}?expand=order",
        ):
            told = quiet.get(path)
            name = path.partition("?")[2].partition("=")[0].replace("%00", "\0")
            found = problem(told, "invalid_request")
            assert found["errors"] == {name: ["Unknown parameter."]}

    def test_takes_any_text_for_an_id_that_is_not_there(self, quiet: Shop) -> None:
        for value in (
            "99999999999999999999",
            "x" * 10_000,
            "%ff%fe",
            "漢字",
            "';--",
            "%F0%9F%90%B6",
        ):
            for name in ("idempotency_key", "checkout_session_id", "q", "email"):
                assert quiet.get(f"{{m}}/orders?{name}={value}").json()["data"] == []
            for path, name in (("operations", "order_id"), ("mutations", "order_id")):
                assert quiet.get(f"{{m}}/{path}?{name}={value}").json()["data"] == []

    def test_of_the_trail_and_of_operations_picks_what_belongs_together(self, acme: Shop) -> None:
        lines, operations = write_lines(acme, 3), write_operations(acme, 3)
        key = Operation.objects.get(id=operations[1]).idempotency_key

        assert [one["mutation_id"] for one in acme.mutations(idempotency_key="k1")] == [lines[1]]
        assert [one["mutation_id"] for one in acme.mutations(order_id=f"{2:024x}")] == [lines[2]]
        assert len(acme.mutations(mutation_type="refund")) == 3
        assert acme.mutations(mutation_type="capture") == []
        assert [one["id"] for one in acme.operations(idempotency_key=key)] == [operations[1]]


@pytest.fixture(scope="module")
def crowded(database: str) -> Shop:
    """Open a merchant with thousands of rows, beside others with as many."""
    shops = [open_shop("crowded") for _ in range(2)]
    for shop in shops:
        write_orders(shop, 1500, spread=timedelta(minutes=1))
        write_operations(shop, 1500)
        write_lines(shop, 1500)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE orders_order, orders_operation, audit_mutationattempt")
    return shops[0]


class TestThePlan:
    @pytest.mark.parametrize(
        "query",
        [
            "orders",
            "orders?limit=100",
            "orders?status=created",
            "orders?idempotency_key=k",
            f"orders?checkout_session_id=cs_{'0' * 32}",
            "orders?created_after=2026-02-01T00:00:00Z",
            "orders?created_before=2026-02-01T00:00:00Z",
            "operations",
            "operations?idempotency_key=k",
            f"operations?order_id={'0' * 24}",
            "mutations",
            "mutations?idempotency_key=k1",
            f"mutations?order_id={1:024x}",
        ],
    )
    def test_of_a_list_uses_an_index_on_every_page(self, crowded: Shop, query: str) -> None:
        first = crowded.get(f"{{m}}/{query}").json()
        paths = [query]
        if first["next_cursor"]:
            paths.append(f"{query}{'&' if '?' in query else '?'}cursor={first['next_cursor']}")
        for path in paths:
            with CaptureQueriesContext(connection) as captured:
                crowded.get(f"{{m}}/{path}")
            asked = [one["sql"] for one in captured.captured_queries if "LIMIT" in one["sql"]]
            listing = [sql for sql in asked if "api_key" not in sql and "apikey" not in sql]
            assert len(listing) == 1
            with connection.cursor() as cursor:
                cursor.execute("EXPLAIN " + listing[0])
                plan = "\n".join(line for (line,) in cursor.fetchall())
            # The trail's subplans (u0) say which lines are the newest of their attempts.
            lines = [line for line in plan.splitlines() if " u0" not in line]
            assert any("Index" in line for line in lines), plan
            assert not any("Seq Scan" in line for line in lines), plan
            if "_id=" not in path and "_key=" not in path:
                assert not any("Sort" in line for line in lines), plan

    def test_of_a_page_takes_one_statement_however_many_rows(self, crowded: Shop) -> None:
        crowded.get("{m}/orders")  # the API key is known from here on
        for path in ("orders?limit=100", "operations?limit=100", "mutations?limit=100"):
            with CaptureQueriesContext(connection) as captured:
                assert len(crowded.get(f"{{m}}/{path}").json()["data"]) == 100
            assert len(captured.captured_queries) == 1
