"""JSON out, and the choice of it: there is nothing else to choose from."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import orjson
from rest_framework.negotiation import BaseContentNegotiation
from rest_framework.parsers import BaseParser
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from orders.api.bodies import read_body


class JsonRenderer(BaseRenderer):
    """Renders plain values as JSON in UTF-8."""

    media_type = "application/json"
    format = "json"
    charset = None

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """Return the JSON text."""
        return b"" if data is None else orjson.dumps(data)


class JsonParser(BaseParser):
    """Names the one media type that bodies may have; `read_body` does the reading."""

    media_type = "application/json"

    def parse(
        self,
        stream: Any,
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return the body's value. Raises what `read_body` raises."""
        return read_body(stream)


class AlwaysJson(BaseContentNegotiation):
    """Answers in JSON whatever the Accept header says, as payment APIs do."""

    def select_parser(self, request: Request, parsers: Iterable[BaseParser]) -> BaseParser:
        """Return the JSON parser; `read_body` refuses other media itself."""
        return next(iter(parsers))

    def select_renderer(
        self,
        request: Request,
        renderers: Iterable[BaseRenderer],
        format_suffix: str | None = None,
    ) -> tuple[BaseRenderer, str]:
        """Return the JSON renderer."""
        renderer = next(iter(renderers))
        return renderer, renderer.media_type
