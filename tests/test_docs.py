"""The documents say what the code does: nothing is left out, and no link leads nowhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from urllib.parse import unquote

import pytest
from django.urls import URLPattern, get_resolver
from django.urls.resolvers import RoutePattern

from orders.api import urls
from orders.errors import REFUSALS
from tests.processes import CHECKOUT

DOCS = CHECKOUT / "docs"
PAGES = sorted([*CHECKOUT.glob("*.md"), *CHECKOUT.glob("requirements/*.md"), *DOCS.rglob("*.md")])
SETTINGS = (CHECKOUT / "sarvex" / "settings.py").read_text("utf-8")
# A page, a heading of it, or both; not an address elsewhere.
LINK = re.compile(r"\[[^\]]*\]\((?!\w+:)([^)#\s]*)(?:#([^)\s]*))?\)")
CODE = re.compile(r"^```.*?^```$|`[^`\n]*`", re.MULTILINE | re.DOTALL)
CODE_BLOCK = re.compile(r"^```.*?^```$", re.MULTILINE | re.DOTALL)
VARIABLE = re.compile(r"\b(?:env\.\w+|seconds|whole|switch|url)\(\s*\"([A-Z][A-Z_]+)\"")
ROUTE = re.compile(r"^### (GET|POST|PUT|PATCH|DELETE) (/\S*)$", re.MULTILINE)
ERROR = re.compile(r"^\| `(\w+)` \| (\d{3}) \| (yes|no) \|", re.MULTILINE)
VERSION = re.compile(r"^## (\d+\.\d+\.\d+)", re.MULTILINE)


def read(*parts: str) -> str:
    """Return a document's text."""
    return CHECKOUT.joinpath(*parts).read_text("utf-8")


def name_of(page: Path) -> str:
    """Return a page's path inside the checkout."""
    return str(page.relative_to(CHECKOUT))


def anchors(page: Path) -> set[str]:
    """Return the names under which a page's headings can be linked to, as GitHub makes them."""
    found = re.findall(r"^#{1,6} (.+)$", CODE_BLOCK.sub("", page.read_text("utf-8")), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in found}


def routes() -> set[tuple[str, str]]:
    """Return every method and path of the API, with parameters as the documents spell them."""
    found = set()
    for pattern in urls.urlpatterns:
        path = re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern))
        path = "/" + path.replace("{merchant_id}", "{m}")
        view = pattern.callback.view_class  # type: ignore[attr-defined]
        methods = {
            name for name in ("get", "post", "put", "patch", "delete") if hasattr(view, name)
        }
        found |= {(method.upper(), path) for method in methods}
    return found


def variables() -> set[str]:
    """Return every environment variable that the settings read."""
    return set(VARIABLE.findall(SETTINGS))


class TestLinks:
    """Every page."""

    @pytest.mark.parametrize("page", PAGES, ids=name_of)
    def test_lead_somewhere(self, page: Path) -> None:
        for target, anchor in LINK.findall(CODE.sub("", page.read_text("utf-8"))):
            aim = (page.parent / unquote(target)).resolve() if target else page
            assert aim.exists(), f"{name_of(page)} links to {target}"
            assert aim.is_relative_to(CHECKOUT), f"{name_of(page)} links out of the checkout"
            if anchor:
                assert unquote(anchor) in anchors(aim), f"{name_of(page)} links to #{anchor}"

    @pytest.mark.parametrize("page", PAGES, ids=name_of)
    def test_leave_nothing_to_do_behind(self, page: Path) -> None:
        assert not re.search(r"\b(TODO|FIXME|XXX|TBD)\b", page.read_text("utf-8"))


class TestApiDocument:
    """docs/api.md."""

    def test_has_every_route_of_the_api_and_no_other(self) -> None:
        assert set(ROUTE.findall(read("docs", "api.md"))) == routes()

    def test_has_every_error_with_its_status_and_advice(self) -> None:
        told = {
            code: (int(status), retryable == "yes")
            for code, status, retryable in ERROR.findall(read("docs", "api.md"))
        }
        assert told == {code: (kind.status, kind.retryable) for code, kind in REFUSALS.items()}

    def test_names_the_addresses_beside_the_api(self) -> None:
        page = read("docs", "api.md")
        outside = [
            str(pattern.pattern)
            for pattern in get_resolver().url_patterns
            if isinstance(pattern, URLPattern) and isinstance(pattern.pattern, RoutePattern)
        ]
        assert outside
        assert [path for path in outside if f"`GET /{path}`" not in page] == []


class TestOperationsDocument:
    """docs/operations.md."""

    def test_has_every_variable_that_the_settings_read(self) -> None:
        page = read("docs", "operations.md")
        assert len(variables()) > 15
        assert [name for name in sorted(variables()) if f"| `{name}` |" not in page] == []

    def test_has_no_variable_that_nothing_reads(self) -> None:
        listed = re.findall(r"^\| `([A-Z][A-Z_]+)` \|", read("docs", "operations.md"), re.MULTILINE)
        assert set(listed) == variables()

    def test_has_every_command(self) -> None:
        page = read("docs", "operations.md")
        commands = [
            path.stem
            for path in CHECKOUT.glob("*/management/commands/*.py")
            if path.stem != "__init__"
        ]
        assert commands
        assert [name for name in sorted(commands) if f"| `{name}" not in page] == []


class TestEnvExample:
    """.env.example."""

    def test_has_every_variable_that_the_settings_read(self) -> None:
        example = read(".env.example")
        named = set(re.findall(r"^#?\s*([A-Z][A-Z_]+)=", example, re.MULTILINE))
        assert variables() - named == set()


class TestReadmeAndChangelog:
    """What newcomers and the API's readers see first."""

    def test_says_effectively_once(self) -> None:
        assert "effectively once" in read("README.md")

    def test_lists_every_make_command(self) -> None:
        commands = re.findall(r"^(\w+):.*?## ", read("Makefile"), re.MULTILINE)
        page = read("README.md")
        assert commands
        assert [name for name in commands if f"| `make {name}` |" not in page] == []

    def test_has_an_entry_for_the_version(self) -> None:
        version = tomllib.loads(read("pyproject.toml"))["project"]["version"]
        assert version in VERSION.findall(read("CHANGELOG.md"))


class TestDecisions:
    """docs/decisions."""

    @pytest.mark.parametrize("page", sorted((DOCS / "decisions").glob("*.md")), ids=name_of)
    def test_have_a_number_and_their_four_parts(self, page: Path) -> None:
        text = page.read_text("utf-8")
        assert re.match(rf"# {page.name[:4]}:? \w", text)
        for part in ("Context", "Decision", "Consequences", "Rejected"):
            assert f"\n## {part}\n" in text, f"{page.name} does not say {part}"

    def test_have_one_number_each(self) -> None:
        numbers = [page.name[:4] for page in (DOCS / "decisions").glob("*.md")]
        assert len(numbers) == len(set(numbers))
