"""Which amounts Stripe takes in which currency (https://docs.stripe.com/currencies)."""

from __future__ import annotations

from .errors import invalid
from .forms import names

SUPPORTED = names(
    "usd aed afn all amd ang aoa ars aud awg azn bam bbd bdt bgn bhd bif bmd bnd bob brl bsd bwp "
    "byn bzd cad cdf chf clp cny cop crc cve czk djf dkk dop dzd egp etb eur fjd fkp gbp gel ghs "
    "gip gmd gnf gtq gyd hkd hnl htg huf idr ils inr isk jmd jod jpy kes kgs khr kmf krw kwd kyd "
    "kzt lak lbp lkr lrd lsl mad mdl mga mkd mmk mnt mop mur mvr mwk mxn myr mzn nad ngn nio nok "
    "npr nzd omr pab pen pgk php pkr pln pyg qar ron rsd rub rwf sar sbd scr sek sgd shp sle sos "
    "srd std szl thb tjs tnd top try ttd twd tzs uah ugx uyu uzs vnd vuv wst xaf xcd xof xpf yer "
    "zar zmw"
)
# Their last digit must be 0.
THREE_DECIMALS = frozenset({"bhd", "jod", "kwd", "omr", "tnd"})
# Charged in hundredths, though nothing but whole units exists.
WHOLE_UNITS = frozenset({"isk", "ugx"})
# The smallest charge; elsewhere Stripe converts fifty US cents, which we do not imitate.
SMALLEST = {
    "usd": 50, "aed": 200, "aud": 50, "bgn": 100, "brl": 50, "cad": 50, "chf": 50, "czk": 1500,
    "dkk": 250, "eur": 50, "gbp": 30, "hkd": 400, "huf": 17500, "inr": 50, "jpy": 50, "mxn": 1000,
    "myr": 200, "nok": 300, "nzd": 50, "pln": 200, "ron": 200, "sek": 300, "sgd": 50, "thb": 1000,
}  # fmt: skip
LARGEST = 99_999_999


def check_currency(currency: str) -> str:
    """Return the code in lower case, or refuse one that Stripe does not charge in."""
    low = currency.lower()
    if low not in SUPPORTED:
        raise invalid(f"Invalid currency: {currency}", param="currency")
    return low


def check_amount(amount: int, currency: str, *, param: str = "amount") -> int:
    """Return the amount, or refuse what Stripe does not charge."""
    smallest = SMALLEST.get(currency, 1)
    if amount < smallest:
        raise invalid(
            f"Amount must be at least {smallest} in the minor unit of {currency}",
            param=param,
            code="amount_too_small",
        )
    if amount > LARGEST:
        raise invalid(
            f"Amount must be no more than {LARGEST} in the minor unit of {currency}",
            param=param,
            code="amount_too_large",
        )
    check_divisible(amount, currency, param=param)
    return amount


def check_divisible(amount: int, currency: str, *, param: str = "amount") -> None:
    """Refuse digits that do not exist: three-decimal amounts end in 0, whole units in 00."""
    step = 10 if currency in THREE_DECIMALS else 100 if currency in WHOLE_UNITS else 1
    if amount % step:
        raise invalid(f"Invalid amount: in {currency} it must be divisible by {step}", param=param)
