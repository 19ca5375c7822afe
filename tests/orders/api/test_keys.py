"""The Idempotency-Key header: which values name an intention, and which name nothing."""

from __future__ import annotations

import pytest

from orders.sandbox.client import SandboxControl
from tests.orders.api.problems import PAY, begins_nothing, complete_raw, create, problem
from tests.shop import BASKET, Shop, new_key, open_shop

INVALID = {
    "empty": "",
    "a space": " ",
    "spaces": "   ",
    "empty in quotes": '""',
    "a space in quotes": '" "',
    "leading space": " key",
    "trailing space": "key ",
    "space inside": "a key",
    "256 characters": "k" * 256,
    "257 characters in quotes": f'"{"k" * 256}"',
    "3000 of one character": "k" * 3000,
    "3000 of many": "".join(chr(33 + (n * n) % 94) for n in range(3000)),
    "NUL": "a\0b",
    "CR": "a\rb",
    "LF": "a\nb",
    "CRLF": "key\r\nX-Injected: 1",
    "tab": "a\tb",
    "DEL": "a\x7fb",
    "escape": "a\x1b[31mb",
    "latin-1": "clé",
    "emoji": "🐶".encode().decode("latin-1"),
    "no-break space": "a\xa0b",
    "reserved": "sarvex:refund:1",
    "reserved in quotes": '"sarvex:refund:1"',
    "reserved alone": "sarvex:",
}

# "{}" becomes something that no other test has.
VALID = [
    "{}",
    "k" * 243 + "{}",
    "{}/../../etc/passwd",
    "../{}",
    "{}:{}:{}",
    "sarvex-{}",
    "Sarvex:{}",
    "{}'",
    '{}"',
    '"{}',
    "{}%00%0a",
    "{}<script>",
    "{}\\x00",
    "{},{}",
    "${{{}}}",
    "*{}?",
    "~!@#$%^&*()_+`-={}[]|;,.<>/",
]


class TestAKeyThatIsNone:
    @pytest.mark.parametrize("key", INVALID.values(), ids=INVALID.keys())
    def test_is_refused(self, quiet: Shop, key: str) -> None:
        checkout = quiet.checkout()

        for told in (
            complete_raw(quiet, checkout, key, body=PAY),
            create(quiet, BASKET, key=key),
            quiet.call("POST", f"/checkout/{checkout}/cancel", key=key),
        ):
            problem(told, "idempotency_key_invalid")
            assert "Idempotency-Key" not in told.headers
            assert "X-Injected" not in told.headers
        seen = quiet.call("GET", f"/checkout/{checkout}", role="agent")
        assert seen.json()["status"] == "open"

    def test_is_refused_where_keys_are_optional_too(self, stripe: SandboxControl) -> None:
        easy = open_shop("easy", idempotency="optional")

        for key in ("", '""', "a b", "k" * 256):
            problem(easy.complete(easy.checkout(), key), "idempotency_key_invalid")

        assert stripe.requests(account=easy.account) == []

    def test_is_missing_when_no_header_came(self, quiet: Shop) -> None:
        told = quiet.call("POST", f"/checkout/{quiet.checkout()}/complete", PAY)

        assert "reuse the same value" in problem(told, "idempotency_key_missing")["detail"]


class TestAnOddKey:
    def test_names_one_intention_like_any_other(self, acme: Shop, stripe: SandboxControl) -> None:
        for number, form in enumerate(VALID):
            unique = new_key()[-12:]
            key = form.format(*[unique] * 3) if number < 16 else form + unique
            checkout = acme.checkout()

            first, again = acme.complete(checkout, key), acme.complete(checkout, key)

            assert first.status == 200, (key, first.content)
            assert first.json()["idempotency_key"] == first.headers["Idempotency-Key"] == key
            assert again.replayed
            assert acme.mutations(order_id=first.json()["order_id"])[0]["idempotency_key"] == key
        assert stripe.summary(acme.account).charges == len(VALID)

    def test_of_255_characters_reaches_the_provider_within_its_limit(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        first, second = new_key().ljust(255, "a"), new_key().ljust(255, "b")

        told = [acme.complete(acme.checkout(), key).status for key in (first, second)]

        sent = [one["idempotency_key"] for one in stripe.requests(account=acme.account)]
        assert told == [200, 200]
        assert len(set(sent)) == 2
        assert all(len(one) <= 255 for one in sent)

    def test_loses_one_pair_of_quotes_and_only_a_pair(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        first = acme.complete(checkout, key)

        quoted = acme.complete(checkout, f'"{key}"')
        twice = acme.complete(checkout, f'""{key}""')
        opened = acme.complete(checkout, f'"{key}')

        assert quoted.content == first.content
        assert quoted.headers["Idempotency-Key"] == key
        problem(twice, "checkout_already_completed")
        assert twice.headers["Idempotency-Key"] == f'"{key}"'
        problem(opened, "checkout_already_completed")

    def test_is_another_key_in_another_case(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key("Key")

        told = [acme.complete(acme.checkout(), one) for one in (key, key.lower())]

        assert [one.status for one in told] == [200, 200]
        assert told[0].json()["order_id"] != told[1].json()["order_id"]

    def test_cannot_be_made_to_collide_with_another_merchants(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        other = open_shop(acme.id)  # acme-1234-5678: its id begins with acme's
        suffix = other.id.removeprefix(acme.id)
        pairs = [
            ("k", f"{acme.id}:k"),
            (f"{other.id}:k", "k"),
            (f"{suffix}:k", ":k"),
            (":k", f"{suffix}:k"),
            ("k:1", "k:1"),
        ]
        for mine, theirs in pairs:
            first = acme.complete(acme.checkout(), mine)
            second = other.complete(other.checkout(), theirs)
            assert (first.status, second.status) == (200, 200)
            assert not second.replayed
            assert first.json()["order_id"] != second.json()["order_id"]

        sent = [
            one["idempotency_key"]
            for shop in (acme, other)
            for one in stripe.requests(account=shop.account)
        ]
        assert len(set(sent)) == 2 * len(pairs)

    def test_can_be_looked_up(self, acme: Shop, stripe: SandboxControl) -> None:
        for key in ("a%2Fb", "a/b/c", "k:1", "{k}", "a,b", "k?x=1#y"):
            acme.complete(acme.checkout(), key)
            path = key.replace("%", "%25").replace("?", "%3F").replace("#", "%23")
            told = acme.get(f"{{m}}/idempotency-keys/{path}")
            assert told.status == 200, key
            assert told.json()["idempotency_key"] == key


class TestAKeyOfARefusedRequest:
    def test_is_free(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()

        problem(complete_raw(acme, checkout, key, raw=b"{"), "malformed_json")
        problem(complete_raw(acme, checkout, key, body={}), "invalid_request")
        problem(complete_raw(acme, checkout, key, body=PAY, token="no"), "unauthenticated")
        problem(complete_raw(acme, checkout, key, body=PAY, role="operator"), "forbidden")
        problem(
            complete_raw(acme, checkout, key, body=PAY, content_type="text/plain"),
            "unsupported_media_type",
        )
        problem(complete_raw(acme, checkout, key, raw=b"x" * 300_000), "payload_too_large")
        problem(acme.complete(checkout, key, expected_amount_total=1), "amount_changed")
        problem(acme.complete("cs_" + "f" * 32, key), "not_found")
        problem(acme.call("PUT", f"/checkout/{checkout}/complete", key=key), "method_not_allowed")

        begins_nothing(acme, stripe, checkout, key)
