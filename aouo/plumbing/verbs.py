"""Verbs of the control socket, and what their requests have to hold."""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from typing import Any, TypeAlias

from aouo.facts.errors import SetupError

Facts: TypeAlias = dict[str, Any]
_Verb: TypeAlias = Callable[..., Awaitable[Facts] | AsyncGenerator[Facts]]
"""Takes the fields of its request by name. Gives one answer, or many until it ends or the client
has gone."""
Verbs: TypeAlias = Mapping[str, _Verb]
_KINDS: dict[str, type] = {"str": str, "bool": bool, "int": int, "dict": dict}
_IN_WORDS = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object"}


class BadRequest(SetupError):
    """A request lacks a field, or a field has another type."""


def fields_of(
    handler: Callable[..., Any], besides: Collection[str] = ()
) -> dict[str, tuple[type, bool]]:
    """Return what a handler takes, but for `besides`: name → (type, whether it is required).

    Types are texts, whole numbers, booleans and objects.
    """
    return {
        one.name: (_KINDS[str(one.annotation).partition("[")[0]], one.default is one.empty)
        for one in inspect.signature(handler).parameters.values()
        if one.name not in besides
    }


def arguments(
    handler: Callable[..., Any], raw: Mapping[str, Any], besides: Collection[str] = ()
) -> dict[str, Any]:
    """Return what a handler takes from `raw`, see `fields_of`; unknown keys are ignored, and what
    is in an object is not looked at.

    Raises:
        BadRequest: a field is missing or of another type; it says which, and quotes no value.
    """
    values: dict[str, Any] = {}
    for name, (kind, is_required) in fields_of(handler, besides).items():
        if name in raw:
            if type(raw[name]) is not kind:
                raise BadRequest(f"{name!r} has to be {_IN_WORDS[kind]}.")
            values[name] = raw[name]
        elif is_required:
            raise BadRequest(f"The request lacks {name!r}.")
    return values
