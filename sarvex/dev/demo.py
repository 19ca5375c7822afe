"""The demonstration's merchant and people: made once for a database, shown at every start."""

from __future__ import annotations

import hashlib
import json
import secrets
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path

from sarvex.dev.console import show
from sarvex.dev.private import write_private
from sarvex.dev.refusals import Refused
from sarvex.dev.supervisor import Supervisor

MERCHANT = "demo"
ROLES = ("merchant", "agent", "operator")
# Who signs in: the order pages know members, the back office knows staff.
MEMBERS = {"demo-viewer": "viewer", "demo-manager": "manager"}
STAFF = {"support": "support", "finance": "finance", "auditor": "auditor"}


@dataclass
class Demo:
    """What a developer needs to use the demonstration; the database keeps only hashes of it."""

    database: str  # which database it was seeded into
    stripe_secret_key: str
    stripe_webhook_secret: str
    passwords: dict[str, str]
    api_keys: dict[str, str] = field(default_factory=dict)
    complete: bool = False


def path_in(home: Path) -> Path:
    """The file that keeps the demonstration's secrets for its owner."""
    return home / "demo.json"


def prepared(home: Path, database_url: str) -> Demo:
    """Return the demonstration of this database; its secrets are made up when there is none yet.

    They are written down before they are used, so that a seeding which was interrupted goes on
    where it was.
    """
    name = hashlib.sha256(database_url.encode()).hexdigest()[:16]
    demo = _read(home)
    if demo is None or demo.database != name:
        demo = Demo(
            database=name,
            stripe_secret_key=f"sk_test_{secrets.token_hex(16)}",
            stripe_webhook_secret=f"whsec_{secrets.token_hex(16)}",
            passwords={person: secrets.token_hex(6) for person in (*MEMBERS, *STAFF)},
        )
        _write(home, demo)
    return demo


def seed(demo: Demo, home: Path, supervisor: Supervisor) -> None:
    """Have the demonstration's merchant and people in the database.

    Raises:
        Refused: a command refused; the line has its reason.
    """
    if not demo.complete:
        demo.api_keys = _merchant_keys(demo, supervisor)
        _write(home, demo)
        _make_people(demo, supervisor)
        demo.complete = True
        _write(home, demo)


def tell(demo: Demo, address: str) -> None:
    """Print the addresses, sign-ins and keys; secrets of this machine's own demonstration."""
    show(f"""
  API            {address}   described at {address}/docs
  back office    {address}/admin/""")
    for person, group in STAFF.items():
        show(f"    staff        {person:14} {demo.passwords[person]}   ({group})")
    for person, role in MEMBERS.items():
        show(f"    member       {person:14} {demo.passwords[person]}   ({role} of {MERCHANT})")
    for role in ROLES:
        show(f"    API key      {role:14} {demo.api_keys[role]}")
    show("")


def _merchant_keys(demo: Demo, supervisor: Supervisor) -> dict[str, str]:
    """Create the merchant; one that an interrupted seeding created gets new keys."""
    create = _manage("create_merchant", MERCHANT, "--name", "Demo shop", "--currency", "usd")
    create += ["--stripe-secret-key", demo.stripe_secret_key]
    create += ["--stripe-webhook-secret", demo.stripe_webhook_secret, "--json"]
    try:
        printed = supervisor.ask(create, purpose="creating the demo merchant")
    except Refused:
        keys = {}
        for role in ROLES:
            more = _manage("create_api_key", MERCHANT, "--role", role, "--json")
            keys[role] = _api_key(supervisor.ask(more, purpose="creating an API key"))
        return keys
    answer = json.loads(printed or "{}")  # nothing, when we are told to end
    return {role: answer.get("api_keys", {}).get(role, "") for role in ROLES}


def _api_key(printed: str) -> str:
    return str(json.loads(printed or "{}").get("api_key", ""))


def _make_people(demo: Demo, supervisor: Supervisor) -> None:
    commands: list[tuple[str, ...]] = [
        ("create_member", MERCHANT, person, "--role", role, "--password", demo.passwords[person])
        for person, role in MEMBERS.items()
    ]
    commands += [
        ("create_staff", person, "--group", group, "--password", demo.passwords[person])
        for person, group in STAFF.items()
    ]
    for words in commands:
        try:
            supervisor.ask(_manage(*words), purpose="creating a sign-in")
        except Refused as refusal:
            if "already" not in str(refusal):  # of an interrupted seeding, with this password
                raise


def _manage(*words: str) -> list[str]:
    return [sys.executable, "manage.py", *words]


def _read(home: Path) -> Demo | None:
    try:
        return Demo(**json.loads(path_in(home).read_text("utf-8")))
    except (OSError, ValueError, TypeError):
        return None


def _write(home: Path, demo: Demo) -> None:
    write_private(path_in(home), json.dumps(asdict(demo), indent=1))
