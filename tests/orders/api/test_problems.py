"""Every failure is a problem document, whoever noticed it."""

from __future__ import annotations

from typing import Any

import pytest
from django.conf import settings
from django.db import OperationalError
from django.test import Client

from idempotency import replay_cache
from orders.api import checkouts, orders
from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import PAY, complete_raw, problem
from tests.shop import BASKET, Shop, new_key

A_CHECKOUT = "cs_" + "0" * 32
AN_ORDER = "0" * 24
AN_OPERATION = "op_" + "0" * 32


UNKNOWN = [
    "/",
    "/nothing",
    "/checkouts",
    "/checkout/cs_1",
    "/checkout/99999999999999999999",
    f"/checkout/{A_CHECKOUT}/refund",
    f"/checkout/{A_CHECKOUT.upper()}",
    f"/checkout/{A_CHECKOUT}%0a",
    f"/checkout/{A_CHECKOUT}%00",
    "/checkout/" + "x" * 10_000,
    "/checkout/" + "x" * 10_000 + "/complete",
    "/checkout/../../etc/passwd",
    "/checkout/%ff%fe",
    "/merchants",
    "/merchants/{m}",
    "/merchants/{m}/orders/99999999999999999999",
    "/merchants/{m}/orders/-1",
    "/merchants/{m}/orders/" + "a" * 10_000,
    "/merchants/{m}/operations/op_1",
    "/merchants/{m}/idempotency-keys",
    "/merchants/" + "m" * 10_000 + "/orders",
    "/admin",
    "/static/nothing.js",
]


class TestAnUnknownAddress:
    @pytest.mark.parametrize("debug", [False, True])
    def test_is_not_found(self, quiet: Shop, monkeypatch: pytest.MonkeyPatch, debug: bool) -> None:
        monkeypatch.setattr(settings, "DEBUG", debug)

        for path in UNKNOWN:
            for method in ("GET", "POST"):
                told = quiet.call(method, path.replace("{m}", quiet.id), role="merchant")
                problem(told, "not_found")
                assert len(told.content) < 500


class TestSomethingThatIsNotThere:
    def test_is_not_found_whoever_asks_and_in_the_same_words_as_what_is_anothers(
        self, acme: Shop, rival: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        order = acme.complete(checkout, key).json()["order_id"]
        operation = acme.operations()[0]["id"]
        pairs = [
            (f"/checkout/{checkout}", f"/checkout/{A_CHECKOUT}"),
            (f"/merchants/{rival.id}/orders/{order}", f"/merchants/{rival.id}/orders/{AN_ORDER}"),
            (
                f"/merchants/{rival.id}/operations/{operation}",
                f"/merchants/{rival.id}/operations/{AN_OPERATION}",
            ),
            (
                f"/merchants/{rival.id}/idempotency-keys/{key}",
                f"/merchants/{rival.id}/idempotency-keys/no-such-key",
            ),
            (f"/merchants/{acme.id}/orders", "/merchants/no-such-merchant/orders"),
        ]
        for theirs, nobodys in pairs:
            for role in rival.keys:
                told = [rival.call("GET", path, role=role) for path in (theirs, nobodys)]
                words = [problem(one, "not_found")["detail"] for one in told]
                assert words[0] == words[1]

    def test_is_not_found_for_a_key_of_ten_thousand_characters(self, quiet: Shop) -> None:
        path = f"/merchants/{quiet.id}/idempotency-keys/{'k' * 10_000}"

        problem(quiet.call("GET", path, role="merchant"), "not_found")

    def test_does_not_burn_the_key(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key()

        problem(acme.complete(A_CHECKOUT, key), "not_found")
        cancel = acme.call("POST", f"/checkout/{A_CHECKOUT}/cancel", key=key)

        problem(cancel, "not_found")
        assert acme.complete(acme.checkout(), key).status == 200


class TestAStranger:
    @pytest.mark.parametrize(
        "authorization",
        ["", "Bearer", "Bearer ", "Bearer nonsense", "Basic YTpi", "svx_agent_00000000_x", "\x00"],
    )
    def test_is_told_how_to_sign_in(self, quiet: Shop, authorization: str) -> None:
        headers = {"Authorization": authorization}
        for method, path in (("GET", f"/merchants/{quiet.id}/orders"), ("POST", "/checkout")):
            told = quiet.call(method, path, headers=headers)
            problem(told, "unauthenticated")
            assert told.headers["WWW-Authenticate"].startswith("Bearer")

    def test_is_refused_before_its_body_is_read(self, quiet: Shop) -> None:
        told = quiet.call("POST", "/checkout", raw=b"{", token="nonsense")

        problem(told, "unauthenticated")

    def test_is_refused_without_an_authorization_header(self) -> None:
        told = Client().get("/merchants/acme/orders")

        assert told.status_code == 401
        assert told["Content-Type"] == "application/problem+json"

    def test_is_let_in_whatever_the_case_of_the_scheme(self, quiet: Shop) -> None:
        headers = {"Authorization": f"bEARER   {quiet.keys['merchant']} "}

        told = quiet.call("GET", f"/merchants/{quiet.id}/orders", headers=headers)

        assert told.status == 200


class TestAWrongMethod:
    @pytest.mark.parametrize(
        ("path", "allowed"),
        [
            ("/checkout", "POST"),
            ("/checkout/{checkout}", "GET"),
            ("/checkout/{checkout}/complete", "POST"),
            ("/checkout/{checkout}/cancel", "POST"),
            ("/merchants/{m}/orders", "GET"),
            (f"/merchants/{{m}}/orders/{AN_ORDER}", "GET"),
            ("/merchants/{m}/mutations", "GET"),
            ("/merchants/{m}/operations", "GET"),
            (f"/merchants/{{m}}/operations/{AN_OPERATION}", "GET"),
            (f"/merchants/{{m}}/operations/{AN_OPERATION}/cancel", "POST"),
            (f"/merchants/{{m}}/operations/{AN_OPERATION}/look-up", "POST"),
            ("/merchants/{m}/idempotency-keys/k", "GET"),
            ("/handlers/stripe/{m}/events", "POST"),
            ("/openapi.json", "GET"),
            ("/docs", "GET"),
        ],
    )
    def test_is_told_what_is_allowed_and_changes_nothing(
        self, quiet: Shop, path: str, allowed: str
    ) -> None:
        checkout = quiet.checkout()
        path = path.format(m=quiet.id, checkout=checkout)
        trail = len(quiet.mutations())
        others = {"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "TRACE", "BREW"} - {allowed}

        for method in others - ({"HEAD"} if allowed == "GET" else set()):
            told = quiet.call(method, path, PAY, role="merchant", key=new_key())
            assert told.status == 405, (method, told.content)
            assert allowed in told.headers["Allow"].split(", ")
            assert method not in told.headers["Allow"].split(", ")
            if method != "HEAD":
                problem(told, "method_not_allowed")
        told = quiet.call("OPTIONS", path, PAY, role="merchant", key=new_key())

        assert told.status < 500
        assert allowed in told.headers["Allow"].split(", ")
        assert quiet.get(f"/checkout/{checkout}").json()["status"] == "open"
        assert len(quiet.mutations()) == trail


class TestADefectOfOurOwn:
    @pytest.mark.parametrize("debug", [False, True])
    def test_is_told_without_its_insides(
        self, acme: Shop, monkeypatch: pytest.MonkeyPatch, debug: bool
    ) -> None:
        monkeypatch.setattr(settings, "DEBUG", debug)
        monkeypatch.setattr(orders, "page", _raise)
        monkeypatch.setattr(checkouts, "complete_checkout", _raise)
        monkeypatch.setattr(replay_cache, "is_up", _raise)

        told = [
            acme.get("{m}/orders"),
            acme.complete(acme.checkout(), new_key()),
            acme.get("/readyz"),
        ]

        for one in told:
            problem(one, "internal_error")
            assert b"secret-of-the-trade" not in one.content
            assert b"Traceback" not in one.content

    def test_does_not_burn_the_key(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        with monkeypatch.context() as broken:
            broken.setattr(checkouts, "complete_checkout", _raise)
            problem(acme.complete(checkout, key), "internal_error")

        assert acme.complete(checkout, key).status == 200
        assert stripe.summary(acme.account).charges == 1


class TestADatabaseOutOfReach:
    def test_is_told_as_unavailable_and_to_be_tried_again(
        self, acme: Shop, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(orders, "page", _lose_the_database)

        found = problem(acme.get("{m}/orders"), "service_unavailable")

        assert "password" not in str(found)


class TestATrailingSlash:
    def test_changes_nothing_and_redirects_nobody(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        for debug in (False, True):
            monkeypatch.setattr(settings, "DEBUG", debug)
            key = new_key()
            created = acme.call("POST", "/checkout/", BASKET, role="merchant")
            checkout = created.json()["id"]
            told = acme.call("POST", f"/checkout/{checkout}/complete/", PAY, key=key)
            again = acme.call("POST", f"/checkout/{checkout}/complete", PAY, key=key)

            assert (created.status, told.status) == (201, 200)
            assert again.replayed
            assert again.content == told.content
            for path in (f"/checkout/{checkout}", f"/merchants/{acme.id}/orders", "/healthz"):
                with_slash, without = acme.get(path + "/"), acme.get(path)
                assert with_slash.status == without.status == 200
                assert with_slash.content == without.content
            assert acme.get("/nothing/").status == 404

    def test_belongs_to_an_idempotency_key_that_ends_with_one(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key("a/b") + "/"
        acme.complete(acme.checkout(), key)
        acme.complete(acme.checkout(), key[:-1])

        for sent in (key, key[:-1]):
            told = acme.get(f"{{m}}/idempotency-keys/{sent}")
            assert told.json()["idempotency_key"] == sent

    def test_is_no_part_of_one_that_does_not(self, acme: Shop, stripe: SandboxControl) -> None:
        acme.complete(acme.checkout(), "a")

        assert acme.get("{m}/idempotency-keys/a/").json()["idempotency_key"] == "a"
        assert acme.get("{m}/idempotency-keys/a//").json()["idempotency_key"] == "a"


class TestARefusal:
    def test_echoes_the_key(self, quiet: Shop) -> None:
        key = new_key()

        told = complete_raw(quiet, quiet.checkout(), f'"{key}"', raw=b"{}")

        problem(told, "invalid_request")
        assert told.headers["Idempotency-Key"] == key

    def test_tells_of_more_parameters_than_anybody_means(self, quiet: Shop) -> None:
        query = "&".join(f"p{number}=1" for number in range(2000))

        problem(quiet.get(f"{{m}}/orders?{query}"), "invalid_request")


def _raise(*_: Any, **__: Any) -> Any:
    raise RuntimeError("secret-of-the-trade")


def _lose_the_database(*_: Any, **__: Any) -> Any:
    raise OperationalError("connection to postgres://sarvex:password@db failed")
