"""Describes the endpoints as OpenAPI 3.1, from the same rows that answer them. Pure."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass

from aouo import __version__
from aouo.plumbing.verbs import Facts

_WHOLE = re.compile(r"[0-9]{1,9}")
_ANSWERS = {
    "200": "The facts.",
    "400": "A value is not what it has to be; `error` says which.",
    "401": "The token is missing or wrong.",
    "403": "Another page asks, or another name leads here.",
    "413": "There is too much to show.",
    "429": "Twenty wrong tokens came within a minute.",
}

_ANSWERS_FREE = {
    "200": "It is well.",
    "403": _ANSWERS["403"],
    "503": "It is not; `reasons` say why.",
}


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number in an address, from `least` to `most`."""

    name: str
    least: int
    most: int
    default: int
    about: str

    def of(self, query: Mapping[str, str]) -> int:
        """Return its value. Raises: ValueError, with a sentence."""
        written = query.get(self.name, str(self.default))
        number = int(written) if _WHOLE.fullmatch(written) else -1
        if not self.least <= number <= self.most:
            raise ValueError(f"{self.name} has to be a number from {self.least} to {self.most}.")
        return number


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Something that can be read: `read` takes the values of `query` by name, and returns a status
    and facts."""

    path: str
    about: str
    read: Callable[..., Awaitable[tuple[int, Facts]]]
    query: tuple[Number, ...] = ()
    needs_token: bool = True


def document(endpoints: Sequence[Endpoint]) -> Facts:
    """Return the document that describes the endpoints."""
    return {
        "openapi": "3.1.0",
        "info": {"title": "aouo", "version": __version__},
        "components": {
            "securitySchemes": {
                "bearer": {"type": "http", "scheme": "bearer"},
                "header": {"type": "apiKey", "in": "header", "name": "X-Aouo-Token"},
            }
        },
        "security": [{"bearer": []}, {"header": []}],
        "paths": {one.path: {"get": _operation(one)} for one in endpoints},
    }


def _operation(endpoint: Endpoint) -> Facts:
    answers = _ANSWERS if endpoint.needs_token else _ANSWERS_FREE
    facts: Facts = {
        "summary": endpoint.about,
        "parameters": [_parameter(number) for number in endpoint.query],
        "responses": {
            status: {
                "description": about,
                "content": {"application/json": {"schema": {"type": "object"}}},
            }
            for status, about in answers.items()
        },
    }
    return facts if endpoint.needs_token else {**facts, "security": []}


def _parameter(number: Number) -> Facts:
    return {
        "name": number.name,
        "in": "query",
        "description": number.about,
        "schema": {
            "type": "integer",
            "minimum": number.least,
            "maximum": number.most,
            "default": number.default,
        },
    }
