"""Checks what the page wishes to change of the configuration: its own keys, no program, no path."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from aouo.config.catalogue import Key
from aouo.config.changing import UNSET
from aouo.config.environment import references
from aouo.config.keys import unknown
from aouo.config.tokens import NO_BOT_TOKEN, is_token, names_variable
from aouo.plumbing.redact import REDACTED

_CHANGES_MAX = 500
BY_HAND = (
    "Only `aouo config set` or an editor changes this: the page names no programs, paths or "
    "addresses, and nobody to trust."
)
_DEEPEST = 20


class NotTaken(Exception):
    """A change is not the page's to make; `problems` say why, each with its key."""

    def __init__(self, *problems: str) -> None:
        super().__init__("; ".join(problems))
        self.problems = problems


def checked(
    changes: Mapping[str, object], keys: Mapping[str, Key]
) -> dict[tuple[str, ...], object]:
    """Return what is to be set by the path in parts, `UNSET` for null.

    Raises:
        NotTaken: a key is none, or none of the page's.
    """
    if not changes:
        raise NotTaken("nothing is changed")
    if len(changes) > _CHANGES_MAX:
        raise NotTaken(f"at most {_CHANGES_MAX} keys can be changed at a time")
    found = {path: _why_not(path, value, keys.get(path)) for path, value in changes.items()}
    if problems := [f"{path}: {why}" for path, why in found.items() if why]:
        raise NotTaken(*problems)
    return {keys[path].names: UNSET if value is None else value for path, value in changes.items()}


def _why_not(path: str, value: object, key: Key | None) -> str:
    if key is None:
        return unknown(path[:300]).removeprefix(f"{path[:300]}: ")
    if not key.on_page:
        return BY_HAND
    if value is None:
        return ""
    if key.kind == "secret":
        if not isinstance(value, str):
            return "a secret is a text"
        is_bad = path == "telegram.bot_token" and value and not is_token(value)
        return NO_BOT_TOKEN if is_bad and not names_variable(value) else ""
    return _trouble(value, _DEEPEST)


def _trouble(value: object, deepest: int) -> str:
    """Return why a value cannot be set from here, "" = it can."""
    if deepest == 0:
        return "it is nested too deep"
    match value:
        case str():
            if REDACTED in value:
                return f"{REDACTED} only stands for a secret that is not shown"
            hint = "only a secret can name an environment variable from here"
            return hint if references(value) else ""
        case dict():
            items = cast("dict[str, object]", value)
            return _first([*items, *items.values()], deepest)
        case list():
            return _first(cast("list[object]", value), deepest)
        case _:
            return ""


def _first(values: list[object], deepest: int) -> str:
    return next(filter(None, (_trouble(one, deepest - 1) for one in values)), "")
