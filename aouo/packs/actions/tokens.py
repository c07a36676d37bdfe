"""Splits a text into words and signs as phrases compare them, by the spellings of all languages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache, lru_cache

from aouo.facts import languages
from aouo.facts.letters import UNSPACED, folded

_SIGNS = str.maketrans(
    {"“": '"', "”": '"', "„": '"', "«": '"', "»": '"', "’": "'", "‘": "'", "–": "-", "—": "-"}
)
ASKING = ("?", "？")
"""Marks at the end of a question."""
_LETTER = rf"[^\W_{UNSPACED}]"
_CHUNK, _CHUNK_MAX = re.compile(r"\S+"), 40
_OPENING, _CLOSING = frozenset("¿¡"), frozenset(".!…?。！？")
AROUND = _OPENING | _CLOSING


@dataclass(frozen=True, slots=True)
class Token:
    """A word, `folded`, and where it stands in its text."""

    folded: str
    start: int
    end: int


def tokens(text: str) -> list[Token]:
    """Return words and signs, without the marks around a sentence; words that are written as one
    are two, and one that lost its end before an apostrophe is whole: "d'" is "de"."""
    return _trimmed(
        [
            Token(token.folded, chunk.start() + token.start, chunk.start() + token.end)
            for chunk in _CHUNK.finditer(text)
            for token in _cut(chunk[0])
        ]
    )


@languages.derived
@lru_cache(maxsize=4_096)
def folded_words(text: str) -> tuple[str, ...]:
    """Return the same words and signs, folded; of parts of patterns, which come again and again."""
    split = _trimmed([token for chunk in text.split() for token in _cut(chunk)])
    return tuple(token.folded for token in split)


def _trimmed(split: list[Token]) -> list[Token]:
    while split and split[-1].folded in _CLOSING:
        split.pop()
    while split and split[0].folded in _OPENING:
        split.pop(0)
    return split


def _cut(chunk: str) -> tuple[Token, ...]:
    """Return the words and signs of what stands between blanks."""
    return (_split if len(chunk) <= _CHUNK_MAX else _split.__wrapped__)(chunk)


@languages.derived
@lru_cache(maxsize=16_384)
def _split(chunk: str) -> tuple[Token, ...]:
    words, elided = joined(), languages.pairs("spelling", "elided")
    split: list[Token] = []
    for match in _words().finditer(chunk.translate(_SIGNS)):
        word = folded(match.group())
        if match["elided"]:
            word = elided[match["elided"].casefold()]
        elif match["attached"]:
            word = word[1:]
        split += (Token(part, match.start(), match.end()) for part in words.get(word, (word,)))
    return tuple(split)


@languages.derived
@cache
def _words() -> re.Pattern[str]:
    elided = "|".join(languages.pairs("spelling", "elided")) or "(?!)"
    attached = "|".join(languages.words("spelling", "attached")) or "(?!)"
    return re.compile(
        rf"\d{{1,2}}:\d\d\b|[{UNSPACED}]|(?<!{_LETTER})(?P<elided>{elided})'"
        rf"|(?<={_LETTER})-(?P<attached>{attached})\b"
        rf"|{_LETTER}+(?:'{_LETTER}+|-(?!(?:{attached})\b){_LETTER}+)*|[^\w\s]",
        re.IGNORECASE,
    )


@languages.derived
@cache
def joined() -> Mapping[str, tuple[str, ...]]:
    """Return the words, folded, that stand for a word which is written in another way."""
    pairs = {**languages.pairs("spelling", "joined"), **languages.pairs("spelling", "short")}
    return {folded(word): tuple(folded(meant).split()) for word, meant in pairs.items()}


def typed(text: str) -> dict[str, str]:
    """Return the words of a pattern's text by how they are typed where a keyboard lacks a letter,
    both folded: "fuer" is "für"."""
    pairs = _typed()
    respelt = (
        (word, "".join(pairs.get(letter, letter) for letter in word))
        for word in re.findall(r"\w+", text.casefold())
    )
    return {folded(other): folded(word) for word, other in respelt if other != word}


@languages.derived
@cache
def _typed() -> Mapping[str, str]:
    pairs = languages.pairs("spelling", "typed")
    return {letter: letters for letters, letter in pairs.items()}


@languages.derived
@cache
def common() -> frozenset[str]:
    """Return the words, folded, that tell no two things apart."""
    return frozenset(map(folded, languages.words("phrases", "common")))
