"""The OpenAPI document, the page that shows it, and what a fuzzer finds by it."""

from __future__ import annotations

import json
import re
from io import StringIO
from typing import Any

import pytest
import requests
import schemathesis
from django.core.management import call_command
from django.test import Client
from drf_spectacular.validation import validate_schema
from hypothesis import HealthCheck, Phase, given
from hypothesis import settings as fuzzing

from orders.errors import REFUSALS
from orders.sandbox.client import SandboxControl
from tests.orders.api.test_roles import OPEN_TO_ALL, all_routes
from tests.shop import Shop


def document() -> dict[str, Any]:
    """Return the document as it is served."""
    told = Client().get("/openapi.json")
    assert told.status_code == 200
    assert "json" in told["Content-Type"]
    found: dict[str, Any] = json.loads(told.content)
    return found


class TestTheDocument:
    def test_is_valid_openapi_3_1(self) -> None:
        found = document()

        validate_schema(found)  # type: ignore[no-untyped-call]
        assert found["openapi"].startswith("3.1.")

    def test_describes_every_route(self) -> None:
        described = {re.sub(r"\{[^}]*\}", "{}", path) for path in document()["paths"]}
        events = "handlers/<slug:handler>/<merchant:merchant_id>/events"

        routes = (all_routes() - OPEN_TO_ALL) | {events}

        missing = {f"/{re.sub('<[^>]*>', '{}', one)}" for one in routes} - described
        assert missing == set()

    def test_is_made_without_warnings(self) -> None:
        call_command("spectacular", "--fail-on-warn", "--validate", stdout=StringIO())

    def test_tells_language_models_to_reuse_the_key(self) -> None:
        complete = document()["paths"]["/checkout/{checkout_id}/complete"]["post"]

        key = next(one for one in complete["parameters"] if one["name"] == "Idempotency-Key")
        assert key["in"] == "header"
        assert key["required"] is True
        assert "Reuse the SAME value on every retry" in key["description"]
        assert "Use a new value only for a new\npurchase" in key["description"]
        for status in ("200", "202", "402", "409", "503"):
            assert complete["responses"][status]["description"]
        assert "NOT a failure" in complete["description"]

    def test_names_no_code_that_there_is_not(self) -> None:
        codes = set(re.findall(r"`([a-z]+(?:_[a-z]+)+)`", json.dumps(document())))
        members = {"decline_code", "order_id", "next_cursor", "unit_amount"}

        assert codes - set(REFUSALS) - members == set()


class TestTheDocs:
    def test_load_nothing_from_elsewhere(self, web: str) -> None:
        page = requests.get(f"{web}/docs", timeout=10)
        assert page.status_code == 200
        assert page.headers["Content-Type"].startswith("text/html")
        needed = re.findall(r"""(?:src|href)=["']([^"']+)""", page.text)
        assert needed
        script = requests.get(f"{web}/docs?script=", timeout=10).text
        assert "openapi.json" in script
        for url in needed:
            assert url.startswith(("/", "#", "data:")), url
            assert not url.startswith("//"), url
            loaded = requests.get(web + url.replace("&amp;", "&"), timeout=10)
            assert loaded.status_code == 200, url
        for text in (page.text, script):
            assert not re.search(r"https?://(?!127\.0\.0\.1)", text)


@pytest.fixture
def shop(acme: Shop, web: str, stripe: SandboxControl) -> Shop:
    """Open a merchant that is reached over HTTP."""
    return acme.at(web)


class TestAFuzzer:
    def test_finds_no_answer_that_is_our_fault(self, shop: Shop) -> None:
        known = {
            "merchant_id": shop.id,
            "checkout_id": shop.checkout(),
            "order_id": "0" * 24,
            "operation_id": "op_" + "0" * 32,
            "handler": "stripe",
        }
        schema: Any = schemathesis.openapi.from_dict(document())
        operations = [one.ok() for one in schema.get_all_operations()]
        for operation in operations:
            assert fuzz(operation, shop, known) > 0

        assert len(operations) == sum(len(one) for one in document()["paths"].values())


def fuzz(operation: Any, shop: Shop, known: dict[str, str]) -> int:
    """Send a route what its description allows; return how many requests were answered."""
    answered = 0

    @fuzzing(
        max_examples=15,
        deadline=None,
        database=None,
        derandomize=True,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy())
    def send(case: Any) -> None:
        nonlocal answered
        case.path_parameters = {
            name: known.get(name, value) for name, value in (case.path_parameters or {}).items()
        }
        told = case.call(
            base_url=shop.url,
            headers={"Authorization": f"Bearer {shop.keys['merchant']}"},
            timeout=30,
        )
        assert told.status_code < 500, (operation.label, told.content)
        if told.status_code >= 400:
            assert told.headers["content-type"] == ["application/problem+json"]
        answered += 1

    send()
    return answered
