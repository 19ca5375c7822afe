"""What bodies may say. Strict: no coercion, no unknown members, integers only."""

from __future__ import annotations

import re
from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from orders.currencies import is_currency
from orders.models.checkouts import MOST

MOST_METADATA = 50


class Amount(serializers.IntegerField):
    """An integer; neither text, nor a float, nor true."""

    def __init__(self, *, least: int = 0, most: int = MOST, **options: Any) -> None:
        super().__init__(min_value=least, max_value=most, **options)

    def to_internal_value(self, data: Any) -> int:
        """Return the integer, or refuse what is not one."""
        if type(data) is not int:
            raise serializers.ValidationError("Must be an integer (minor units, no decimals).")
        return super().to_internal_value(data)


class Text(serializers.CharField):
    """Text as it was sent: not trimmed, and no number or truth value in its place."""

    def __init__(self, *, most: int = 500, **options: Any) -> None:
        super().__init__(max_length=most, trim_whitespace=False, **options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text, or refuse what is not text."""
        if not isinstance(data, str):
            raise serializers.ValidationError("Must be a string.")
        return super().to_internal_value(data)


class Matching(Text):
    """Text of a given pattern."""

    def __init__(self, pattern: str, message: str, **options: Any) -> None:
        self._pattern, self._message = re.compile(pattern), message
        super().__init__(**options)

    def to_internal_value(self, data: Any) -> str:
        """Return the text, or refuse what does not match."""
        text = super().to_internal_value(data)
        if not self._pattern.fullmatch(text):
            raise serializers.ValidationError(self._message)
        return text


@extend_schema_field({"type": "object", "additionalProperties": {"type": "string"}})
class Metadata(serializers.Field[Any, Any, Any, Any]):
    """Up to 50 names of up to 40 characters with values of up to 500, as Stripe takes them."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        """Return the metadata, or refuse what is not text by name."""
        if not isinstance(data, dict):
            raise serializers.ValidationError("Must be an object.")
        if len(data) > MOST_METADATA:
            raise serializers.ValidationError(f"May have {MOST_METADATA} members at the most.")
        for name, value in data.items():
            if not isinstance(value, str) or len(value) > 500 or not 1 <= len(name) <= 40:
                raise serializers.ValidationError(
                    f"{name[:40]!r}: names have 1 to 40 characters, values are text of up to 500."
                )
        return data

    def to_representation(self, value: Any) -> Any:
        """Return the metadata as it is."""
        return value


class Members(serializers.Serializer[Any]):
    """An object whose members are all known."""

    def to_internal_value(self, data: Any) -> Any:
        """Return the validated members, refusing those that nobody knows."""
        if not isinstance(data, dict):
            raise serializers.ValidationError({"non_field_errors": ["Must be an object."]})
        unknown = [name for name in data if name not in self.fields]
        if unknown:
            raise serializers.ValidationError({name: ["Unknown member."] for name in unknown})
        return super().to_internal_value(data)


class Buyer(Members):
    """Who buys."""

    email = serializers.EmailField(required=False, max_length=254)
    name = Text(required=False, most=200)
    phone = Text(required=False, most=40)


class Address(Members):
    """Where it goes."""

    name = Text(required=False, most=200)
    line1 = Text(most=200)
    line2 = Text(required=False, most=200, allow_blank=True)
    city = Text(required=False, most=100)
    state = Text(required=False, most=100)
    postal_code = Text(required=False, most=20)
    country = Matching(r"[A-Z]{2}", "Must be an ISO 3166-1 alpha-2 code, such as US.", most=2)
    phone = Text(required=False, most=40)


class LineItem(Members):
    """One kind of thing in the basket; `unit_amount` in minor units."""

    sku = Text(required=False, most=100)
    name = Text(required=False, most=200)
    quantity = Amount(least=1, most=1_000_000)
    unit_amount = Amount()


class CheckoutInput(Members):
    """The body of POST /checkout."""

    currency = Text(most=3)
    line_items = LineItem(many=True, allow_empty=False, max_length=500)  # type: ignore[call-arg]
    shipping_amount = Amount(required=False, default=0)
    tax_amount = Amount(required=False, default=0)
    discount_amount = Amount(required=False, default=0)
    buyer = Buyer(required=False, default=dict)
    shipping_address = Address(required=False, allow_null=True, default=None)
    capture = serializers.ChoiceField(["automatic", "manual"], required=False, default="automatic")
    expires_in = Amount(required=False, default=86_400, least=1, most=30 * 86_400)
    metadata = Metadata(required=False, default=dict)

    def validate_currency(self, code: str) -> str:
        """Refuse what is not a lower-case ISO 4217 code."""
        if not is_currency(code):
            raise serializers.ValidationError("Must be a lower-case ISO 4217 code, such as usd.")
        return code


class PaymentInput(Members):
    """With what to pay."""

    handler = Text(most=40)
    token = Matching(r"[\x21-\x7e]+", "Must be visible ASCII.", most=255)


class CompleteInput(Members):
    """The body of POST /checkout/{id}/complete."""

    payment = PaymentInput()
    expected_amount_total = Amount(required=False, least=1)
    buyer = Buyer(required=False)


class NothingInput(Members):
    """A body that may be absent, or an empty object."""
