"""Create the back office's groups."""

from __future__ import annotations

from django.db import migrations
from django.db.backends.base.schema import BaseDatabaseSchemaEditor
from django.db.migrations.state import StateApps

GROUPS = ["support", "finance", "auditor"]


def create(apps: StateApps, schema_editor: BaseDatabaseSchemaEditor) -> None:
    """Make the groups that are not there yet."""
    group = apps.get_model("auth", "Group")
    for name in GROUPS:
        group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    """Three groups; what each may do comes with the pages that it may use."""

    dependencies = [
        ("orders", "0002_forward_only"),
        ("auth", "0012_alter_user_first_name_max_length"),
    ]
    operations = [migrations.RunPython(create, migrations.RunPython.noop)]
