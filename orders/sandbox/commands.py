"""What a request to the control path carries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .accounts import Account
from .world import World


class Wrong(Exception):
    """A control request that cannot be done, and why."""

    def __init__(self, message: str, *, absent: bool = False) -> None:
        super().__init__(message)
        self.absent = absent


@dataclass(slots=True)
class Command:
    """The world, the id in the path, the JSON body and the query."""

    world: World
    id: str
    body: dict[str, Any]
    query: dict[str, str]

    def account_with(self, shelf: str, object_id: str) -> Account:
        """Return the account that has the object, which the body may name.

        Raises: Wrong when nobody has it.
        """
        account = self.world.accounts.with_object(
            lambda one: getattr(one, shelf).get(object_id), self.body.get("account")
        )
        if account is None:
            raise Wrong(f"nobody has {object_id}", absent=True)
        return account
