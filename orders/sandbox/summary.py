"""What an account's money came to: counted from its objects, not from the requests."""

from __future__ import annotations

from collections.abc import Iterable

from .accounts import Account
from .refunds import LOST

COUNTS = (
    "requests", "idempotency_keys", "replays", "conflicts", "payment_intents", "charges",
    "authorized", "captured", "declined", "canceled", "refunds", "disputes",
    "amount_charged", "amount_captured", "amount_refunded",
)  # fmt: skip


def summary(accounts: Iterable[Account], metadata: dict[str, str]) -> dict[str, int]:
    """Return counts and sums over the accounts, of what carries the metadata.

    `charges` counts every time that a card was really charged or authorised.
    """
    total = dict.fromkeys(COUNTS, 0)
    for account in accounts:
        for name, value in _of(account, metadata).items():
            total[name] += value
    return total


def _of(account: Account, metadata: dict[str, str]) -> dict[str, int]:
    intents = [one for one in account.intents if metadata.items() <= one.metadata.items()]
    known = {one.id for one in intents} if metadata else None
    charges = [one for one in account.charges if known is None or one.payment_intent in known]
    paid = [one for one in charges if one.paid]
    refunds = [
        one
        for one in account.refunds
        if one.status not in LOST and (known is None or one.payment_intent in known)
    ]
    return {
        "requests": account.tally.get("requests", 0),
        "idempotency_keys": len(account.keys.seen),
        "replays": account.tally.get("replays", 0),
        "conflicts": account.tally.get("conflicts", 0),
        "payment_intents": len(intents),
        "charges": len(paid),
        "authorized": sum(not one.captured and not one.released for one in paid),
        "captured": sum(one.captured for one in paid),
        "declined": len(charges) - len(paid),
        "canceled": sum(one.status == "canceled" for one in intents),
        "refunds": len(refunds),
        "disputes": len(account.disputes),
        "amount_charged": sum(one.amount for one in paid),
        "amount_captured": sum(one.amount_captured for one in paid),
        "amount_refunded": sum(one.amount for one in refunds),
    }
