"""Let an answered record stand as it is: nobody rewrites an answer or takes it back.

The one change allowed is forgetting the body after its window, which a prune does.
"""

from __future__ import annotations

from django.db import migrations

FORWARD = """
CREATE FUNCTION stored_answers_stand() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF (NEW.merchant, NEW.key, NEW.generation, NEW.fingerprint, NEW.actor, NEW.first_seen_at)
       IS DISTINCT FROM
       (OLD.merchant, OLD.key, OLD.generation, OLD.fingerprint, OLD.actor, OLD.first_seen_at)
    THEN
        RAISE EXCEPTION 'stored_answers_stand: a key keeps its meaning'
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'stored_answers_stand';
    END IF;
    IF OLD.state = 'answered' AND (
        (NEW.state, NEW.answer_status, NEW.answered_at, NEW.expires_at, NEW.result_id)
        IS DISTINCT FROM
        (OLD.state, OLD.answer_status, OLD.answered_at, OLD.expires_at, OLD.result_id)
        OR NEW.answer_headers IS DISTINCT FROM OLD.answer_headers
        OR (NEW.answer_body IS DISTINCT FROM OLD.answer_body
            AND NOT (NEW.answer_body IS NULL AND OLD.expires_at < now()))
    ) THEN
        RAISE EXCEPTION 'stored_answers_stand: key % has its answer', OLD.key
            USING ERRCODE = 'integrity_constraint_violation', CONSTRAINT = 'stored_answers_stand';
    END IF;
    RETURN NEW;
END $$;

CREATE TRIGGER stored_answers_stand
    BEFORE UPDATE ON idempotency_idempotencyrecord
    FOR EACH ROW EXECUTE FUNCTION stored_answers_stand();
"""

BACKWARD = """
DROP TRIGGER stored_answers_stand ON idempotency_idempotencyrecord;
DROP FUNCTION stored_answers_stand();
"""


class Migration(migrations.Migration):
    """One trigger on the records."""

    dependencies = [("idempotency", "0001_initial")]
    operations = [migrations.RunSQL(FORWARD, BACKWARD)]
