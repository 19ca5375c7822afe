"""Derived names: the order's id and the key under which a provider knows an operation."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256

import pytest
from hypothesis import given
from hypothesis import strategies as st

from orders.handlers.base import handler_key
from orders.models.orders import derive_order_id

SECOND = datetime(2024, 1, 2, 3, 4, 5, tzinfo=UTC)
# Texts that are made of what could be mistaken for the encoding itself.
TRICKY = st.text("0123456789:ab\N{SNOWMAN}", max_size=12)
PARTS = st.tuples(TRICKY, TRICKY, st.integers(0, 200), st.integers(0, 3))


def an_id(merchant: str, key: str, generation: int = 0, salt: int = 0) -> str:
    """Return the id of a claim of one fixed second."""
    return derive_order_id(
        claimed_at=SECOND, merchant=merchant, key=key, generation=generation, salt=salt
    )


class TestOrderId:
    def test_is_the_second_and_a_digest(self) -> None:
        digest = sha256(b"4:acme8:key-A-T01:0").hexdigest()

        assert an_id("acme", "key-A-T0") == f"{1704164645:x}{digest[:16]}"

    def test_is_the_same_for_every_retry(self) -> None:
        later = SECOND + timedelta(microseconds=999_999)

        assert an_id("acme", "key") == derive_order_id(
            claimed_at=later, merchant="acme", key="key", generation=0
        )

    def test_tells_the_second_of_the_claim(self) -> None:
        next_second = derive_order_id(
            claimed_at=SECOND + timedelta(seconds=1), merchant="acme", key="key", generation=0
        )

        assert int(next_second[:8], 16) == int(an_id("acme", "key")[:8], 16) + 1
        assert next_second[8:] == an_id("acme", "key")[8:]

    def test_keeps_its_length_when_the_seconds_need_more_digits(self) -> None:
        far = derive_order_id(
            claimed_at=datetime(2200, 1, 1, tzinfo=UTC), merchant="acme", key="key", generation=0
        )

        assert len(far) == 24

    def test_differs_for_each_of_200_keys_of_one_second(self) -> None:
        assert len({an_id("acme", f"key-{number}") for number in range(200)}) == 200

    def test_differs_for_each_generation_merchant_and_salt(self) -> None:
        made = {
            an_id(merchant, "key", generation, salt)
            for merchant in ("acme", "rival")
            for generation in range(5)
            for salt in range(5)
        }

        assert len(made) == 50

    @given(one=PARTS, other=PARTS)
    def test_is_shared_by_equal_claims_only(
        self, one: tuple[str, str, int, int], other: tuple[str, str, int, int]
    ) -> None:
        assert (an_id(*one) == an_id(*other)) == (one == other)

    @given(text=TRICKY, cut=st.integers(0, 12), other=st.integers(0, 12))
    def test_knows_where_the_merchant_ends_and_the_key_begins(
        self, text: str, cut: int, other: int
    ) -> None:
        same = text[:cut] == text[:other]

        assert (an_id(text[:cut], text[cut:]) == an_id(text[:other], text[other:])) == same


class TestHandlerKey:
    @pytest.mark.parametrize(
        ("generation", "step", "expected"),
        [
            (0, "", "acme:key"),
            (1, "", "acme:key:1"),
            (0, "confirm", "acme:key:confirm"),
            (2, "confirm", "acme:key:2:confirm"),
        ],
    )
    def test_says_what_it_is_the_key_of(self, generation: int, step: str, expected: str) -> None:
        told = handler_key(
            merchant="acme", key="key", generation=generation, step=step, longest=255
        )

        assert told == expected

    @pytest.mark.parametrize("longest", [64, 255])
    def test_is_left_whole_up_to_the_providers_longest(self, longest: int) -> None:
        fits = "k" * (longest - len("acme:"))
        told, hashed = (
            handler_key(merchant="acme", key=key, generation=0, longest=longest)
            for key in (fits, fits + "k")
        )

        assert told == f"acme:{fits}"
        assert hashed == sha256(f"acme:{fits}k".encode()).hexdigest()

    @given(
        key=st.text(
            st.characters(min_codepoint=0x21, max_codepoint=0x7E), min_size=1, max_size=255
        ),
        generation=st.integers(0, 3),
        longest=st.sampled_from([40, 64, 255]),
    )
    def test_never_outgrows_it(self, key: str, generation: int, longest: int) -> None:
        told = handler_key(merchant="acme", key=key, generation=generation, longest=longest)

        assert 0 < len(told) <= longest
        assert told == handler_key(merchant="acme", key=key, generation=generation, longest=longest)

    def test_stays_apart_where_long_keys_differ_at_their_end_only(self) -> None:
        told = {
            handler_key(merchant="acme", key="k" * 254 + end, generation=0, longest=64)
            for end in "abcdefgh"
        }

        assert len(told) == 8
        assert all(len(key) == 64 for key in told)
