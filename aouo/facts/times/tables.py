"""Reads a language's table of times: which words are which items."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cache, lru_cache
from typing import Any, cast

from aouo.facts import languages, numbers
from aouo.facts.times.features import SHAPES
from aouo.facts.times.tokens import Features, Item, Token, figures, tokens_of, whole

_LISTS = ("weekday", "day", "nth")
_SPELT_MIN, _LONG, _SPELT_MAX, _ALIKE = 5, 8, 20, 0.86
_WORDS_MAX = 6


@dataclass(frozen=True, slots=True)
class Table:
    """The words of one language."""

    language: str
    entries: Mapping[str, Sequence[tuple[tuple[str, ...], Sequence[Item]]]]
    """By first token: the other tokens too, and what they are; the longest first."""
    near: Mapping[str, Sequence[str]]
    """Words that can be misspelt, by what is left of them without one letter or two."""
    slashed: str
    say: Mapping[str, Any]
    glue: frozenset[str] = frozenset()
    leading: frozenset[str] = frozenset()
    """Words that are glue only before more of a time: "to the"."""

    def items_at(self, tokens: Sequence[Token], at: int) -> Iterator[tuple[int, Item]]:
        """Yield what begins at a token: how many tokens it takes, and its item."""
        token = tokens[at]
        if token.kind not in ("word", "letter", "sign"):
            for item in figures(token, self.slashed):
                yield 1, item
            return
        longer = False
        entries = list(self._entries_at(tokens, at))
        if not all(items for _, items in entries):
            return  # a plain word
        for rest, items in entries:
            for category, value, cost in items:
                if category != "M" or token.glued:
                    yield 1 + len(rest), (category, value, cost + longer)
            longer = True
        yield from self._numbers(tokens, at)

    def _entries_at(
        self, tokens: Sequence[Token], at: int
    ) -> Iterator[tuple[tuple[str, ...], Sequence[Item]]]:
        for rest, items in self.entries.get(self.known(tokens[at]), ()):
            if rest == tuple(other.text for other in tokens[at + 1 : at + 1 + len(rest)]):
                yield rest, items

    def known(self, token: Token) -> str:
        """Return a token's word, or the word of the table that it misspells."""
        word = token.text
        may_be = token.kind == "word" and word.isalpha() and _SPELT_MIN <= len(word) <= _SPELT_MAX
        return _nearest(word, self.language) if may_be and word not in self.entries else word

    def _numbers(self, tokens: Sequence[Token], at: int) -> Iterator[tuple[int, Item]]:
        token = tokens[at]
        if token.kind == "letter":
            run = "".join(
                other.text
                for other in tokens[at : at + _WORDS_MAX]
                if other.glued or other is token
            )
            for length in range(len(run), 0, -1):
                if items := _number((run[:length],), self.language):
                    yield from ((length, item) for _, item in items)
                    return
            return
        if token.kind != "word" or not _numeric(token.text, self.language):
            return
        places = [n for n in range(at, min(len(tokens), at + _WORDS_MAX)) if tokens[n].text != "-"]
        for words, item in _number(tuple(tokens[n].text for n in places), self.language):
            yield places[words - 1] - at + 1, item


@languages.derived
@lru_cache(maxsize=4_096)
def _nearest(word: str, language: str) -> str:
    """Return the word of a table that a word misspells, else itself."""
    table = table_of(language)
    spellings: Mapping[str, Sequence[str]] = table.near if table else {}
    near = {near for key in _without_one(word) for near in spellings.get(key, ())}
    ratios = {
        other: SequenceMatcher(None, word, other).ratio() for other in near if other[0] == word[0]
    }
    best = max(ratios, key=lambda other: ratios[other], default=word)
    return best if ratios.get(best, 0) >= _ALIKE and not _numeric(word, language) else word


@languages.derived
@lru_cache(maxsize=4_096)
def _numeric(word: str, language: str) -> bool:
    """Whether a number or an ordinal can begin with a word."""
    return bool(_number((word,), language))


@languages.derived
@lru_cache(maxsize=4_096)
def _number(words: tuple[str, ...], language: str) -> tuple[tuple[int, Item], ...]:
    """Return the number or ordinal that words begin with."""
    items: list[tuple[int, Item]] = []
    number = numbers.spelled(words, language)
    if number and number[1]:
        value = float(number[0])
        is_whole = value == int(value) and value < 10**9
        options = whole(int(value)) if is_whole else [("N", value, 0)]
        items += [(number[1], item) for item in options]
        if is_whole and 10 <= value < 60:
            items.append((number[1], ("w", int(value), 0)))
        if number[1] > 1:
            items += _number(words[: number[1] - 1], language)
    elif numbers.spelled(words[:1], language, articles=True):
        items.append((1, ("a", 1, 0)))
    if (ordinal := numbers.ordinal(words, language)) and 0 < ordinal[0] < 32:
        items.append((ordinal[1], ("R", (ordinal[0],), 0)))
    return tuple(items)


@languages.derived
@cache
def table_of(language: str) -> Table | None:
    """Return a language's table; None: it has none."""
    words = languages.table(language, "times")
    return _built(language, words) if words else None


def _built(language: str, words: Mapping[str, Any]) -> Table:
    weak = {_key(word) for word in words.get("weak", ())}
    meanings: dict[tuple[str, ...], list[Item]] = {}
    for spelling, item in _all(words):
        key = _key(spelling)
        category, value, _ = item
        same = [known for known in meanings.get(key, ()) if known[0] == category]
        if category == "T":
            features = cast("Features", value)
            item = (category, features | {"weak": True} if key in weak else features, len(same))
        if item not in same and category:
            meanings.setdefault(key, []).append(item)
        elif not category:
            meanings[key] = []
    entries: dict[str, list[tuple[tuple[str, ...], list[Item]]]] = {}
    for key, items in meanings.items():
        entries.setdefault(key[0], []).append((key[1:], items))
    near: dict[str, list[str]] = {}
    for key, items in meanings.items():
        if len(key) == 1 and len(key[0]) >= _SPELT_MIN and {"T", "U"} & {i[0] for i in items}:
            for short in _short(key[0]):
                near.setdefault(short, []).append(key[0])
    for options in entries.values():
        options.sort(key=lambda entry: -len(entry[0]))
    glue, leading = (
        frozenset(" ".join(_key(word)) for word in words.get(group, ()))
        for group in ("glue", "leading")
    )
    return Table(language, entries, near, words.get("slashed", ""), words["say"], glue, leading)


def _all(words: Mapping[str, Any]) -> Iterator[tuple[str, Item]]:
    parts: list[tuple[str, Features]] = []
    days: list[tuple[str, Features]] = []
    for written, spellings in words["times"].items():
        features = _features(str(written))
        for spelling in map(str, spellings):
            yield spelling, ("T", features, 0)
            if features.keys() == {"part"} and spelling in words.get("joined", ()):
                parts.append((spelling, features))
            if features.keys() in ({"weekday"}, {"shift"}) and " " not in spelling:
                days.append((spelling, features))
    for day, features in days:
        yield from ((day + part, ("T", {**features, **rest}, 0)) for part, rest in parts)
    for spelling in words.get("last", ()):
        yield str(spelling), ("R", (-1,), 0)
    for group, category in SHAPES["categories"].items():
        listed = words.get(group, {})
        only = 2 if group == "other" else 0
        groups: Mapping[Any, Any] = listed if hasattr(listed, "items") else {only: listed}
        for name, spellings in groups.items():
            value: object = unit(str(name)) if category in ("U", "S") else name
            value = (0, name, 0) if category in ("j", "z") else value
            cost = int(category == "S")
            yield from ((str(spelling), (category, value, cost)) for spelling in spellings)


def unit(written: str) -> tuple[str, int, int, int]:
    """Return a unit such as "2week": its name, and its months, days and minutes."""
    count, name = re.fullmatch(r"(\d*)([a-z]+)", written).groups()  # pyright: ignore[reportOptionalMemberAccess]
    months, days, minutes = (int(count or 1) * size for size in SHAPES["units"][name])
    return written, months, days, minutes


def _features(written: str) -> Features:
    features: Features = {}
    for pair in written.split():
        name, _, value = pair.partition("=")
        if name in _LISTS:
            first, _, last = value.rpartition("-")
            numbers = range(int(first), int(last) + 1) if first else (int(value),)
            features[name] = tuple(numbers)
        elif name == "offset":
            features[name] = (0, int(value), 0)
        elif name == "every":
            features |= {name: unit(value)[1:]} | ({"counted": True} if value[0].isdigit() else {})
        elif name == "clock":
            hour, _, minute = value.partition(":")
            features[name] = ((int(hour), int(minute), "s"),)
        elif name == "period":
            size, _, count = value.partition("+")
            features[name] = (size, int(count))
        else:
            features[name] = int(value) if value.lstrip("-").isdecimal() else value
    return features


def _key(spelling: str) -> tuple[str, ...]:
    return tuple(token.text for token in tokens_of(str(spelling)))


def _without_one(word: str) -> set[str]:
    return {word, *(word[:n] + word[n + 1 :] for n in range(len(word)))}


def _short(word: str) -> set[str]:
    ones = _without_one(word)
    return ones if len(word) < _LONG else {two for one in ones for two in _without_one(one)}
