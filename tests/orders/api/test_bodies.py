"""Bodies: JSON in UTF-8 that every reader reads alike, and nothing else."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest
from django.conf import settings

from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import PAY, begins_nothing, complete_raw, create, problem
from tests.shop import BASKET, Shop, new_key

PAY_TEXT = b'{"payment": {"handler": "stripe", "token": "pm_card_visa"}%s}'

MALFORMED: dict[str, bytes] = {
    "truncated": b'{"payment": {"handler": "stripe"',
    "white space": b" \n\t ",
    "garbage": b"payment=stripe",
    "two values": PAY_TEXT % b"" + b"{}",
    "byte order mark": b"\xef\xbb\xbf" + PAY_TEXT % b"",
    "utf-16": (PAY_TEXT % b"").decode().encode("utf-16"),
    "NaN": PAY_TEXT % b', "expected_amount_total": NaN',
    "Infinity": PAY_TEXT % b', "expected_amount_total": Infinity',
    "-Infinity": PAY_TEXT % b', "expected_amount_total": -Infinity',
    "1e400": PAY_TEXT % b', "expected_amount_total": 1e400',
    "leading zero": PAY_TEXT % b', "expected_amount_total": 03500',
    "underscore": PAY_TEXT % b', "expected_amount_total": 3_500',
    "plus": PAY_TEXT % b', "expected_amount_total": +3500',
    "five thousand digits": PAY_TEXT % (b', "expected_amount_total": ' + b"9" * 5000),
    "comment": PAY_TEXT % b"/* yes */",
    "trailing comma": PAY_TEXT % b",",
    "single quotes": b"{'payment': {}}",
    "duplicate": PAY_TEXT % b', "payment": {"handler": "stripe", "token": "pm_card_mastercard"}',
    "duplicate, spelt otherwise": PAY_TEXT % b', "p\\u0061yment": {}',
    "duplicate inside": b'{"payment": {"handler": "stripe", "token": "pm_a", "token": "pm_b"}}',
    "duplicate in a list": b'{"payment": [[{"a": 1, "a": 1}]]}',
    "invalid utf-8": PAY_TEXT % b', "buyer": {"name": "\xff\xfe"}',
    "overlong utf-8": PAY_TEXT % b', "buyer": {"name": "\xc0\x80"}',
    "surrogate in utf-8": PAY_TEXT % b', "buyer": {"name": "\xed\xa0\x80"}',
    "lone surrogate": PAY_TEXT % b', "buyer": {"name": "\\ud83d"}',
    "lone low surrogate": PAY_TEXT % b', "buyer": {"name": "\\ude00 "}',
    "NUL": PAY_TEXT % b', "buyer": {"name": "a\\u0000b"}',
    "NUL in a name": PAY_TEXT % b', "a\\u0000b": 1',
    "NUL byte": PAY_TEXT % b', "buyer": {"name": "a\0b"}',
    "line break in text": PAY_TEXT % b', "buyer": {"name": "a\nb"}',
    "deep list": b"[" * 2000 + b"]" * 2000,
    "deep object": b'{"a":' * 2000 + b"1" + b"}" * 2000,
    "deep member": PAY_TEXT % (b', "buyer": ' + b"[" * 900 + b"]" * 900),
    "deep with NUL": PAY_TEXT % (b', "buyer": ' + b"[" * 900 + b'"\\u0000"' + b"]" * 900),
    "bottomless": b"[" * 200_000,
}


class TestMalformedJson:
    @pytest.mark.parametrize("body", MALFORMED.values(), ids=MALFORMED.keys())
    def test_is_refused_by_every_route_that_reads_one(self, quiet: Shop, body: bytes) -> None:
        checkout = quiet.checkout()

        problem(complete_raw(quiet, checkout, raw=body), "malformed_json")
        problem(create(quiet, raw=body), "malformed_json")
        cancel = quiet.call("POST", f"/checkout/{checkout}/cancel", raw=body)
        problem(cancel, "malformed_json")
        seen = quiet.call("GET", f"/checkout/{checkout}", role="agent")
        assert seen.json()["status"] == "open"

    def test_begins_nothing_and_does_not_burn_the_key(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        for body in MALFORMED.values():
            complete_raw(acme, checkout, key, raw=body)

        begins_nothing(acme, stripe, checkout, key)


class TestABodyThatIsNoObject:
    def test_is_refused(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()

        for body in (b"[]", b'["payment"]', b'"payment"', b"1", b"true", b"null", b'""', b"[{}]"):
            for told in (
                complete_raw(acme, checkout, key, raw=body),
                create(acme, raw=body),
                acme.call("POST", f"/checkout/{checkout}/cancel", raw=body),
            ):
                assert list(problem(told, "invalid_request")["errors"]) == ["body"]

        assert acme.get(f"/checkout/{checkout}").json()["status"] == "open"
        begins_nothing(acme, stripe, checkout, key)

    def test_may_be_absent_only_where_nothing_is_asked(self, acme: Shop) -> None:
        checkout = acme.checkout()

        told = complete_raw(acme, checkout)
        canceled = acme.call("POST", f"/checkout/{checkout}/cancel")

        assert problem(told, "invalid_request")["errors"] == {
            "payment": ["This field is required."]
        }
        assert canceled.status == 200


OTHER_MEDIA: dict[str, tuple[str, bytes]] = {
    "form": ("application/x-www-form-urlencoded", b"payment=stripe"),
    "multipart": ("multipart/form-data; boundary=x", b"--x\r\n\r\n\r\n--x--\r\n"),
    "plain text": ("text/plain", b"{}"),
    "xml": ("application/xml", b"<payment/>"),
    "none": ("", b"{}"),
    "vendor json": ("application/vnd.x+json", b"{}"),
    "json in utf-16": ("application/json; charset=utf-16", "{}".encode("utf-16")),
    "json in latin-1": ("application/json;charset=iso-8859-1", b"{}"),
    "json in an extended charset": ("application/json; charset*=utf-16''x", b"{}"),
    "nonsense": ("/;;=\x7f", b"{}"),
    "json sequence": ("application/json-seq", b"{}"),
}


class TestAnotherMediaType:
    def test_is_refused(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        cancel = f"/checkout/{checkout}/cancel"

        for content_type, body in OTHER_MEDIA.values():
            for told in (
                complete_raw(acme, checkout, key, raw=body, content_type=content_type),
                create(acme, raw=body, content_type=content_type),
                acme.call("POST", cancel, raw=body, content_type=content_type),
            ):
                problem(told, "unsupported_media_type")

        begins_nothing(acme, stripe, checkout, key)

    @pytest.mark.parametrize("encoding", ["gzip", "br", "deflate", "identity, gzip", "GZIP"])
    def test_is_refused_for_a_compressed_body(self, quiet: Shop, encoding: str) -> None:
        bomb = gzip.compress(b" " * 1_000_000)

        told = create(quiet, raw=bomb, headers={"Content-Encoding": encoding})

        problem(told, "unsupported_media_type")

    @pytest.mark.parametrize(
        "content_type",
        [
            "application/json",
            "APPLICATION/JSON",
            "application/json; charset=utf-8",
            'application/json;charset="UTF-8"',
            "application/json ; charset=utf8",
        ],
    )
    def test_is_not_what_json_in_utf_8_is(self, quiet: Shop, content_type: str) -> None:
        told = create(quiet, raw=json.dumps(BASKET).encode(), content_type=content_type)

        assert told.status == 201

    def test_is_the_same_request_whatever_is_accepted_in_return(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        first = complete_raw(acme, checkout, key, body=PAY, headers={"Accept": "text/html"})
        again = complete_raw(acme, checkout, key, body=PAY, headers={"Accept": "nonsense"})

        assert first.headers["Content-Type"] == again.headers["Content-Type"] == "application/json"
        assert again.content == first.content


class TestALargeBody:
    def test_is_refused_above_256_kib_and_read_below(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        most = settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        checkout, key = acme.checkout(), new_key()
        fitting = json.dumps(PAY).encode().ljust(most)

        over = complete_raw(acme, checkout, key, raw=fitting + b" ")
        told = complete_raw(acme, checkout, key, raw=fitting)

        assert most == 256 * 1024
        problem(over, "payload_too_large")
        assert over.headers["Connection"] == "close"
        assert told.status == 200
        assert acme.complete(checkout, key).replayed

    def test_is_refused_whatever_it_is_said_to_be(self, quiet: Shop) -> None:
        told = create(quiet, raw=b"x" * 300_000, content_type="text/plain")

        problem(told, "payload_too_large")

    def test_has_room_for_the_largest_session(self, acme: Shop, stripe: SandboxControl) -> None:
        line = {"sku": "S" * 100, "name": "n" * 200, "quantity": 1, "unit_amount": 1000}
        body: dict[str, Any] = {
            "currency": "usd",
            "line_items": [line] * 500,
            "shipping_amount": 99_499_999,
            "metadata": {f"{number:040}": "v" * 500 for number in range(50)},
            "buyer": {"name": "B" * 200, "phone": "1" * 40, "email": "b@example.com"},
            "shipping_address": {"line1": "l" * 200, "country": "US"},
        }
        raw = json.dumps(body, ensure_ascii=False).encode()

        told = create(acme, raw=raw)
        one_more = create(acme, {**body, "line_items": [TINY] * 501})
        order = acme.complete(told.json()["id"], new_key()).json()

        assert len(raw) < settings.DATA_UPLOAD_MAX_MEMORY_SIZE
        assert "line_items" in problem(one_more, "invalid_request")["errors"]
        assert told.json()["amount_total"] == 99_999_999
        assert order["line_items"] == body["line_items"]
        assert order["metadata"] == body["metadata"]


TINY = {"quantity": 1, "unit_amount": 1}


class TestText:
    def test_is_kept_as_it_was_sent(self, acme: Shop, stripe: SandboxControl) -> None:
        for name in ("Zo\u00eb", "漢字 🐶", "\u202ertl", "=A(1)", " spaced ", "'; DROP", "\ufffd"):
            checkout = acme.checkout(buyer={"name": name}, metadata={name: name})
            order = acme.complete(checkout, new_key()).json()

            assert order["buyer"] == {"name": name}
            assert order["metadata"] == {name: name}

    def test_is_compared_code_point_by_code_point(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        composed, decomposed = {"name": "Zo\u00eb"}, {"name": "Zoe\u0308"}

        first = acme.complete(checkout, key, buyer=composed)
        other = acme.complete(checkout, key, buyer=decomposed)

        assert first.json()["buyer"] == composed
        problem(other, "idempotency_key_reused")
        assert acme.complete(checkout, key, buyer=composed).content == first.content
