"""Finds a sentence by its name in the catalogue of a language, and fills in its parts.

A catalogue is one YAML file, `en.yml`: a second language is a second file. A sentence that depends
on a number has one text for each plural form of its language, by the names of Unicode's CLDR, and
is chosen by its part `count`. `plurals.json` holds the rules of all languages, written by
`scripts/plurals` from Babel's copy of CLDR as gettext's plural expressions.
"""

from __future__ import annotations

import gettext
import json
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any, cast

from aouo.facts.ports import ButtonSpec, Rendered

LIMIT_UNITS = 4096
"""The longest message, in UTF-16 units."""
_OF_PACKAGE = files("aouo.words")


def text(name: str, /, **parts: object) -> str:
    """Return the sentence `name` ("install.installed") with its parts filled in.

    Raises:
        KeyError: there is no such sentence, or it has a part that was not given.
    """
    found = _catalogue("en")[name]
    if not isinstance(found, str):
        found = found[plural_form("en", cast("int", parts["count"]))]
    return found.format(**parts)


def say(name: str, /, *rows: Sequence[ButtonSpec], **parts: object) -> Rendered:
    """Return the sentence `name` as a message with rows of buttons."""
    return message(text(name, **parts), *rows)


def message(shown: str, *rows: Sequence[ButtonSpec]) -> Rendered:
    """Return a text as a message with buttons; without formatting, so Telegram refuses none of it.

    What it quotes may be long: the text is cut at the length of a message.
    """
    units = shown.encode("utf-16-le", "replace")
    if len(units) > 2 * LIMIT_UNITS:
        shown = units[: 2 * (LIMIT_UNITS - 1)].decode("utf-16-le", "ignore") + "…"
    return Rendered(shown, (), tuple(tuple(row) for row in rows), 0, False)


def plural_form(language: str, count: int) -> str:
    """Return the plural form of a language for a number: `zero one two few many` or `other`."""
    names, choose = _plurals(language)
    return names[choose(count)]


@cache
def _catalogue(language: str) -> dict[str, str | Mapping[str, str]]:
    import yaml

    read = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    groups = yaml.load((_OF_PACKAGE / f"{language}.yml").read_text("utf-8"), read)
    return {
        f"{group}.{name}": sentence
        for group, sentences in groups.items()
        for name, sentence in sentences.items()
    }


@cache
def _plurals(language: str) -> tuple[list[str], Callable[[int], int]]:
    rules = cast("dict[str, Any]", json.loads((_OF_PACKAGE / "plurals.json").read_text("utf-8")))
    names, expression = rules.get(language, rules["en"])
    return names, gettext.c2py(expression)
