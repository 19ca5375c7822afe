"""Stripe's form encoding, read into nested dictionaries of strings, and values out of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

from .errors import invalid

Form = dict[str, Any]  # values are strings or further forms; a list is a form with number names

# https://docs.stripe.com/metadata
METADATA_KEYS, METADATA_NAME, METADATA_VALUE = 50, 40, 500


def names(*told: str) -> frozenset[str]:
    """Return the words of these lines."""
    return frozenset(" ".join(told).split())


def parse(encoded: str) -> tuple[Form, tuple[tuple[str, str], ...]]:
    """Return the nested form, and its flat pairs in order of name."""
    pairs = []
    for piece in encoded.split("&"):
        if piece:
            name, _, value = piece.partition("=")
            pairs.append((_decoded(name), _decoded(value)))
    form: Form = {}
    for name, value in pairs:
        if "[" in name:
            _put(form, name, value)
        else:
            form[name] = value
    pairs.sort()
    return form, tuple(pairs)


def _decoded(text: str) -> str:
    if "+" in text:
        text = text.replace("+", " ")
    if "%" not in text:
        return text
    try:
        return unquote_to_bytes(text).decode()
    except UnicodeDecodeError:
        raise invalid("The request is not valid UTF-8.") from None


def _put(form: Form, name: str, value: str) -> None:
    base, _, rest = name.partition("[")
    if not rest.endswith("]"):
        raise invalid(f"Invalid parameter name: {name}", param=name)
    keys = [base, *rest[:-1].split("][")]
    into = form
    for key in keys[:-1]:
        inner = into.setdefault(key or str(len(into)), {})
        if not isinstance(inner, dict):
            raise invalid(f"Invalid hash: {name}", param=base)
        into = inner
    last = keys[-1] or str(len(into))
    if isinstance(into.get(last), dict):
        raise invalid(f"Invalid hash: {name}", param=base)
    into[last] = value


def only(form: Form, known: Iterable[str]) -> None:
    """Refuse a parameter that the endpoint does not have: 400 `parameter_unknown`."""
    unknown = [name for name in form if name not in known]
    if unknown:
        raise invalid(
            f"Received unknown parameter{'s' if len(unknown) > 1 else ''}: {', '.join(unknown)}",
            param=unknown[0],
            code="parameter_unknown",
        )


def string(form: Form, name: str, *, longest: int = 5000) -> str | None:
    """Return a string, None when absent or empty (Stripe reads an empty one as unset)."""
    value = form.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, str):
        raise invalid(f"Invalid string: {name}", param=name)
    if len(value) > longest:
        raise invalid(f"Invalid string: {name} may have {longest} characters at most", param=name)
    return value


def required(form: Form, name: str) -> str:
    """Return a string that must be there: else 400 `parameter_missing`."""
    value = string(form, name)
    if value is None:
        raise missing(name)
    return value


def missing(name: str) -> Exception:
    """Return the refusal of a request without this parameter."""
    return invalid(f"Missing required param: {name}.", param=name, code="parameter_missing")


def integer(form: Form, name: str, *, least: int | None = None) -> int | None:
    """Return an integer: else 400 `parameter_invalid_integer`."""
    value = form.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else ""
    digits = text.removeprefix("-")
    if not (digits.isascii() and digits.isdigit() and len(digits) < 19):
        raise invalid(f"Invalid integer: {text}", param=name, code="parameter_invalid_integer")
    number = int(text)
    if least is not None and number < least:
        raise invalid(
            f"This value must be greater than or equal to {least}.",
            param=name,
            code="parameter_invalid_integer",
        )
    return number


def boolean(form: Form, name: str) -> bool:
    """Return a boolean, false when absent."""
    value = form.get(name, "false")
    if value not in {"true", "false"}:
        raise invalid(f"Invalid boolean: {value}", param=name)
    return bool(value == "true")


def one_of(form: Form, name: str, allowed: Iterable[str], default: str | None) -> str | None:
    """Return one of the allowed words."""
    value = string(form, name)
    if value is None:
        return default
    if value not in allowed:
        raise invalid(f"Invalid {name}: must be one of {', '.join(allowed)}", param=name)
    return value


def many(form: Form, name: str) -> list[str]:
    """Return a list of strings, sent as `name[]` or `name[0]`."""
    value = form.get(name)
    if value is None or value == "":
        return []
    if not isinstance(value, dict) or not all(isinstance(one, str) for one in value.values()):
        raise invalid(f"Invalid array: {name}", param=name)
    return list(value.values())


def nested(form: Form, name: str, known: Iterable[str]) -> Form | None:
    """Return a hash of the known members."""
    value = form.get(name)
    if value is None or value == "":
        return None
    if not isinstance(value, dict):
        raise invalid(f"Invalid hash: {name}", param=name)
    for member in value:
        if member not in known:
            raise invalid(
                f"Received unknown parameter: {name}[{member}]",
                param=f"{name}[{member}]",
                code="parameter_unknown",
            )
    return value


def metadata(form: Form, before: dict[str, str] | None = None) -> dict[str, str]:
    """Merge metadata as Stripe does: an empty value removes its key, an empty hash all."""
    given = form.get("metadata")
    if given is None:
        return before if before is not None else {}
    if given == "":
        return {}
    if not isinstance(given, dict):
        raise invalid("Invalid metadata: it is a hash of strings", param="metadata")
    merged = dict(before or {})
    for name, value in given.items():
        if not isinstance(value, str) or not name:
            raise invalid("Metadata values are strings", param=f"metadata[{name}]")
        if len(name) > METADATA_NAME or len(value) > METADATA_VALUE:
            raise invalid(
                f"Metadata keys have up to {METADATA_NAME} characters, values {METADATA_VALUE}",
                param=f"metadata[{name}]",
            )
        merged[name] = value
        if value == "":
            del merged[name]
    if len(merged) > METADATA_KEYS:
        raise invalid(f"Metadata may have {METADATA_KEYS} keys at most", param="metadata")
    return merged
