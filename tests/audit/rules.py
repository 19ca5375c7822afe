"""Break rules of the database, and show that it is the rule itself that refuses.

A violation is tried twice: with its rule in place, where the error must name the rule, and with
nothing but that rule lifted, where the same statements must pass. Everything is rolled back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, cast

import psycopg
from django.apps import apps
from django.db import IntegrityError, connection, transaction

_TRIGGERS = """
SELECT tgname FROM pg_trigger JOIN pg_class ON pg_class.oid = tgrelid
WHERE NOT tgisinternal AND relname = ANY(%s)
"""
_LIFT = """
SELECT format('ALTER TABLE %%s DROP CONSTRAINT %%I', conrelid::regclass, conname)
FROM pg_constraint WHERE conname = %(rule)s
UNION ALL
SELECT format('DROP INDEX %%s', indexrelid::regclass)
FROM pg_index WHERE indisunique AND indexrelid::regclass::text = %(rule)s
 AND NOT EXISTS (SELECT 1 FROM pg_constraint WHERE conindid = indexrelid)
UNION ALL
SELECT format('DROP TRIGGER %%I ON %%s', tgname, tgrelid::regclass)
FROM pg_trigger WHERE tgname = %(rule)s
"""


@dataclass(frozen=True)
class Violation:
    """One way to break a rule; `how` finishes the sentence "this rule is broken by …"."""

    rule: str
    how: str
    breaks: Callable[[], object]
    # Two triggers may hold one rule between them: then the error names the rule.
    says: str = ""

    def __str__(self) -> str:
        return f"{self.rule}: {self.how}"


@contextmanager
def undone() -> Iterator[None]:
    """Run a block in a transaction that leaves nothing behind."""
    with transaction.atomic():
        yield
        transaction.set_rollback(True)


def refused_by(breaks: Callable[[], object]) -> str:
    """Return the name of the rule that refuses, or "" where nothing does; leaves nothing behind."""
    try:
        with undone():
            breaks()
    except IntegrityError as error:
        cause = cast("psycopg.Error", error.__cause__)
        return cause.diag.constraint_name or "nameless"
    return ""


def refused_without(violation: Violation) -> str:
    """Do the same with the violation's own rule lifted."""

    def without_the_rule() -> None:
        lift(violation.rule)
        violation.breaks()

    return refused_by(without_the_rule)


def lift(rule: str) -> None:
    """Drop a constraint, a unique index or a trigger until the transaction is rolled back."""
    with connection.cursor() as cursor:
        cursor.execute(_LIFT, {"rule": rule})
        [[statement]] = cursor.fetchall()
        cursor.execute(statement)


def rules_of(app: str) -> set[str]:
    """Return the names of an app's constraints and triggers: what its models and tables have."""
    models = list(apps.get_app_config(app).get_models())
    with connection.cursor() as cursor:
        cursor.execute(_TRIGGERS, [[model._meta.db_table for model in models]])
        triggers = {name for [name] in cursor.fetchall()}
    return triggers | {rule.name for model in models for rule in model._meta.constraints}


def sql(statement: str, *parameters: Any) -> int:
    """Do what somebody at a database prompt would do, and return how many rows it reached."""
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return cursor.rowcount
