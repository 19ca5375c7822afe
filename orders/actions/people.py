"""People who sign in: a merchant's members, and the back office's staff."""

from __future__ import annotations

import secrets

from django.contrib.auth.models import Group, User
from django.contrib.auth.password_validation import validate_password
from django.db import transaction

from orders.actions.merchants import NoSuchMerchant
from orders.models import Member, Merchant

STAFF_GROUPS = ["support", "finance", "auditor"]


class UsernameTaken(Exception):
    """Somebody has that name."""


@transaction.atomic(durable=True)
def create_member(*, merchant_id: str, username: str, password: str, role: str) -> str:
    """Create a person who may use one merchant's order pages, and return the password.

    Raises:
        NoSuchMerchant, UsernameTaken
        ValidationError: the password is too easy to guess.
    """
    merchant = Merchant.objects.filter(id=merchant_id).first()
    if merchant is None:
        raise NoSuchMerchant(f"there is no merchant {merchant_id}")
    user, password = _new_user(username, password, is_staff=False)
    Member.objects.create(user=user, merchant=merchant, role=role)
    return password


@transaction.atomic(durable=True)
def create_staff(*, username: str, password: str, group: str) -> str:
    """Create a person for the back office, in one of its groups, and return the password.

    Raises:
        UsernameTaken
        ValidationError: the password is too easy to guess.
    """
    user, password = _new_user(username, password, is_staff=True)
    user.groups.add(Group.objects.get_or_create(name=group)[0])
    return password


def _new_user(username: str, password: str, *, is_staff: bool) -> tuple[User, str]:
    if User.objects.filter(username=username).exists():
        raise UsernameTaken(f"there is a user {username} already")
    chosen = password or secrets.token_urlsafe(16)
    user = User(username=username, is_staff=is_staff)
    validate_password(chosen, user)
    user.set_password(chosen)
    user.save()
    return user, chosen
