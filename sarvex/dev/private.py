"""Files that only their owner may read, replaced in one step."""

from __future__ import annotations

import os
import secrets
from pathlib import Path


def write_private(path: Path, text: str) -> None:
    """Write `text` so that a reader sees the old or the new file, never half of one.

    Root writing into somebody's folder leaves a file that this somebody can still read.
    """
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        if os.geteuid() == 0:
            folder = path.parent.stat()
            os.chown(draft, folder.st_uid, folder.st_gid)
        draft.rename(path)
    finally:
        draft.unlink(missing_ok=True)
