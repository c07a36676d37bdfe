"""Cuts a text into tokens that keep their places, and reads those that are figures."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import datetime
from typing import TypeAlias

from aouo.facts.letters import folded

TOKENS_MAX = 400
Features: TypeAlias = dict[str, object]
Item: TypeAlias = tuple[str, object, int]
"""A category, its value, and how far-fetched it is (0 = not at all)."""

_TOKEN = re.compile(
    r"""
    (?P<iso>\d{4}-\d{2}-\d{2}[Tt ]\d{2}:\d{2}(?::\d{2}(?:\.\d+)?)?
        (?:[Zz]|[+-]\d{2}:?\d{2})?)(?![\d:])
  | (?P<ymd>\d{4}[-/.]\d{1,2}[-/.]\d{1,2})(?!\d)
  | (?P<dotted>\d{1,2}\.[ ]?\d{1,2}\.(?:[ ]?\d{4}(?!\d)|\d{2}(?!\d|:))?)(?!\d)
  | (?P<slashed>\d{1,2}/\d{1,2}(?:/(?:\d{4}|\d{2}))?|\d{1,2}-\d{1,2}-\d{4})(?![\d/])
  | (?P<clock>\d{1,2}[:\uff1a]\d{2}(?::\d{2})?)(?![\d:])
  | (?P<hours>\d{1,2}h\d{2})(?![\w:])
  | (?P<pair>\d{1,2}[.,]\d{1,2})(?![\d.,]?\d)
  | (?P<figures>\d+(?:[.,]\d+)*)
  | (?P<letter>[\u3040-\u30ff\u3400-\u9fff])
  | (?P<word>(?<=\d)[^\W\d_\u3040-\u30ff\u3400-\u9fff]+
        |[^\W\d_\u3040-\u30ff\u3400-\u9fff][^\W_\u3040-\u30ff\u3400-\u9fff]*)
  | (?P<sign>[^\w\s]|_)
    """,
    re.VERBOSE,
)
_SIGNS = {"’": "'", "‘": "'", "–": "-", "—": "-", "\uff1a": ":", "\uff0c": ","}


@dataclass(frozen=True, slots=True)
class Token:
    """A word, a sign or figures: folded, with its place in the text."""

    kind: str
    text: str
    start: int
    end: int
    glued: bool
    """Whether nothing parts it from the token before."""


def tokens_of(text: str) -> list[Token]:
    """Return the first tokens of a text."""
    tokens: list[Token] = []
    end = -1
    for match in _TOKEN.finditer(text):
        word = match.group()
        word = _SIGNS.get(word, word) if match.lastgroup == "sign" else folded(word)
        glued = match.start() == end
        tokens.append(Token(match.lastgroup or "", word, match.start(), match.end(), glued))
        end = match.end()
        if len(tokens) == TOKENS_MAX:
            break
    return tokens


def figures(token: Token, slashed: str = "") -> list[Item]:
    """Return what figures can mean; `slashed`: the order of dates with strokes, "" = unknown."""
    match token.kind:
        case "iso":
            return _exact(token.text)
        case "ymd":
            year, month, day = map(int, re.split(r"[-/.]", token.text))
            return [("T", {"year": year, "month": month, "day": (day,)}, 0)]
        case "dotted":
            return [("T", _date(re.findall(r"\d+", token.text)), 0)]
        case "slashed":
            return _slashed(token.text, slashed)
        case "clock":
            hour, minute = map(int, token.text.split(":")[:2])
            return [("T", clock_of(hour, minute, "x"), 0)] if hour < 25 and minute < 60 else []
        case "hours":
            hour, minute = map(int, token.text.split("h"))
            clock = clock_of(hour, minute, "x")
            items: list[Item] = [("S", ("minute", 0, 0, hour * 60 + minute), 0)]
            items += [("c", clock, 0)] * (hour < 25)
            weak = {} if hour > 6 else {"weak": True}  # "1h30" alone is rather a length
            items += [("T", clock | weak, 1)] * (hour < 25)
            return items if minute < 60 else []
        case "pair":
            return _pair(token.text)
        case "figures" if token.text.isdecimal() and len(token.text) < 10:
            return whole(int(token.text), four=len(token.text) == 4)
        case _:
            return []


def whole(number: int, *, four: bool = False) -> list[Item]:
    """Return what a whole number can mean."""
    items: list[Item] = [("N", number, 0)]
    if four and 1900 <= number < 2200:
        items.append(("y", number, 0))
    elif four and number < 2400 and number % 100 < 60:
        items.append(("c", clock_of(number // 100, number % 100, "x"), 0))
    if number <= 24:
        items.append(("T", {**clock_of(number, 0, "o"), "bare": True}, 4))
    return items


def clock_of(hour: int, minute: int = 0, mode: str = "o") -> Features:
    """Return the features of one clock; `mode`: how it was put."""
    return {"clock": ((hour, minute, mode),)}


def _exact(text: str) -> list[Item]:
    try:
        return [("T", {"exact": datetime.fromisoformat(text.upper())}, 0)]
    except ValueError:
        return []


def _date(numbers: list[str]) -> Features:
    day, month, *years = map(int, numbers)
    features: Features = {"day": (day,), "month": month}
    if years:
        features["year"] = years[0] if years[0] > 99 else 2000 + years[0]
    return features


def _slashed(text: str, order: str) -> list[Item]:
    first, second, *year = re.split(r"[/-]", text)
    fits = [
        numbers
        for name, numbers in (("dmy", (first, second)), ("mdy", (second, first)))
        if 0 < int(numbers[0]) < 32 and 0 < int(numbers[1]) < 13 and order in ("", name)
    ]
    dates: list[Features] = [_date([*numbers, *year]) for numbers in fits]
    if len(dates) == 2 and dates[0] != dates[1]:
        dates = [{"slashed": True}]
    if not dates:
        return []
    if year:
        return [("T", dates[0], 0)]
    return [("T", dates[0] | {"bare": True}, 0), ("d", dates[0], 0)]


def _pair(text: str) -> list[Item]:
    """Return what "8.30" can mean: a number, a clock, or the 8th of a month."""
    first, second = re.split(r"[.,]", text)
    items: list[Item] = [("N", float(f"{first}.{second}"), 0)]
    if "." in text and len(second) == 2 and int(first) < 25 and int(second) < 60:
        clock = clock_of(int(first), int(second), "x")
        items += [("c", clock, 0), ("T", {**clock, "bare": True}, 3)]
    if "." in text and 0 < int(first) < 32 and 0 < int(second) < 13:
        items += [("d", _date([first, second]), 0)]
        items += [("T", {**_date([first, second]), "bare": True}, 4)]
    return items
