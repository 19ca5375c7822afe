"""Currencies: which exist, and how many minor units their main unit has (ISO 4217)."""

from __future__ import annotations

from iso4217 import Currency

# Funds, metals, bond units and test codes have no minor units and are nobody's price.
EXPONENTS: dict[str, int] = {
    currency.code.lower(): int(currency.exponent)
    for currency in Currency
    if currency.exponent is not None
}


def is_currency(code: str) -> bool:
    """Whether this is the lower-case code of a currency that prices can be in."""
    return code in EXPONENTS
