"""What the real web server writes to its log: one JSON object a line, and nobody's secrets."""

from __future__ import annotations

import json
from typing import Any, NamedTuple

import pytest

from orders.models import Merchant
from orders.models.secrets import encrypt
from sarvex.logging import _mask_values, mask
from tests.processes import web_process
from tests.sarvex.wire import request, wire
from tests.shop import BASKET, Shop, new_key, open_shop

EMAIL = "jane.doe+secret@private-mail.example"
NAME = "Jane Q. Private"
STREET = "221b Hidden Street"


class Log(NamedTuple):
    """A whole log: its text, and the lines that are ours."""

    text: str
    lines: list[dict[str, Any]]
    shop: Shop


@pytest.fixture(scope="module", params=["INFO", "DEBUG"])
def log(
    request: pytest.FixtureRequest,
    database: str,
    stripe_url: str,
    tmp_path_factory: pytest.TempPathFactory,
) -> Log:
    """Run a web server, ask it all sorts of things, end it, and read what it wrote."""
    folder = tmp_path_factory.mktemp("log")
    acme, wrong = open_shop("acme"), open_shop("wrongkey")
    merchant = Merchant.objects.get(id=wrong.id)
    merchant.stripe_secret_key_sealed = encrypt("sk_test_invalid")
    merchant.save(update_fields=["stripe_secret_key_sealed"])
    with web_process(
        folder, database=database, stripe=stripe_url, workers=1, LOG_LEVEL=request.param
    ) as url:
        ask(acme.at(url), wrong.at(url))
    text = next(folder.glob("web-*.log")).read_text("utf-8")
    lines = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    return Log(text, lines, acme)


def ask(acme: Shop, wrong: Shop) -> None:
    """Complete, decline, be refused by the provider, and send what cannot be read."""
    buyer = {"email": EMAIL, "name": NAME}
    address = {"line1": STREET, "country": "GB"}

    def checkout(shop: Shop) -> str:
        return shop.checkout(buyer=buyer, shipping_address=address)

    def named(name: str) -> dict[str, str]:
        return {"Request-Id": name}

    assert acme.complete(checkout(acme), new_key(), headers=named("req-paid")).status == 200
    declined = "pm_card_visa_chargeDeclined"
    told = acme.complete(checkout(acme), new_key(), declined, headers=named("req-declined"))
    assert told.status == 402
    told = acme.complete(checkout(acme), new_key(), "pm_sandbox_drop_after", buyer=buyer)
    assert told.status == 202
    told = acme.complete(checkout(acme), new_key(), "pm_sandbox_html_502")
    assert told.status == 202
    told = wrong.complete(checkout(wrong), new_key(), headers=named("req-misconfigured"))
    assert told.status == 502
    secret = json.dumps({**BASKET, "buyer": {"email": EMAIL, "nome": NAME}}).encode()
    for raw in (secret, secret[:-9], secret + b"\xff", b'{"buyer": "' + EMAIL.encode() + b'"}'):
        assert acme.call("POST", "/checkout", raw=raw, role="merchant").status == 400
    path = f"/merchants/{acme.id}/orders?email={EMAIL}"
    assert acme.call("GET", path, role="merchant").status == 200
    assert acme.call("GET", f"/nothing/{EMAIL}?token=svx_agent_0_abc").status == 404
    assert acme.call("GET", "/healthz", headers={"Cookie": "sessionid=hush"}).status == 200
    assert acme.call("GET", path, token=acme.keys["agent"] + "x").status == 401
    assert acme.call("POST", f"/handlers/stripe/{acme.id}/events", {"email": EMAIL}).status == 400
    with wire(acme.url) as line:
        key = 'a\tb"}{"event":"forged"'
        head = {"Authorization": f"Bearer {acme.keys['merchant']}", "Idempotency-Key": key}
        head["Content-Type"] = "application/json"
        assert line.send(request("POST", "/checkout", b"{}", headers=head)).reply().status == 400
    with wire(acme.url) as line:
        assert line.send(request("GET", "/a%0a%7B%22event%22:1%7D")).reply().status == 404


class TestTheLog:
    def test_has_one_json_object_a_line(self, log: Log) -> None:
        others = [line for line in log.text.splitlines() if not line.startswith("{")]

        assert len(log.lines) > 20
        # What is not ours is the web server's own, about itself.
        assert all(line.startswith(("[INFO]", "[WARNING]")) for line in others if line), others
        for line in log.lines:
            assert {"event", "level", "timestamp", "logger"} <= line.keys()
        assert not any(line["event"] in ("forged", 1) for line in log.lines)

    def test_has_the_request_id_in_every_line_about_a_request(self, log: Log) -> None:
        ours = [line for line in log.lines if line["logger"].startswith(("sarvex", "orders"))]

        assert all(line.get("request_id") for line in ours)
        answered = {line["request_id"]: line for line in ours if line["event"] == "request"}
        for name, status in (("req-paid", 200), ("req-declined", 402), ("req-misconfigured", 502)):
            assert answered[name]["status"] == status
            assert answered[name]["route"] == "checkout/<checkout:checkout_id>/complete"
            assert answered[name]["method"] == "POST"

    def test_has_nobodys_data_and_no_secrets(self, log: Log) -> None:
        shop = log.shop
        hidden = [
            EMAIL,
            "private-mail",
            NAME,
            STREET,
            "Authorization",
            "Bearer ",
            "pm_card",
            "pm_sandbox",
            "_secret_",
            "sk_test",
            shop.account.removeprefix("sk_test_"),
            "whsec",
            "only-for-tests",
            "sessionid",
            "svx_agent_0_abc",
            *[key.split("_", 3)[3] for key in shop.keys.values()],
        ]
        found = {word for word in hidden if word in log.text}

        assert found == set()


class TestMasking:
    def test_goes_to_the_bottom_of_a_value(self) -> None:
        event = {"told": {"to": ["a@b.example", {"key": "sk_live_abcdefgh"}], "n": 1}}

        masked = _mask_values(None, "info", event)

        assert masked == {"told": {"to": ["[email]", {"key": "sk_live_[masked]"}], "n": 1}}

    @pytest.mark.parametrize(
        ("text", "masked"),
        [
            ("from jane.doe+x@private.example!", "from [email]!"),
            ("key svx_agent_0a1b2c3d_AbC-dEf_9", "key svx_agent_0a1b2c3d[masked]"),
            ("sk_test_51Habcdefgh", "sk_test_[masked]"),
            ("rk_live_51Habcdefgh", "rk_live_[masked]"),
            ("sk_51Habcdefgh", "sk_[masked]"),
            ("whsec_abcdefgh1234", "whsec_[masked]"),
            ("whsec_allLettersAndNothingElse", "whsec_[masked]"),
            ("whsec_MfKQ9r8GKYqrTwjU/PD8+ILPZIo2LaLaSw==", "whsec_[masked]"),
            ("token pm_1Pabcdefgh for", "token pm_[masked] for"),
            ("pm_card_visa", "pm_[masked]"),
            ("pi_3Abc_secret_Def", "pi_3Abc_secret_[masked]"),
            ("Authorization: Bearer abc.def", "Authorization: Bearer [masked]"),
            ("op_0123 cs_0123 pi_0123 stays", "op_0123 cs_0123 pi_0123 stays"),
        ],
    )
    def test_leaves_what_may_be_read(self, text: str, masked: str) -> None:
        assert mask(text) == masked
