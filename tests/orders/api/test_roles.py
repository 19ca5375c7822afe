"""Who may do what: every route, as every role, at one's own merchant and at another's."""

from __future__ import annotations

from typing import NamedTuple

import pytest
from django.core.management import call_command
from django.urls import URLPattern, URLResolver, get_resolver
from requests import get

from orders.api import authentication
from orders.models import ApiKey
from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import PAY, problem
from tests.shop import BASKET, Reply, Shop, new_key

AGENT, MERCHANT, OPERATOR = "agent", "merchant", "operator"
EVERYBODY = {AGENT, MERCHANT, OPERATOR}


class Route(NamedTuple):
    """A route and what each role is answered there: at its own merchant, and at another's."""

    method: str
    path: str
    allowed: set[str]
    own: int  # for those who may
    foreign: int = 404
    foreign_role: int = 403  # for those who may not, where the path does not name the merchant


M = "/merchants/{m}"
ROUTES = {
    "checkout": Route("POST", "/checkout", {MERCHANT}, 201, 201),
    "checkout/<checkout:checkout_id>": Route("GET", "/checkout/{checkout}", EVERYBODY, 200),
    "checkout/<checkout:checkout_id>/complete": Route(
        "POST", "/checkout/{checkout}/complete", {AGENT, MERCHANT}, 409
    ),
    "checkout/<checkout:checkout_id>/cancel": Route(
        "POST", "/checkout/{checkout}/cancel", {AGENT, MERCHANT}, 409
    ),
    "merchants/<merchant:merchant_id>/orders": Route(
        "GET", f"{M}/orders", {MERCHANT, OPERATOR}, 200, 404, 404
    ),
    "merchants/<merchant:merchant_id>/orders/<order:order_id>": Route(
        "GET", f"{M}/orders/{{order}}", EVERYBODY, 200
    ),
    "merchants/<merchant:merchant_id>/mutations": Route(
        "GET", f"{M}/mutations", {MERCHANT, OPERATOR}, 200, 404, 404
    ),
    "merchants/<merchant:merchant_id>/operations": Route("GET", f"{M}/operations", EVERYBODY, 200),
    "merchants/<merchant:merchant_id>/operations/<operation:operation_id>": Route(
        "GET", f"{M}/operations/{{operation}}", EVERYBODY, 200
    ),
    "merchants/<merchant:merchant_id>/operations/<operation:operation_id>/cancel": Route(
        "POST", f"{M}/operations/{{operation}}/cancel", {MERCHANT}, 409, 404, 404
    ),
    "merchants/<merchant:merchant_id>/operations/<operation:operation_id>/look-up": Route(
        "POST", f"{M}/operations/{{operation}}/look-up", {OPERATOR}, 200, 404, 404
    ),
    "merchants/<merchant:merchant_id>/idempotency-keys/<path:key>": Route(
        "GET", f"{M}/idempotency-keys/{{key}}", EVERYBODY, 200
    ),
}
OPEN_TO_ALL = {
    "handlers/<slug:handler>/<merchant:merchant_id>/events",  # signed by the provider
    "healthz",
    "readyz",
    "openapi.json",
    "docs",
    "",  # whatever is not found
}


def all_routes() -> set[str]:
    """Return the pattern of every route that is not the admin's."""

    def walk(patterns: list[URLPattern | URLResolver], before: str) -> set[str]:
        found = set()
        for one in patterns:
            route = before + str(one.pattern)
            if isinstance(one, URLResolver):
                found |= walk(one.url_patterns, route)
            else:
                found.add(route)
        return found

    return {one for one in walk(get_resolver().url_patterns, "") if not one.startswith("admin/")}


class TestARole:
    def test_is_asked_for_at_every_route_but_a_few(self) -> None:
        missing = all_routes() - set(ROUTES) - OPEN_TO_ALL

        assert missing == set()

    def test_may_do_what_the_table_says_and_nothing_at_another_merchant(
        self, acme: Shop, rival: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        order = acme.complete(checkout, key).json()["order_id"]
        facts = {
            "m": acme.id,
            "checkout": checkout,
            "order": order,
            "operation": acme.operations()[0]["id"],
            "key": key,
        }
        for route in ROUTES.values():
            path = route.path.format(**facts)
            for role in EVERYBODY:
                own, foreign = ask(acme, route, path, role), ask(rival, route, path, role)
                may = role in route.allowed
                assert own.status == (route.own if may else 403), (route, role, own.content)
                expected = route.foreign if may else route.foreign_role
                assert foreign.status == expected, (route, role, foreign.content)
                if not may:
                    problem(own, "forbidden")
                assert order.encode() not in foreign.content
                if route.method == "GET":
                    head = acme.call("HEAD", path, role=role)
                    assert (head.status, head.content) == (own.status, b"")
        assert stripe.summary(acme.account).charges == 1
        assert stripe.requests(account=rival.account) == []

    def test_that_is_wrong_is_told_before_the_body_is_looked_at(self, acme: Shop) -> None:
        path = f"/checkout/{acme.checkout()}/complete"

        problem(acme.call("POST", path, raw=b"{", role="operator"), "forbidden")


def ask(shop: Shop, route: Route, path: str, role: str) -> Reply:
    """Send the route's request as a role."""
    if route.method == "GET":
        return shop.call("GET", path, role=role)
    body = {"/checkout": BASKET}.get(path, PAY if path.endswith("/complete") else {})
    return shop.call("POST", path, body, role=role, key=new_key())


class TestTwoAgentsOfOneMerchant:
    def test_see_their_own_orders_operations_and_keys_only(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        names = {"ann": acme.another_key("agent", "ann"), "bob": acme.another_key("agent", "bob")}
        done = {}
        for name, token in names.items():
            key = new_key(name)
            order = acme.complete(acme.checkout(), key, token=token).json()
            operation = acme.operations(idempotency_key=key)[0]["id"]
            done[name] = [
                f"/merchants/{acme.id}/orders/{order['order_id']}",
                f"/merchants/{acme.id}/operations/{operation}",
                f"/merchants/{acme.id}/idempotency-keys/{key}",
            ]
        for name, token in names.items():
            for owner, paths in done.items():
                told = [acme.call("GET", path, token=token).status for path in paths]
                assert told == [200 if owner == name else 404] * 3
            listed = acme.call("GET", f"/merchants/{acme.id}/operations", token=token).json()
            assert [one["id"] for one in listed["data"]] == [done[name][1].rsplit("/", 1)[1]]
        for role in ("merchant", "operator"):
            told = [acme.get(path, role=role).status for paths in done.values() for path in paths]
            assert told == [200] * 6

    def test_are_not_told_in_a_checkout_what_the_other_did(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout = acme.checkout()
        order = acme.complete(checkout, new_key(), token=acme.another_key("agent", "ann")).json()

        seen = acme.call("GET", f"/checkout/{checkout}", token=acme.another_key("agent", "bob"))

        assert seen.json()["status"] == "completed"
        assert seen.json()["order_id"] is None
        assert seen.json()["operation"] is None
        assert order["order_id"] not in seen.content.decode()
        assert "complete_attempts" not in seen.json()


class TestAnApiKey:
    def test_tells_when_it_was_last_used(self, acme: Shop) -> None:
        def last_uses() -> set[object]:
            found = ApiKey.objects.filter(merchant_id=acme.id, role="operator")
            return set(found.values_list("last_used_at", flat=True))

        before = last_uses()
        acme.get("{m}/orders", role="operator")
        authentication._uses.write_out()

        assert before == {None}
        assert None not in last_uses()

    def test_is_refused_everywhere_within_five_seconds_of_its_revocation(
        self, acme: Shop, web: str
    ) -> None:
        from time import monotonic

        token = acme.another_key("merchant", "leaked")
        headers = {"Authorization": f"Bearer {token}"}
        url = f"{web}/merchants/{acme.id}/orders"
        # Each connection is taken by either process, so that both remember the key.
        assert {get(url, headers=headers, timeout=10).status_code for _ in range(20)} == {200}

        call_command("revoke_api_key", "_".join(token.split("_")[:3]), verbosity=0)
        revoked_at, refused = monotonic(), 0
        while refused < 40:
            refused = refused + 1 if get(url, headers=headers, timeout=10).status_code == 401 else 0
            assert monotonic() - revoked_at < 5

    @pytest.mark.parametrize("change", ["x", "-", ""])
    def test_is_refused_when_any_of_it_is_missing_or_changed(
        self, quiet: Shop, change: str
    ) -> None:
        token = quiet.keys["merchant"][:-1] + change

        problem(quiet.call("GET", f"/merchants/{quiet.id}/orders", token=token), "unauthenticated")


class TestReading:
    def test_changes_nothing_by_whatever_safe_method(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout = acme.checkout()
        paths = [
            "/checkout",
            f"/checkout/{checkout}/complete",
            f"/checkout/{checkout}/cancel",
            f"/merchants/{acme.id}/operations/op_{'0' * 32}/cancel",
        ]
        trail = acme.mutations()
        headers = {
            "Origin": "https://evil.example",
            "Access-Control-Request-Method": "POST",
            "X-HTTP-Method-Override": "POST",
        }
        for path in paths:
            for method in ("GET", "HEAD", "OPTIONS"):
                told = acme.call(method, path, PAY, role="merchant", key="k", headers=headers)
                assert told.status == (200 if method == "OPTIONS" else 405)
                assert not any(name.startswith("Access-Control") for name in told.headers)

        assert acme.mutations() == trail
        assert acme.get(f"/checkout/{checkout}").json()["status"] == "open"
        assert acme.get("{m}/idempotency-keys/k").status == 404
        assert stripe.requests(account=acme.account) == []
