"""Declares what can be asked of the page, and describes that as OpenAPI 3.1."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from aouo import __version__
from aouo.facts.errors import Refused
from aouo.plumbing.control import Facts, fields_of

_Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
_WHOLE = re.compile(r"[0-9]{1,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_IN_PATH = re.compile(r"\{([a-z_]+)\}")
NAME_MAX = 300
"""Characters of a name in a path."""


class NotShown(Refused):
    """A request is refused with a sentence; `status` is that of HTTP. A plain `Refused` is 409: it
    cannot be done as things are."""

    status = 400

    def __init__(self, why: str, status: int = 0) -> None:
        super().__init__(why)
        self.status = status or self.status


class NotFound(NotShown):
    """What the request names is not there."""

    status = 404


@dataclass(frozen=True, slots=True)
class _Parameter:
    """A value in an address. `read` returns it from a query, or raises a ValueError with a
    sentence; `schema` is that of OpenAPI."""

    name: str
    about: str
    schema: Facts
    read: Callable[[Mapping[str, str]], object]


def number(name: str, least: int, most: int, default: int | None, about: str) -> _Parameter:
    """Return a whole number from `least` to `most`; without a default it may be absent."""

    def read(query: Mapping[str, str]) -> int | None:
        if default is None and name not in query:
            return None
        written = query.get(name, str(default))
        found = int(written) if _WHOLE.fullmatch(written) else -1
        if not least <= found <= most:
            raise ValueError(f"{name} has to be a number from {least} to {most}.")
        return found

    schema: Facts = {"type": "integer", "minimum": least, "maximum": most}
    return _Parameter(name, about, schema | ({} if default is None else {"default": default}), read)


def phrase(name: str, about: str, longest: int = NAME_MAX) -> _Parameter:
    """Return a text, "" without it."""

    def read(query: Mapping[str, str]) -> str:
        written = query.get(name, "")
        if len(written) > longest or not is_text(written):
            raise ValueError(f"{name} has to be a text of {longest} characters at most.")
        return written

    return _Parameter(name, about, {"type": "string", "maxLength": longest, "default": ""}, read)


def option(name: str, options: Sequence[str], about: str) -> _Parameter:
    """Return one of some words; the first is meant without it."""

    def read(query: Mapping[str, str]) -> str:
        written = query.get(name, options[0])
        if written not in options:
            raise ValueError(f"{name} has to be one of {', '.join(options)}.")
        return written

    schema: Facts = {"type": "string", "enum": list(options), "default": options[0]}
    return _Parameter(name, about, schema, read)


def day(name: str, about: str) -> _Parameter:
    """Return a date, None without it."""

    def read(query: Mapping[str, str]) -> date | None:
        written = query.get(name, "")
        if not written:
            return None
        with suppress(ValueError):
            if _DAY.fullmatch(written):
                return date.fromisoformat(written)
        raise ValueError(f"{name} has to be a date such as 2026-03-31.")

    return _Parameter(name, about, {"type": "string", "format": "date"}, read)


def is_text(value: str) -> bool:
    """Whether every store takes it: there is no NUL in it, and no half of a sign."""
    return "\0" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)


@dataclass(frozen=True, slots=True)
class Download:
    """A file; `size` in bytes, None = not known before its end."""

    name: str
    media_type: str
    content: AsyncIterable[bytes]
    size: int | None = None


@dataclass(frozen=True, slots=True)
class Frame:
    """One event of a stream; a browser that comes back says the last `id` it has seen."""

    event: str
    data: Facts
    id: str = ""


Answered: TypeAlias = Facts | tuple[int, Facts] | Download | AsyncGenerator[Frame]
"""Facts may come with another status than 200. Frames come for as long as somebody listens; they
are closed when they go."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Something that can be asked. `answer` takes by name the names in the braces of `path`, the
    values of `query` and, with `body`, whatever else it names from the JSON object that the request
    brings: see `plumbing.verbs.fields_of`. What is uploaded comes as `content`, in pieces, if it
    `takes_file`.

    The first paragraph of the docstring of `answer` says what it is about. One that gives frames
    is asked for those after the last id that a browser has seen, if it has the parameter `after`.
    """

    method: _Method
    path: str
    answer: Callable[..., Awaitable[Answered]]
    query: tuple[_Parameter, ...] = ()
    body: bool = False
    needs_token: bool = True
    gives: Literal["facts", "file", "frames"] = "facts"
    takes_file: bool = False

    @property
    def about(self) -> str:
        """What it answers: the first paragraph of the handler's docstring."""
        return " ".join((self.answer.__doc__ or "").partition("\n\n")[0].split())

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the braces of the path."""
        return tuple(_IN_PATH.findall(self.path))

    @property
    def in_address(self) -> tuple[str, ...]:
        """The names of the values that stand in the address."""
        return (*self.names, *(one.name for one in self.query))


_ANSWERS = {
    "200": "The facts.",
    "400": "A value is not what it has to be; `error` says which.",
    "401": "The token is missing or wrong.",
    "403": "Another page asks, or another name leads here, or the page's token is missing.",
    "404": "There is nothing of that name.",
    "409": "It cannot be done as things are; `error` says why.",
    "413": "There is too much to show, or to take.",
    "429": "Twenty wrong tokens came within a minute.",
}
_ANSWERS_FREE = {
    "200": "It is well.",
    "403": _ANSWERS["403"],
    "503": "It is not; `reasons` say why.",
}
_GIVES = {"facts": "application/json", "file": "*/*", "frames": "text/event-stream"}
_TYPES: dict[type, Facts] = {
    str: {"type": "string"},
    bool: {"type": "boolean"},
    int: {"type": "integer"},
    dict: {"type": "object"},
}


def document(endpoints: Sequence[Endpoint]) -> Facts:
    """Return the document that describes the endpoints."""
    paths: dict[str, Facts] = {}
    for one in endpoints:
        paths.setdefault(one.path, {})[one.method.lower()] = _operation(one)
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
        "paths": paths,
    }


def _operation(endpoint: Endpoint) -> Facts:
    answers = _ANSWERS if endpoint.needs_token else _ANSWERS_FREE
    facts: Facts = {
        "summary": endpoint.about,
        "parameters": [
            *(
                {"name": name, "in": "path", "required": True, "schema": _NAME}
                for name in endpoint.names
            ),
            *(
                {"name": one.name, "in": "query", "description": one.about, "schema": one.schema}
                for one in endpoint.query
            ),
        ],
        "responses": {
            status: {
                "description": about,
                "content": {
                    _GIVES[endpoint.gives if status == "200" else "facts"]: {
                        "schema": {} if status == "200" and endpoint.gives != "facts" else _OBJECT
                    }
                },
            }
            for status, about in answers.items()
        },
    }
    if endpoint.body:
        content = {"application/json": {"schema": _body_schema(endpoint)}}
        facts["requestBody"] = {"required": True, "content": content}
    if endpoint.takes_file:
        any_bytes: Facts = {"application/octet-stream": {"schema": {}}}
        facts["requestBody"] = {"required": True, "content": any_bytes}
    return facts if endpoint.needs_token else {**facts, "security": []}


_NAME: Facts = {"type": "string", "minLength": 1, "maxLength": NAME_MAX}
_OBJECT: Facts = {"type": "object"}


def _body_schema(endpoint: Endpoint) -> Facts:
    """Return the schema of the object that a request brings."""
    fields = fields_of(endpoint.answer, endpoint.in_address)
    return {
        "type": "object",
        "properties": {name: _TYPES[kind] for name, (kind, _) in fields.items()},
        "required": [name for name, (_, is_required) in fields.items() if is_required],
    }
