"""A Procfile: one `name: command` on each line, `$NAME` out of the environment, no shell."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from pathlib import Path
from string import Template

from sarvex.dev.refusals import Refused

_LINE = re.compile(r"(?P<name>[a-z][a-z0-9_-]*):\s*(?P<command>\S.*)")


def commands_of(path: Path, environment: Mapping[str, str]) -> dict[str, list[str]]:
    """Return the words of each process's command.

    Raises:
        Refused: the file is missing, a line is not understood, or it names an unset variable.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except OSError as error:
        raise Refused(f"{path}: {error.strerror}") from None
    commands = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.lstrip().startswith("#"):
            continue
        match = _LINE.fullmatch(line.strip())
        if match is None:
            raise Refused(f"{path}, line {number}: not of the form `name: command`")
        try:
            words = [
                Template(word).substitute(environment) for word in shlex.split(match["command"])
            ]
        except KeyError as error:
            raise Refused(f"{path}, line {number}: {error.args[0]} is not set") from None
        except ValueError as error:
            raise Refused(f"{path}, line {number}: {error}") from None
        commands[match["name"]] = words
    return commands
