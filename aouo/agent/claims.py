"""Tells whether an answer says that something was done: held against what was."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import cache

from aouo.facts import languages

_LOOKED_AT_CHARS, _SENTENCE_CHARS = 2000, 300
_OUR_LINE = re.compile(r"^[^\S\n]*✓ ", re.MULTILINE)
"""What only the runtime says, below an answer."""
_QUOTED = re.compile(r"[“„«\"`][^“”„«»\"`]*[“”»\"`]|^[^\S\n]*>.*$", re.MULTILINE)
_SENTENCE = re.compile(r"[^.!?;\n]+(?:(?<=\w)[.](?=\w)[^.!?;\n]+)*[.!?;]*")
_GAP = r"(?:(?!\b{stop}\b)[^,:.!?\n]){0,80}?"


_Speech = dict[str, re.Pattern[str]]
"""How a language says that something was done."""


@languages.derived
@cache
def _speeches() -> tuple[_Speech, ...]:
    tables = [languages.table(language, "claims") for language in languages.names()]
    return tuple(_speech(dict(table)) for table in tables if table)


def _speech(table: dict[str, list[str] | str]) -> _Speech:
    words = {
        key: _any_of(value.split() if isinstance(value, str) else value)
        for key in ("effects", "heard", "objects", "stop", "asks", "own", "unless", "past")
        for value in (table.get(key, ""),)
    }
    words["gap"] = _GAP.replace("{stop}", words["stop"])

    def pattern(*shapes: str) -> re.Pattern[str]:
        shape = "|".join(shapes) or "(?!)"
        for key, value in words.items():
            shape = shape.replace(f"{{{key}}}", value)
        return re.compile(shape, re.IGNORECASE | re.DOTALL)

    before, done = (_any_of(table.get(key, ())) for key in ("before", "done"))
    return {
        "begins": pattern(rf"^\W*(?:{before}\b[\s,.!:–—-]*)*"),
        "done": pattern(rf"{done}(?=\s*(?:[.!,;✓✅👍]|$))"),
        "claims": pattern(*(rf"\b(?:{shape})" for shape in table.get("claims", ()))),
        "states": pattern(
            rf"^(?!{words['heard']}\b[\W_]*$){words['effects']}\b{{gap}}[\W_]*$",
            r"^(?:\w+\s+)?{objects}\b{gap}\b{effects}\b",
            *table.get("states", ()),
        ),
        "unless": pattern(r"\b{unless}(?!\w)"),
        "past": pattern(r"\b{past}(?!\w)"),
        "asks": pattern(r"^\W*{asks}\b.*\?\s*$"),
        "own": pattern(r"\b(?:{own}|{effects})\b"),
    }


def _any_of(words: Iterable[str]) -> str:
    longest_first = sorted(words, key=len, reverse=True)
    return f"(?:{'|'.join(map(re.escape, longest_first)) or '(?!)'})"


def says_done(answer: str, asked: str, *, looked: bool) -> bool:
    """Whether an answer to the words `asked` says that something was changed or sent.

    Quotes are of others. A mere "noted" says that it was heard, a question about what is or was may
    be answered so, and a mere "done" may be about a look, where the turn had `looked`.
    """
    if _OUR_LINE.search(answer):
        return True
    speeches = _speeches()
    questions = [one for one in speeches if one["asks"].match(asked)]
    about_effects = any(one["own"].search(asked) for one in questions)
    for match in _SENTENCE.finditer(_QUOTED.sub(" ", answer[:_LOOKED_AT_CHARS])):
        sentence = match[0].strip()[:_SENTENCE_CHARS]
        ticked = bool(sentence) and unicodedata.category(sentence.strip(" *_-")[:1] or " ") == "So"
        if match[0].endswith("?") or (about_effects and not ticked):
            continue
        free = ticked or not questions
        if any(_claims(one, sentence, free=free, looked=looked) for one in speeches):
            return True
    return False


def _claims(speech: _Speech, sentence: str, *, free: bool, looked: bool) -> bool:
    """Whether a sentence says so; where it is not `free`, only in the first person."""
    words = speech["begins"].sub("", sentence)
    if not looked and free and speech["done"].match(words):
        return True
    if speech["past"].search(words):
        return False
    if (claim := speech["claims"].search(words)) and not speech["unless"].search(
        words[: claim.end()]
    ):
        return ":" not in words[: claim.start()]
    return free and bool(speech["states"].search(words)) and not speech["unless"].search(words)
