"""What the environment says of the configuration: variables that override, fill or are named."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import cast

from aouo.config.keys import Tree, get, join, plain, put
from aouo.config.settings import Settings

# The first variable that is set fills the key when the file leaves it empty.
_USUAL_NAMES = {
    "telegram.bot_token": ("TELEGRAM_BOT_TOKEN",),
    "openai.api_key": ("OPENAI_API_KEY",),
    "groq.api_key": ("GROQ_API_KEY",),
    "gemini.api_key": ("GEMINI_API_KEY", "GOOGLE_API_KEY"),
}
_PREFIX = "AOUO_"
_REFERENCE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_CONTAINERS = ("{", "[")


def usual(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable that fills each key which the file leaves empty."""
    return {
        path: variable
        for path, names in _USUAL_NAMES.items()
        if (variable := next((name for name in names if environ.get(name)), ""))
    }


def overriding(environ: Mapping[str, str]) -> dict[str, str]:
    """Return the variable `AOUO_SECTION__FIELD` of each key that one overrides."""
    found: dict[str, str] = {}
    for variable in sorted(environ):
        section, nested, rest = variable.removeprefix(_PREFIX).partition("__")
        if variable.startswith(_PREFIX) and nested:
            found[".".join((section, *rest.split("__"))).lower()] = variable
    return found


def variable_of(path: str, overrides: Mapping[str, str]) -> str:
    """Return the variable that overrides the key at a path, or what it is in; "" = none does."""
    return next((overrides[key] for key in overrides if f"{path}.".startswith(f"{key}.")), "")


def overlay(tree: Tree, environ: Mapping[str, str]) -> list[str]:
    """Override the file's values by the environment's; lists are JSON or `a,b`.

    Returns the problems.
    """
    defaults = plain(Settings())
    problems: list[str] = []
    for path, variable in overriding(environ).items():
        value = environ[variable]
        if value.lstrip().startswith(_CONTAINERS):
            try:
                put(tree, path, json.loads(value))
            except json.JSONDecodeError as error:
                problems.append(f"{path}: not JSON: {error.msg}")
            except RecursionError:
                problems.append(f"{path}: not JSON: nested too deep")
        elif isinstance(get(defaults, path), list):
            put(tree, path, [part.strip() for part in value.split(",") if part.strip()])
        else:
            put(tree, path, value)
    return problems


def references(text: str) -> tuple[str, ...]:
    """Return the names of the variables that a text names as `${NAME}`."""
    return tuple(_REFERENCE.findall(text))


def expanded(tree: Tree, environ: Mapping[str, str], problems: list[str]) -> Tree:
    """Return `tree` with every `${NAME}` replaced from the environment; an unset name is added to
    the problems."""
    return cast("Tree", _expand(tree, environ, "", problems))


def _expand(value: object, environ: Mapping[str, str], path: str, problems: list[str]) -> object:
    def look_up(match: re.Match[str]) -> str:
        if match[1] not in environ:
            problems.append(f"{path}: the environment variable {match[1]} is not set")
        return environ.get(match[1], "")

    match value:
        case str():
            return _REFERENCE.sub(look_up, value) if "${" in value else value
        case list():
            items = enumerate(cast("list[object]", value))
            return [_expand(item, environ, join(path, n), problems) for n, item in items]
        case dict():
            fields = cast("Tree", value).items()
            return {
                name: _expand(item, environ, join(path, name), problems) for name, item in fields
            }
        case _:
            return value
