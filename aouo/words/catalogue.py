"""Finds a sentence by its name in the catalogue of a language, and fills in its parts.

A catalogue is `sentences.yml` of a language's folder; whoever handles a person's message says
which is spoken, and what a language does not say is said in English. A sentence that depends on a
number has one text for each plural form of its language, by the names of Unicode's CLDR, and is
chosen by its part `count`. `plurals.json` holds the rules of all languages, written by
`scripts/plurals` from Babel's copy of CLDR as gettext's plural expressions.
"""

from __future__ import annotations

import gettext
import json
import re
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from functools import cache
from string import Formatter
from typing import Any, cast

from aouo.facts import languages, numbers
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.words.markdown.tables import LIMIT

LIMIT_UNITS = 4096
"""The longest message, in UTF-16 units."""
_SPOKEN: ContextVar[str] = ContextVar("language", default=languages.FIRST)


@contextmanager
def speaking(language: str) -> Generator[None]:
    """Say what is said within in a language, such as "de-AT"; one without a catalogue is English.

    Tasks and threads that begin within speak it, too.
    """
    token = _SPOKEN.set(languages.base_of(language))
    try:
        yield
    finally:
        _SPOKEN.reset(token)


def language() -> str:
    """Return what is spoken here."""
    return _SPOKEN.get()


def text(name: str, /, **parts: object) -> str:
    """Return the sentence `name` ("install.installed") with its parts filled in.

    Raises:
        KeyError: there is no such sentence, or it has a part that was not given.
    """
    found = _catalogue(language())[name]
    if not isinstance(found, str):
        found = found[plural(language(), cast("int", parts["count"]))]
    return _FORMATTER.format(found, **parts)


class _Formatter(Formatter):
    """Writes numbers with the marks of the language that is spoken."""

    def format_field(self, value: Any, format_spec: str) -> Any:
        written = super().format_field(value, format_spec)
        if not format_spec or not isinstance(value, int | float):
            return written
        decimal, thousands = numbers.marks(language())
        return written.translate({ord("."): decimal, ord(","): thousands.replace(" ", "\u202f")})


_FORMATTER = _Formatter()


def variants(name: str) -> tuple[str, ...]:
    """Return the ways to say one thing: `name-1`, `name-2` …"""
    found = _catalogue(language())
    return tuple(str(found[key]) for key in found if re.fullmatch(rf"{re.escape(name)}-\d+", key))


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


def plural(language: str, count: int) -> str:
    """Return the plural form of a language for a number: `zero one two few many` or `other`."""
    names, choose = _plurals(language)
    return names[choose(count)]


@languages.derived
@cache
def _catalogue(language: str) -> dict[str, str | Mapping[str, str]]:
    return {
        f"{group}.{name}": sentence
        for code in dict.fromkeys((languages.FIRST, language))
        for group, sentences in languages.table(code, "sentences").items()
        for name, sentence in sentences.items()
    }


@cache
def _plurals(language: str) -> tuple[list[str], Callable[[int], int]]:
    rules = cast(
        "dict[str, Any]", json.loads((languages.FOLDER / "plurals.json").read_text("utf-8"))
    )
    names, expression = rules.get(language, rules["en"])
    return names, gettext.c2py(expression)


_NAME_MAX = 80
_MARKS = frozenset("\\`*_{}[]()#+-.!|~<>$&=:@^")
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0")
_INVISIBLE = ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp")


def code(text: str, longest: int = _NAME_MAX) -> str:
    """Return a stranger's name in a code span, shortened."""
    return f"`{_one_line(text, longest).replace('`', '‘') or ' '}`"


def whole(text: str) -> str:
    """Return a stranger's name in a code span, uncut, for what a person agrees to."""
    return code(text, len(text))


def plain(text: str, longest: int = _NAME_MAX) -> str:
    """Return a stranger's words with every Markdown mark escaped.

    As numeric entities, since a backslash before a bracket begins a formula. Two bars become one
    character: they make a spoiler even if escaped.
    """
    line = _one_line(text, longest).replace("||", "‖")
    return "".join(f"&#{ord(c)};" if c in _MARKS else c for c in line)


def _one_line(text: str, longest: int) -> str:
    visible = "".join(" " if c.isspace() else "" if _is_unseen(c) else c for c in text)
    line = " ".join(visible.split())
    return line if len(line) <= longest else f"{line[: longest - 1]}…"


def _is_unseen(character: str) -> bool:
    return character in _BLANK or unicodedata.category(character) in _INVISIBLE


_SHOWN_CHARS = 400


def below(words: Rendered, line: str) -> Rendered:
    """Return `words` with a status line below, if there is room."""
    if not words.text:
        return Rendered(line, preview=False)
    both = replace(words, text=f"{words.text}\n\n{line}")
    return both if len(both.text.encode("utf-16-le", "replace")) <= 2 * LIMIT else words


def cut(text: str, longest: int) -> str:
    """Return a text on one line, shortened at its end."""
    line = " ".join(text.split())
    return line if len(line) <= longest else f"{line[: longest - 1].rstrip()}…"


def one_line(path: str, longest: int = _SHOWN_CHARS) -> str:
    """Return a path or a name on one line, without control characters, shortened."""
    shown = "".join(char if char.isprintable() else "?" for char in path)
    if len(shown) <= longest:
        return shown
    half = longest // 2
    return f"{shown[:half]}…{shown[-half:]}"
