"""Hold every lifecycle forward-only for whoever comes by SQL, and keep money rows for good.

Each trigger names the rule it holds in the error's constraint field, as a constraint would.
"""

from __future__ import annotations

from django.db import migrations

# table, the rule's name, statuses a row may begin in, allowed edges, columns that never change
LIFECYCLES = [
    (
        "orders_order",
        "orders_move_forward_only",
        ["created", "confirmed"],
        [
            ("created", "confirmed"),
            ("created", "cancelled"),
            ("created", "refunded"),
            ("confirmed", "shipped"),
            ("confirmed", "refunded"),
        ],
        ["merchant_id", "checkout_id", "idempotency_key", "generation", "currency", "amount_total"],
    ),
    (
        "orders_operation",
        "operations_move_forward_only",
        ["accepted", "submitting"],
        [
            ("accepted", "submitting"),
            ("accepted", "cancelled"),
            ("submitting", "succeeded"),
            ("submitting", "failed"),
            ("submitting", "indeterminate"),
            ("indeterminate", "succeeded"),
            ("indeterminate", "failed"),
        ],
        [
            "merchant_id",
            "checkout_id",
            "type",
            "handler",
            "handler_key",
            "amount",
            "currency",
            "idempotency_key",
            "handler_request",
            "root_id",
            "record_id",
            "planned_order_id",
            "generation",
        ],
    ),
    (
        "orders_checkoutsession",
        "checkouts_move_forward_only",
        ["open"],
        [
            ("open", "completing"),
            ("open", "canceled"),
            ("open", "expired"),
            ("completing", "completed"),
            ("completing", "open"),
        ],
        ["merchant_id", "currency", "amount_total", "line_items", "capture"],
    ),
]


def _raise(rule: str, what: str) -> str:
    return (
        f"RAISE EXCEPTION '{rule}: {what}' USING"
        f" ERRCODE = 'integrity_constraint_violation', CONSTRAINT = '{rule}';"
    )


def forward(
    rule: str, table: str, first: list[str], edges: list[tuple[str, str]], fixed: list[str]
) -> str:
    """Return the SQL of one lifecycle's triggers."""
    begins = ", ".join(f"'{status}'" for status in first)
    allowed = ", ".join(f"('{old}', '{new}')" for old, new in edges)
    new, old = (", ".join(f"{row}.{column}" for column in fixed) for row in ("NEW", "OLD"))
    return f"""
CREATE FUNCTION {rule}() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE' THEN
        {_raise(rule, f"{table} keeps its rows")}
    END IF;
    IF TG_OP = 'INSERT' THEN
        IF NEW.status NOT IN ({begins}) THEN
            {_raise(rule, "a row may not begin in this status")}
        END IF;
        RETURN NEW;
    END IF;
    IF NEW.status IS DISTINCT FROM OLD.status
       AND (OLD.status, NEW.status) NOT IN ({allowed}) THEN
        RAISE EXCEPTION '{rule}: % to %', OLD.status, NEW.status USING
            ERRCODE = 'integrity_constraint_violation', CONSTRAINT = '{rule}';
    END IF;
    IF ({new}) IS DISTINCT FROM ({old}) THEN
        {_raise(rule, "what was agreed does not change")}
    END IF;
    RETURN NEW;
END $$;
CREATE TRIGGER {rule} BEFORE INSERT OR UPDATE OR DELETE ON {table}
    FOR EACH ROW EXECUTE FUNCTION {rule}();
"""


def backward(rule: str, table: str) -> str:
    """Return the SQL that takes one lifecycle's triggers away."""
    return f"DROP TRIGGER {rule} ON {table}; DROP FUNCTION {rule}();"


class Migration(migrations.Migration):
    """One trigger for each lifecycle."""

    dependencies = [("orders", "0001_initial")]
    operations = [
        migrations.RunSQL(forward(rule, table, first, edges, fixed), backward(rule, table))
        for table, rule, first, edges, fixed in LIFECYCLES
    ]
