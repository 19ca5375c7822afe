"""Make the trail append-only for whoever comes by SQL: no UPDATE, no DELETE, no TRUNCATE.

The one exception is a prune, which says so for its own transaction
(`SET LOCAL sarvex.prune_audit_before = '<RFC 3339 time>'`) and reaches only lines older than that.
"""

from __future__ import annotations

from django.db import migrations

FORWARD = """
CREATE FUNCTION audit_trail_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF TG_OP = 'DELETE'
       AND OLD.recorded_at
           < NULLIF(current_setting('sarvex.prune_audit_before', true), '')::timestamptz
    THEN
        RETURN OLD;
    END IF;
    RAISE EXCEPTION 'audit_trail_is_append_only: % on %', TG_OP, TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'audit_trail_is_append_only';
END $$;

CREATE TRIGGER audit_trail_is_append_only
    BEFORE UPDATE OR DELETE ON audit_mutationattempt
    FOR EACH ROW EXECUTE FUNCTION audit_trail_is_append_only();

-- A TRUNCATE passes row triggers by.
CREATE FUNCTION audit_trail_is_never_truncated() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'audit_trail_is_append_only: TRUNCATE on %', TG_TABLE_NAME
        USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'audit_trail_is_append_only';
END $$;

CREATE TRIGGER audit_trail_is_never_truncated
    BEFORE TRUNCATE ON audit_mutationattempt
    FOR EACH STATEMENT EXECUTE FUNCTION audit_trail_is_never_truncated();
"""

BACKWARD = """
DROP TRIGGER audit_trail_is_never_truncated ON audit_mutationattempt;
DROP FUNCTION audit_trail_is_never_truncated();
DROP TRIGGER audit_trail_is_append_only ON audit_mutationattempt;
DROP FUNCTION audit_trail_is_append_only();
"""


class Migration(migrations.Migration):
    """Two triggers on the trail."""

    dependencies = [("audit", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
