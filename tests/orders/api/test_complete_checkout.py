"""Completing a checkout: one charge, one order, one answer."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest
import time_machine
from django.conf import settings
from django.db import connection
from django.test.utils import CaptureQueriesContext

from idempotency import replay_cache
from orders.actions import reconcile
from orders.clock import database_now
from orders.sandbox.client import SandboxControl
from tests.shop import Shop, new_key, open_shop


def charges(stripe: SandboxControl, shop: Shop) -> int:
    """Return how many charges the shop's Stripe account really has."""
    return stripe.summary(shop.account).charges


class TestCompleteCheckout:
    def test_charges_once_and_makes_the_order(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()

        told = acme.complete(checkout, key)

        order = told.json()
        assert told.status == 200
        assert order["status"] == "confirmed"
        assert order["payment"]["status"] == "captured"
        assert (order["amount_total"], order["amount_captured"]) == (3500, 3500)
        assert order["idempotency_key"] == key
        assert told.headers["Idempotency-Key"] == key
        assert "Idempotency-Expires" in told.headers
        assert "Idempotent-Replayed" not in told.headers
        assert stripe.summary(acme.account).amount_captured == 3500
        assert acme.get(f"{{m}}/orders/{order['order_id']}").json() == order

    def test_repeats_its_answer_without_charging_again(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        first = acme.complete(checkout, key)
        again = acme.complete(checkout, key)

        assert again.content == first.content
        assert again.replayed
        assert len(stripe.requests(account=acme.account)) == 1

    def test_repeats_its_answer_whatever_became_of_the_cache(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        first = acme.complete(checkout, key)

        replay_cache._client().flushdb()
        again = acme.complete(checkout, key)

        assert again.content == first.content
        assert again.replayed
        assert charges(stripe, acme) == 1

    def test_takes_member_order_and_white_space_for_the_same_request(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        path = f"/checkout/{checkout}/complete"
        first = acme.call(
            "POST",
            path,
            key=key,
            raw=b'{"payment":{"handler":"stripe","token":"pm_card_visa"},"expected_amount_total":3500}',
        )
        again = acme.call(
            "POST",
            path + "/",
            key=f'"{key}"',
            raw=b'{ "expected_amount_total": 3500,\n "payment":'
            b' {"token":"pm_card_v\\u0069sa", "handler":"stripe"} }',
        )
        assert (first.status, again.status) == (200, 200)
        assert again.replayed
        assert charges(stripe, acme) == 1

    def test_costs_two_commits_one_call_and_at_most_fourteen_statements(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        acme.complete(acme.checkout(), new_key())  # the API key is known from here on
        checkout = acme.checkout()
        before = len(stripe.requests(account=acme.account))

        with CaptureQueriesContext(connection) as captured:
            assert acme.complete(checkout, new_key()).status == 200

        said = [one["sql"] for one in captured.captured_queries]
        assert said.count("COMMIT") == 2
        assert len([one for one in said if one not in {"BEGIN", "COMMIT"}]) <= 14
        assert len(stripe.requests(account=acme.account)) == before + 1

    def test_replays_without_sql_from_the_cache_and_with_three_statements_without(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        acme.complete(checkout, key)

        with CaptureQueriesContext(connection) as warm:
            assert acme.complete(checkout, key).replayed
        replay_cache._client().flushdb()
        with CaptureQueriesContext(connection) as cold:
            assert acme.complete(checkout, key).replayed

        assert warm.captured_queries == []
        said = [one["sql"].split()[0] for one in cold.captured_queries]
        assert len(said) <= 3
        assert not {"INSERT", "UPDATE"} & set(said)

    def test_only_reserves_the_money_of_a_manual_capture(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        order = acme.complete(acme.checkout(capture="manual"), new_key()).json()

        assert (order["status"], order["payment"]["status"]) == ("created", "authorized")
        assert order["amount_captured"] == 0
        assert stripe.summary(acme.account).amount_captured == 0

    def test_leaves_confirming_to_a_merchant_that_confirms_by_hand(
        self, stripe: SandboxControl
    ) -> None:
        shop = open_shop("byhand", confirm="manual")

        order = shop.complete(shop.checkout(), new_key()).json()

        assert (order["status"], order["payment"]["status"]) == ("created", "captured")

    def test_refuses_another_amount_than_the_caller_expects(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        told = acme.complete(checkout, key, expected_amount_total=3400)

        assert (told.status, told.json()["code"]) == (409, "amount_changed")
        assert charges(stripe, acme) == 0
        assert acme.complete(checkout, key, expected_amount_total=3500).status == 200

    def test_needs_a_key_unless_the_merchant_made_it_optional(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        easy = open_shop("easy", idempotency="optional")
        checkout = easy.checkout()

        refused = acme.complete(acme.checkout(), None)
        first, again = easy.complete(checkout, None), easy.complete(checkout, None)

        assert (refused.status, refused.json()["code"]) == (400, "idempotency_key_missing")
        assert first.json()["idempotency_key"] == f"checkout:{checkout}"
        assert again.content == first.content
        assert charges(stripe, easy) == 1


class TestAKeyThatMeansSomethingElse:
    def test_is_refused_for_another_body(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        first = acme.complete(checkout, key)

        told = acme.complete(checkout, key, "pm_card_mastercard")

        assert (told.status, told.json()["code"]) == (409, "idempotency_key_reused")
        assert told.json()["retryable"] is False
        assert acme.complete(checkout, key).content == first.content
        assert charges(stripe, acme) == 1

    def test_is_refused_for_another_checkout(self, acme: Shop, stripe: SandboxControl) -> None:
        key = new_key()
        acme.complete(acme.checkout(), key)

        told = acme.complete(acme.checkout(), key)

        assert (told.status, told.json()["code"]) == (409, "idempotency_key_reused")
        assert charges(stripe, acme) == 1

    def test_is_refused_for_another_agent_without_showing_the_first_ones_answer(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        order_id = acme.complete(checkout, key).json()["order_id"]

        told = acme.complete(checkout, key, token=acme.another_key("agent"))

        assert (told.status, told.json()["code"]) == (409, "idempotency_key_reused")
        assert order_id not in told.content.decode()

    def test_is_not_the_same_key_at_another_merchant(
        self, acme: Shop, rival: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key()

        mine, theirs = acme.complete(acme.checkout(), key), rival.complete(rival.checkout(), key)

        assert (mine.status, theirs.status) == (200, 200)
        assert mine.json()["order_id"] != theirs.json()["order_id"]

    def test_replays_for_a_replacement_of_the_agents_own_api_key(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        first = acme.complete(checkout, key)

        again = acme.complete(checkout, key, token=acme.another_key("agent", "default"))

        assert again.content == first.content


class TestAnotherKeyForTheSameCheckout:
    def test_is_told_of_the_order_that_stands(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout()
        order_id = acme.complete(checkout, new_key()).json()["order_id"]

        told = acme.complete(checkout, new_key())

        assert (told.status, told.json()["code"]) == (409, "checkout_already_completed")
        assert told.json()["order_id"] == order_id
        assert charges(stripe, acme) == 1

    def test_is_refused_while_the_outcome_is_unknown(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout = acme.checkout()
        unknown = acme.complete(checkout, new_key(), "pm_sandbox_drop_after")

        told = acme.complete(checkout, new_key())

        assert unknown.status == 202
        assert (told.status, told.json()["code"]) == (409, "checkout_in_progress")
        assert told.json()["retryable"] is True
        assert told.json()["operation"]["id"] == unknown.json()["id"]
        assert "Retry-After" in told.headers
        assert charges(stripe, acme) == 1

    def test_may_try_again_after_a_decline(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()

        first = acme.complete(checkout, key, "pm_card_visa_chargeDeclined")
        again = acme.complete(checkout, key, "pm_card_visa_chargeDeclined")
        corrected = acme.complete(checkout, key, "pm_card_visa")
        paid = acme.complete(checkout, new_key(), "pm_card_visa")

        assert (first.status, first.json()["code"]) == (402, "payment_declined")
        assert first.json()["decline_code"] == "generic_decline"
        assert again.content == first.content
        assert again.replayed
        assert corrected.json()["code"] == "idempotency_key_reused"
        assert paid.status == 200
        assert charges(stripe, acme) == 1

    def test_is_told_when_the_buyer_must_act(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout = acme.checkout()

        told = acme.complete(checkout, new_key(), "pm_card_authenticationRequired")

        assert (told.status, told.json()["code"]) == (402, "payment_requires_action")
        assert acme.orders() == []
        assert acme.get(f"/checkout/{checkout}").json()["status"] == "open"


AMBIGUOUS_AND_CHARGED = [
    "pm_sandbox_drop_after",
    "pm_sandbox_error_after",
    "pm_sandbox_empty",
    "pm_sandbox_html_502",
]


class TestAnUnknownOutcome:
    @pytest.mark.parametrize("token", AMBIGUOUS_AND_CHARGED)
    def test_is_a_202_that_the_next_equal_request_looks_up(
        self, acme: Shop, stripe: SandboxControl, token: str
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        unknown = acme.complete(checkout, key, token)
        known = acme.complete(checkout, key, token)
        again = acme.complete(checkout, key, token)

        assert unknown.status == 202
        assert unknown.json()["status"] == "indeterminate"
        assert unknown.headers["Location"].endswith(f"/operations/{unknown.json()['id']}")
        assert "Retry-After" in unknown.headers
        assert "Idempotency-Expires" not in unknown.headers
        assert known.status == 200
        assert again.content == known.content
        assert charges(stripe, acme) == 1
        sent = stripe.requests(account=acme.account, path="/v1/payment_intents")
        assert [one["method"] for one in sent].count("POST") == 1

    def test_is_what_a_time_out_leaves(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(settings, "SARVEX_PROVIDER_TIMEOUT", timedelta(seconds=1))
        checkout, key = acme.checkout(), new_key()

        unknown = acme.complete(checkout, key, "pm_sandbox_timeout")
        known = acme.complete(checkout, key, "pm_sandbox_timeout")

        assert unknown.status == 202
        assert known.status == 200
        assert charges(stripe, acme) == 1

    @pytest.mark.parametrize("token", ["pm_sandbox_drop_before", "pm_sandbox_error_before"])
    def test_counts_absence_only_when_the_request_can_no_longer_arrive(
        self, acme: Shop, stripe: SandboxControl, token: str
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        first = acme.complete(checkout, key, token)
        soon = acme.complete(checkout, key, token)
        acme.let_time_pass(61)
        reconcile.look_up(first.json()["id"], actor="system:test", now=database_now())
        operation = acme.operations(idempotency_key=key)[0]
        key_now = acme.get(f"{{m}}/idempotency-keys/{key}").json()

        assert (first.status, soon.status) == (202, 202)
        assert soon.json()["id"] == first.json()["id"]
        assert (operation["status"], operation["error"]["code"]) == ("failed", "not_sent")
        assert key_now["state"] == "released"
        assert charges(stripe, acme) == 0

    def test_becomes_a_charge_under_the_same_provider_key_once_it_is_proven_not_sent(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        stripe.fault("drop_before", account=acme.account, method="POST")

        first = acme.complete(checkout, key)
        acme.let_time_pass(61)
        paid = acme.complete(checkout, key)

        assert (first.status, paid.status) == (202, 200)
        tries = acme.operations(idempotency_key=key)
        assert [one["retry_count"] for one in tries] == [1, 0]
        assert len({one["handler_key"] for one in tries}) == 1
        assert charges(stripe, acme) == 1

    def test_stays_unknown_when_stripe_has_the_key_in_use(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        told = acme.complete(acme.checkout(), new_key(), "pm_sandbox_in_use")

        assert (told.status, told.json()["status"]) == (202, "indeterminate")

    def test_stays_unknown_when_the_provider_speaks_of_another_amount(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()

        first = acme.complete(checkout, key, "pm_sandbox_wrong_amount")
        again = acme.complete(checkout, key, "pm_sandbox_wrong_amount")

        assert (first.status, again.status) == (202, 202)
        assert again.json()["error"]["code"] == "amount_mismatch"
        assert acme.orders() == []
        assert charges(stripe, acme) == 1

    def test_is_settled_by_the_command(self, acme: Shop, stripe: SandboxControl) -> None:
        from django.core.management import call_command

        checkout, key = acme.checkout(), new_key()
        acme.complete(checkout, key, "pm_sandbox_drop_after")

        acme.let_time_pass(10)
        call_command("reconcile_operations")

        assert acme.operations(idempotency_key=key)[0]["status"] == "succeeded"
        assert acme.complete(checkout, key, "pm_sandbox_drop_after").replayed
        trail = acme.mutations(idempotency_key=key, mutation_type="create")
        assert trail[0]["handler_response"]["settled_by"] == "system:reconcile"

    def test_never_expires(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        first = acme.complete(checkout, key, "pm_sandbox_wrong_amount")

        acme.let_time_pass(400 * 86_400)
        with time_machine.travel(datetime.now(UTC) + timedelta(days=400)):
            same = acme.complete(checkout, key, "pm_sandbox_wrong_amount")
            other = acme.complete(checkout, new_key())

        assert same.json()["id"] == first.json()["id"]
        assert other.json()["code"] == "checkout_in_progress"
        assert charges(stripe, acme) == 1


class TestAChargeThatWasNotSent:
    def test_is_told_as_unavailable_and_tried_again_under_the_same_provider_key(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        with monkeypatch.context() as unplugged:
            unplugged.setattr(settings, "STRIPE_API_BASE", "http://127.0.0.1:9")
            refused = acme.complete(checkout, key)
        paid = acme.complete(checkout, key)

        assert (refused.status, refused.json()["code"]) == (503, "payment_handler_unavailable")
        assert "Retry-After" in refused.headers
        assert refused.json()["operation"]["error"]["code"] == "not_sent"
        assert paid.status == 200
        assert [one["retry_count"] for one in acme.operations(idempotency_key=key)] == [1, 0]
        assert charges(stripe, acme) == 1

    def test_sends_the_very_same_parameters_again(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        stripe.fault("rate_limited", account=acme.account)

        acme.complete(checkout, key)
        acme.complete(checkout, key)

        sent = stripe.requests(account=acme.account)
        assert len(sent) == 2
        assert sent[0]["params"] == sent[1]["params"]
        assert sent[0]["idempotency_key"] == sent[1]["idempotency_key"]
        assert sent[0]["idempotency_key"] == f"{acme.id}:{key}"

    def test_is_told_as_misconfigured_when_the_credentials_are_refused(
        self, stripe: SandboxControl
    ) -> None:
        from orders.models import Merchant
        from orders.models.secrets import encrypt

        shop = open_shop("wrongkey")
        merchant = Merchant.objects.get(id=shop.id)
        merchant.stripe_secret_key_sealed = encrypt("sk_test_invalid")
        merchant.save(update_fields=["stripe_secret_key_sealed"])

        told = shop.complete(shop.checkout(), new_key())

        assert (told.status, told.json()["code"]) == (502, "payment_handler_misconfigured")
        assert "sk_test" not in told.content.decode()

    def test_keeps_its_key_for_equal_requests_only(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        stripe.fault("rate_limited", account=acme.account)
        acme.complete(checkout, key)

        told = acme.complete(checkout, key, "pm_card_mastercard")

        assert told.json()["code"] == "idempotency_key_reused"


class TestOurOwnFailureAfterTheCharge:
    def test_is_told_as_under_way_and_never_charges_again(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from orders.actions.effects import charge

        checkout, key = acme.checkout(), new_key()
        with monkeypatch.context() as broken:
            broken.setattr(charge, "order_document", _raise)
            told = acme.complete(checkout, key)
        other = acme.complete(checkout, new_key())
        acme.let_time_pass(61)
        known = acme.complete(checkout, key)

        assert told.status == 202
        assert other.json()["code"] == "checkout_in_progress"
        assert known.status == 200
        assert charges(stripe, acme) == 1


def _raise(*_: object) -> dict[str, object]:
    raise RuntimeError("a defect of our own")


class TestTheWindowOfAKey:
    def test_replays_until_it_ends_and_then_may_name_a_new_intention(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        first_checkout, second_checkout, key = acme.checkout(), acme.checkout(), new_key()
        first = acme.complete(first_checkout, key)
        expires = datetime.fromisoformat(first.headers["Idempotency-Expires"])

        with time_machine.travel(expires - timedelta(seconds=1), tick=False):
            still = acme.complete(first_checkout, key)
            early = acme.complete(second_checkout, key)
        with time_machine.travel(expires + timedelta(seconds=1), tick=False):
            late = acme.complete(first_checkout, key)
            fresh_checkout = acme.checkout()
            new = acme.complete(fresh_checkout, key)

        assert still.content == first.content
        assert early.json()["code"] == "idempotency_key_reused"
        assert late.json()["code"] == "checkout_already_completed"
        assert (new.status, new.json()["generation"]) == (200, 1)
        assert new.json()["order_id"] != first.json()["order_id"]
        sent = [one["idempotency_key"] for one in stripe.requests(account=acme.account)]
        assert sent == [f"{acme.id}:{key}", f"{acme.id}:{key}:1"]


class TestARefusalBeforeAnythingBegan:
    def test_does_not_burn_the_key(self, acme: Shop, stripe: SandboxControl) -> None:
        checkout, key = acme.checkout(), new_key()
        path = f"/checkout/{checkout}/complete"

        bad = acme.call("POST", path, {"payment": {"handler": "stripe"}}, key=key)
        unknown = acme.call("POST", path, {"payment": {"handler": "cash", "token": "x"}}, key=key)
        good = acme.complete(checkout, key)

        assert (bad.status, bad.json()["errors"]) == (
            400,
            {"payment.token": ["This field is required."]},
        )
        assert "payment.handler" in unknown.json()["errors"]
        assert good.status == 200

    def test_is_told_for_canceled_and_expired_checkouts(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        canceled, expired = acme.checkout(), acme.checkout(expires_in=1)
        assert acme.call("POST", f"/checkout/{canceled}/cancel").json()["status"] == "canceled"

        told = acme.complete(canceled, new_key())
        with time_machine.travel(datetime.now(UTC) + timedelta(seconds=2)):
            late = acme.complete(expired, new_key())
            seen = acme.get(f"/checkout/{expired}").json()

        assert (told.status, told.json()["code"]) == (409, "checkout_canceled")
        assert (late.status, late.json()["code"]) == (409, "checkout_expired")
        assert seen["status"] == "expired"
        assert charges(stripe, acme) == 0

    def test_stands_in_the_trail_and_among_the_tries(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, first, second = acme.checkout(), new_key(), new_key()
        acme.complete(checkout, first)
        acme.complete(checkout, first)
        acme.complete(checkout, second)

        refused = acme.mutations(idempotency_key=second)
        tries = acme.get(f"/checkout/{checkout}").json()["complete_attempts"]

        assert refused[0]["local_status"] == "refused"
        assert refused[0]["preconditions"] == [{"name": "no_live_charge", "passed": False}]
        assert [(one["idempotency_key"], one["outcome"]) for one in tries] == [
            (first, "fresh"),
            (first, "replayed"),
            (second, "refused:checkout_already_completed"),
        ]


class TestTheTrailOfAnOrder:
    def test_tells_the_charge_and_the_confirmation(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        headers = {
            "Request-Id": "agent-42",
            "traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
        }
        told = acme.complete(acme.checkout(), new_key(), headers=headers)
        order = told.json()

        create, confirm = acme.mutations(order_id=order["order_id"])

        assert told.headers["Request-Id"] == "agent-42"
        assert (create["mutation_type"], create["local_status"]) == ("create", "succeeded")
        assert create["actor"] == "agent:default"
        assert create["handler_response"]["id"] == order["payment"]["reference"]
        assert (create["request_id"], create["traceparent"]) == tuple(headers.values())
        assert create["completed_at"] >= create["attempted_at"]
        assert confirm["mutation_type"] == "transition"
        assert (confirm["from_status"], confirm["to_status"]) == ("created", "confirmed")
        assert {one["name"]: one["passed"] for one in confirm["preconditions"]} == {
            "status": True,
            "captured": True,
            "stock": True,
        }


class TestWhatBecameOfMyRequest:
    def test_tells_every_arrival_and_the_one_effect(
        self, acme: Shop, stripe: SandboxControl
    ) -> None:
        checkout, key = acme.checkout(), new_key()
        order = acme.complete(checkout, key).json()
        acme.complete(checkout, key)
        acme.complete(checkout, key, "pm_card_mastercard")

        told = acme.get(f"{{m}}/idempotency-keys/{key}", role="agent").json()

        assert (told["state"], told["answer_status"]) == ("answered", 200)
        assert told["order_id"] == order["order_id"]
        assert [one["outcome"] for one in told["arrivals"]] == ["fresh", "replayed", "mismatch"]

    def test_is_told_to_the_agent_itself_and_to_no_other(
        self, acme: Shop, rival: Shop, stripe: SandboxControl
    ) -> None:
        key = new_key()
        acme.complete(acme.checkout(), key)
        path = f"/merchants/{acme.id}/idempotency-keys/{key}"

        other = acme.call("GET", path, token=acme.another_key("agent"))
        stranger = rival.call("GET", path, role="merchant")

        assert (other.status, stranger.status) == (404, 404)


class TestAnOrderIdThatIsTaken:
    def test_is_found_before_the_provider_is_asked(
        self, acme: Shop, stripe: SandboxControl, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        from orders.actions import complete_checkout
        from orders.models.orders import derive_order_id

        taken = acme.complete(acme.checkout(), new_key()).json()["order_id"]
        real = derive_order_id

        def colliding(*, salt: int = 0, **parts: object) -> str:
            return real(salt=salt, **parts) if salt else taken  # type: ignore[arg-type]

        monkeypatch.setattr(complete_checkout, "derive_order_id", colliding)
        order = acme.complete(acme.checkout(), new_key()).json()

        assert order["order_id"] != taken
        assert json.loads(json.dumps(order))["status"] == "confirmed"
        assert charges(stripe, acme) == 2
