"""Declares what can be asked of the page: addresses, their values, and what an answer is. Pure."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable, Mapping
from dataclasses import dataclass
from datetime import date
from typing import Literal, TypeAlias

from aouo.facts.errors import Refused
from aouo.plumbing.verbs import Facts

Method: TypeAlias = Literal["GET", "POST", "PUT", "DELETE"]
_WHOLE = re.compile(r"[0-9]{1,15}")
_DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_IN_PATH = re.compile(r"\{([a-z_]+)\}")
NAME_MAX = 300
"""Characters of a name in a path."""


class NotShown(Refused):
    """A request is refused with a sentence; `status` is that of HTTP."""

    status = 400


class NotFound(NotShown):
    """What the request names is not there."""

    status = 404


class Conflict(NotShown):
    """It cannot be done as things are."""

    status = 409


class TooLarge(NotShown):
    """What the request brings is more than is taken."""

    status = 413


@dataclass(frozen=True, slots=True)
class Number:
    """A whole number in an address, from `least` to `most`; without a default it may be absent."""

    name: str
    least: int
    most: int
    default: int | None
    about: str

    def of(self, query: Mapping[str, str]) -> int | None:
        """Return its value. Raises: ValueError, with a sentence."""
        if self.default is None and self.name not in query:
            return None
        written = query.get(self.name, str(self.default))
        number = int(written) if _WHOLE.fullmatch(written) else -1
        if not self.least <= number <= self.most:
            raise ValueError(f"{self.name} has to be a number from {self.least} to {self.most}.")
        return number

    @property
    def schema(self) -> Facts:
        bounds = {"type": "integer", "minimum": self.least, "maximum": self.most}
        return bounds if self.default is None else bounds | {"default": self.default}


@dataclass(frozen=True, slots=True)
class Words:
    """A text in an address, "" without it."""

    name: str
    about: str
    longest: int = NAME_MAX

    def of(self, query: Mapping[str, str]) -> str:
        """Return its value. Raises: ValueError, with a sentence."""
        written = query.get(self.name, "")
        if len(written) > self.longest or not is_text(written):
            raise ValueError(f"{self.name} has to be a text of {self.longest} characters at most.")
        return written

    @property
    def schema(self) -> Facts:
        return {"type": "string", "maxLength": self.longest, "default": ""}


@dataclass(frozen=True, slots=True)
class Choice:
    """One of some words in an address; the first is meant without it."""

    name: str
    options: tuple[str, ...]
    about: str

    def of(self, query: Mapping[str, str]) -> str:
        """Return its value. Raises: ValueError, with a sentence."""
        written = query.get(self.name, self.options[0])
        if written not in self.options:
            raise ValueError(f"{self.name} has to be one of {', '.join(self.options)}.")
        return written

    @property
    def schema(self) -> Facts:
        return {"type": "string", "enum": list(self.options), "default": self.options[0]}


@dataclass(frozen=True, slots=True)
class Day:
    """A date in an address, None without it."""

    name: str
    about: str

    def of(self, query: Mapping[str, str]) -> date | None:
        """Return its value. Raises: ValueError, with a sentence."""
        written = query.get(self.name, "")
        if not written:
            return None
        try:
            if _DAY.fullmatch(written):
                return date.fromisoformat(written)
        except ValueError:
            pass
        raise ValueError(f"{self.name} has to be a date such as 2026-03-31.")

    @property
    def schema(self) -> Facts:
        return {"type": "string", "format": "date"}


def is_text(value: str) -> bool:
    """Whether every store takes it: there is no NUL in it, and no half of a sign."""
    return "\0" not in value and not any("\ud800" <= sign <= "\udfff" for sign in value)


Parameter: TypeAlias = Number | Words | Choice | Day


@dataclass(frozen=True, slots=True)
class Answer:
    """Facts with another status than 200."""

    status: int
    facts: Facts


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


@dataclass(frozen=True, slots=True)
class Frames:
    """Events for as long as somebody listens; closed when they go."""

    frames: AsyncGenerator[Frame]


Answered: TypeAlias = Facts | Answer | Download | Frames


@dataclass(frozen=True, slots=True)
class Endpoint:
    """Something that can be asked. `answer` takes by name the names in the braces of `path`, the
    values of `query` and, with `body`, whatever else it names from the JSON object that the request
    brings: see `plumbing.verbs.fields_of`. What is uploaded comes as `content`, in pieces, if it
    `takes_file`.

    One that gives frames is asked for those after the last id that a browser has seen, if it has
    the parameter `after`.
    """

    method: Method
    path: str
    about: str
    answer: Callable[..., Awaitable[Answered]]
    query: tuple[Parameter, ...] = ()
    body: bool = False
    needs_token: bool = True
    gives: Literal["facts", "file", "frames"] = "facts"
    takes_file: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The names in the braces of the path."""
        return tuple(_IN_PATH.findall(self.path))

    @property
    def in_address(self) -> tuple[str, ...]:
        """The names of the values that stand in the address."""
        return (*self.names, *(one.name for one in self.query))
