"""Fingerprints: what makes two requests the same request."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable
from hashlib import sha256
from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from idempotency.fingerprints import Uncanonical, fingerprint

PAYMENT = {"payment": {"handler": "stripe", "token": "pm_card_visa"}, "expected_amount_total": 3500}
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
LEAVES = st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | TEXTS
VALUES = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=12,
)


def print_of(body: Any, **facts: Any) -> str:
    """Return the fingerprint of one request, with changes."""
    return fingerprint(
        **{
            "method": "POST",
            "route": "complete_checkout",
            "path": {"checkout_id": "cs_1"},
            "actor": "agent:bot",
            "body": body,
            **facts,
        }
    )


def shuffled(value: Any, random: Random) -> Any:
    """Return an equal value whose objects have their members in another order."""
    if isinstance(value, list):
        return [shuffled(one, random) for one in value]
    if isinstance(value, dict):
        members = [(name, shuffled(one, random)) for name, one in value.items()]
        random.shuffle(members)
        return dict(members)
    return value


def places(value: Any, way: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """Return the way to every value inside a value, and to itself."""
    inner: Iterable[tuple[Any, Any]] = ()
    if isinstance(value, dict | list):
        inner = value.items() if isinstance(value, dict) else enumerate(value)
    return [way, *(found for name, one in inner for found in places(one, (*way, name)))]


def replaced(value: Any, way: tuple[Any, ...], new: Any) -> Any:
    """Return the value with another one put in at a place."""
    if not way:
        return new
    copy = value.copy()
    copy[way[0]] = replaced(copy[way[0]], way[1:], new)
    return copy


def at(value: Any, way: tuple[Any, ...]) -> Any:
    """Return what stands at a place."""
    for name in way:
        value = value[name]
    return value


def is_same(one: Any, other: Any) -> bool:
    """Whether two values are one JSON value; `True` is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)


class TestFingerprint:
    def test_is_a_digest_in_hex(self) -> None:
        assert len(print_of(PAYMENT)) == 64
        assert int(print_of(PAYMENT), 16) >= 0

    def test_stays_what_it_is_from_release_to_release(self) -> None:
        # Stored fingerprints are compared with those of a later release.
        spelt = (
            '["POST","complete_checkout",{"checkout_id":"cs_1"},"agent:bot",'
            '{"a":"é","b":[1,true,null]}]'
        )

        told = print_of({"b": [1, True, None], "a": "é"})

        assert told == sha256(spelt.encode()).hexdigest()

    @given(body=VALUES, random=st.randoms(use_true_random=False))
    def test_does_not_depend_on_the_order_of_members(self, body: Any, random: Random) -> None:
        assert print_of(shuffled(body, random)) == print_of(body)

    @given(body=VALUES, ascii_only=st.booleans(), indent=st.sampled_from([None, 0, 3]))
    def test_does_not_depend_on_white_space_and_escapes(
        self, body: Any, ascii_only: bool, indent: int | None
    ) -> None:
        spelt = json.dumps(body, ensure_ascii=ascii_only, indent=indent)

        assert print_of(json.loads(spelt)) == print_of(body)

    def test_does_not_depend_on_which_escape_a_sender_likes(self) -> None:
        spellings = [
            r'{"a\/b": "\u00e9\ud83d\ude00"}',
            '{ "a/b" :\n"é😀" }',
            r'{"\u0061/b":"é\uD83D\uDE00"}',
        ]

        assert len({print_of(json.loads(spelling)) for spelling in spellings}) == 1

    @given(body=VALUES, data=st.data())
    @example(body={"a": 1}, data=None)
    def test_changes_with_any_value(self, body: Any, data: st.DataObject | None) -> None:
        way = data.draw(st.sampled_from(places(body))) if data else ("a",)
        new = data.draw(VALUES) if data else True
        same = is_same(at(body, way), new)

        assert (print_of(replaced(body, way, new)) == print_of(body)) == same

    @given(items=st.lists(LEAVES, min_size=2, max_size=5), random=st.randoms(use_true_random=False))
    def test_depends_on_the_order_of_a_list(self, items: list[Any], random: Random) -> None:
        other = items.copy()
        random.shuffle(other)

        assert (print_of(other) == print_of(items)) == is_same(other, items)

    @pytest.mark.parametrize(
        "change",
        [
            {"method": "PUT"},
            {"route": "cancel_checkout"},
            {"path": {"checkout_id": "cs_2"}},
            {"path": {"order_id": "cs_1"}},
            {"path": {}},
            {"actor": "agent:other"},
            {"actor": "merchant:bot"},
        ],
        ids=str,
    )
    def test_changes_with_who_asks_for_what(self, change: dict[str, Any]) -> None:
        assert print_of(PAYMENT, **change) != print_of(PAYMENT)

    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ({}, None),
            ({}, []),
            ({"a": None}, {}),
            ({"a": 1}, {"a": "1"}),
            ({"a": 1}, {"a": True}),
            ({"a": 0}, {"a": False}),
            ({"a": 0}, {"a": None}),
            ({"a": ""}, {"a": None}),
            ({"a": 1}, {"a": -1}),
            ({"a": "b"}, {"a": "b "}),
            ({"a": "b"}, {"A": "b"}),
            ({"a": {"b": 1}}, {"a.b": 1}),
            ({"a": [[1], 2]}, {"a": [1, 2]}),
        ],
        ids=str,
    )
    def test_tells_apart_what_looks_alike(self, one: Any, other: Any) -> None:
        assert print_of(one) != print_of(other)

    def test_takes_two_unicode_normal_forms_for_two_texts(self) -> None:
        composed, decomposed = (unicodedata.normalize(form, "Zoë") for form in ("NFC", "NFD"))

        assert print_of({"name": composed}) != print_of({"name": decomposed})

    def test_takes_two_spellings_of_one_number_for_one(self) -> None:
        spellings = ["3500", "3500.0", "35e2", "3.5E+3"]

        assert len({print_of(json.loads(spelling)) for spelling in spellings}) == 1
        assert print_of(-0.0) == print_of(0)

    @pytest.mark.parametrize(
        "body",
        [
            2**53,
            -(2**53),
            10**400,
            float("nan"),
            float("inf"),
            "\ud800",
            {"\ud800": 1},
            {"a": ["\udfff"]},
        ],
        ids=str,
    )
    def test_refuses_what_readers_of_json_disagree_about(self, body: Any) -> None:
        with pytest.raises(Uncanonical):
            print_of(body)

    def test_refuses_what_is_nested_too_deep_to_be_spelt(self) -> None:
        deep: Any = 1
        for _ in range(100_000):
            deep = [deep]

        with pytest.raises(Uncanonical):
            print_of(deep)

    @pytest.mark.parametrize("number", [2**53 - 1, -(2**53) + 1])
    def test_takes_the_largest_safe_integers(self, number: int) -> None:
        assert print_of(number) != print_of(number // 2)
