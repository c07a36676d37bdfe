"""Verbs of the control socket: the request and the handler of each."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import MISSING, dataclass, fields
from typing import Any, Generic, TypeAlias, TypeVar, get_origin, get_type_hints

from aouo.facts.errors import SetupError

Facts: TypeAlias = dict[str, Any]
_R = TypeVar("_R")
_IN_WORDS = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object"}


class BadRequest(SetupError):
    """A request lacks a field, or a field has another type."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """A request without fields."""


@dataclass(frozen=True, slots=True)
class Verb(Generic[_R]):
    """A verb with one answer. `request` is a dataclass of texts, whole numbers and booleans."""

    request: type[_R]
    handler: Callable[[_R], Awaitable[Facts]]

    async def __call__(self, raw: Mapping[str, Any]) -> Facts:
        """Return the handler's answer. Raises: BadRequest, and what the handler raises."""
        return await self.handler(parsed(self.request, raw))


@dataclass(frozen=True, slots=True)
class Stream(Generic[_R]):
    """A verb with many answers, until the handler ends or the client has gone."""

    request: type[_R]
    handler: Callable[[_R], AsyncGenerator[Facts]]

    def __call__(self, raw: Mapping[str, Any]) -> AsyncGenerator[Facts]:
        """Return the handler's answers. Raises: BadRequest at once; the rest while iterating."""
        return self.handler(parsed(self.request, raw))


Verbs: TypeAlias = Mapping[str, Verb[Any] | Stream[Any]]


def parsed(request: type[_R], raw: Mapping[str, Any]) -> _R:
    """Parse `raw` into the request; unknown keys are ignored, and what is in an object is not
    looked at.

    Raises:
        BadRequest: a field is missing or of another type; it says which, and quotes no value.
    """
    types = get_type_hints(request)
    values: dict[str, Any] = {}
    for field in fields(request):  # pyright: ignore[reportArgumentType]
        if field.name not in raw:
            if field.default is MISSING:
                raise BadRequest(f"The request lacks {field.name!r}.")
            continue
        value, kind = raw[field.name], types[field.name]
        kind = get_origin(kind) or kind
        if type(value) is not kind:
            raise BadRequest(f"{field.name!r} has to be {_IN_WORDS[kind]}.")
        values[field.name] = value
    return request(**values)
