"""A request's names: its id and its trace."""

from __future__ import annotations

import pytest

from orders.models import Operation
from orders.sandbox.client import SandboxControl
from tests.shop import Shop, new_key

TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"


class TestARequestId:
    @pytest.mark.parametrize("sent", ["a", "x" * 128, "~!@#$%^&*(){}[]", "3f2a-1"])
    def test_is_kept(self, quiet: Shop, sent: str) -> None:
        for path in ("/healthz", "/nothing", f"/merchants/{quiet.id}/orders"):
            told = quiet.call("GET", path, headers={"Request-Id": sent})
            assert told.headers["Request-Id"] == sent
            if told.status != 200:
                assert told.json()["request_id"] == sent

    @pytest.mark.parametrize(
        "sent",
        ["", " ", "x" * 129, "a b", "clé", "a\tb", "a\0", "a\r\nX-Injected: 1", "a\n", "\x1b[31m"],
    )
    def test_is_replaced(self, quiet: Shop, sent: str) -> None:
        told = [quiet.call("GET", "/nothing", headers={"Request-Id": sent}) for _ in range(2)]

        ids = [one.headers["Request-Id"] for one in told]
        assert all(one.startswith("req_") for one in ids)
        assert ids[0] != ids[1]
        assert told[0].json()["request_id"] == ids[0]
        assert "X-Injected" not in told[0].headers

    def test_stands_on_the_rows_of_its_request(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key()
        headers = {"Request-Id": "first-1", "traceparent": TRACE}

        acme.complete(acme.checkout(), key, headers=headers)
        acme.complete(acme.checkout(), key, headers={"Request-Id": "second-2"})

        row = Operation.objects.get(merchant_id=acme.id)
        assert (row.request_id, row.traceparent) == ("first-1", TRACE)
        lines = acme.mutations(idempotency_key=key)
        assert {(one["request_id"], one["traceparent"]) for one in lines} == {("first-1", TRACE)}
        seen = acme.get(f"{{m}}/idempotency-keys/{key}").json()["arrivals"]
        assert [one["request_id"] for one in seen] == ["first-1", "second-2"]


class TestATraceparent:
    @pytest.mark.parametrize(
        "sent",
        [
            "",
            "nonsense",
            TRACE.upper(),
            TRACE[:-1],
            TRACE + "0",
            TRACE + "-extra",
            " " + TRACE,
            TRACE + "\n",
            "ff" + TRACE[2:],
            "00-" + "0" * 32 + TRACE[35:],
            TRACE[:36] + "0" * 16 + "-01",
        ],
    )
    def test_that_is_not_valid_is_dropped(
        self, acme: Shop, stripe: SandboxControl, sent: str
    ) -> None:
        told = acme.complete(acme.checkout(), new_key(), headers={"traceparent": sent})

        assert told.status == 200
        assert Operation.objects.get(merchant_id=acme.id).traceparent == ""
