"""Finds times in a text: a chart over each run of words that may belong to one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, Literal, TypeAlias, cast

from aouo.facts import languages
from aouo.facts.times.features import Time
from aouo.facts.times.rules import RULES
from aouo.facts.times.tables import Table, table_of
from aouo.facts.times.tokens import Item, Token, tokens_of

_RUN_MAX = 24
"""So many tokens may be one time."""
_ALTERNATIVES_MAX = 24
_ANCHORS = frozenset("TRSUNack")
_TIMELIKE = frozenset("TNRZUa")
_Loose: TypeAlias = Literal["", "weak", "bare"]
_Category: TypeAlias = Literal["T", "S"]
_Cell: TypeAlias = dict[str, list[tuple[Any, int]]]
_Readings: TypeAlias = tuple[tuple[Any, int], ...]
_Run: TypeAlias = tuple[int, Sequence[Sequence[tuple[int, Item]]]]
"""Neighbouring tokens that a table knows: the number of the first, and what begins at each."""


@dataclass(frozen=True, slots=True)
class Span:
    """A time in a text, from `start` to before `end`: what it can say, the likeliest first."""

    start: int
    end: int
    readings: _Readings
    language: str


@dataclass(slots=True, eq=False)
class Steps:
    """Counts how often two neighbours were tried."""

    count: int = 0


@languages.derived
@lru_cache(maxsize=256)
def find(
    text: str,
    language: str,
    *,
    loose: _Loose = "",
    category: _Category = "T",
    steps: Steps | None = None,
) -> tuple[Span, ...]:
    """Return the times in a text, in order, the longest of those that overlap.

    The person's `language` comes first; another is read where it knows more words of time.
    `loose`: whether a word with another meaning ("sat") may be one, or even a number alone;
    `category`: `S` for lengths of time.
    """
    tokens = tokens_of(text)
    best: tuple[Span, ...] = ()
    words: frozenset[int] = frozenset()
    for table in tables_for(language):
        runs, known = _runs(tokens, table)
        if not known - words and words:
            continue
        words |= known
        spans = tuple(
            Span(tokens[begin].start, tokens[end - 1].end, readings, table.language)
            for run in runs
            for begin, end, readings in _longest(_chart(run, steps or Steps()), category, loose)
        )
        if _covered(spans) > _covered(best):
            best = spans
    return best


def tables_for(language: str) -> list[Table]:
    """Return the tables to read by, that of the person's language first."""
    own = languages.base_of(language)
    names = (own, *(name for name in languages.names() if name != own))
    return [table for name in names if (table := table_of(name))]


def _covered(spans: Sequence[Span]) -> int:
    return sum(span.end - span.start for span in spans)


def _runs(tokens: Sequence[Token], table: Table) -> tuple[list[_Run], frozenset[int]]:
    """Return the runs with a word of time, and which tokens are such words."""
    runs: list[_Run] = []
    known: set[int] = set()
    lexical: list[Sequence[tuple[int, Item]]] = []
    reach, anchored = 0, False
    for at in range(len(tokens) + 1):
        items = tuple(table.items_at(tokens, at)) if at < len(tokens) else ()
        if items or at < reach:
            lexical.append(items)
            reach = max([reach, *(at + length for length, _ in items)])
            if any(item[0] in _ANCHORS for _, item in items):
                anchored = True
                if tokens[at].kind in ("word", "letter"):
                    known.add(at)
            if len(lexical) < _RUN_MAX:
                continue
        if lexical and anchored:
            runs.append((at - len(lexical) + (len(lexical) == _RUN_MAX), lexical))
        lexical, anchored = [], False
    return runs, frozenset(known)


def _longest(
    cells: Mapping[tuple[int, int], _Cell], category: _Category, loose: _Loose
) -> list[tuple[int, int, _Readings]]:
    """Return the times of a run, the longest where they overlap, in order."""
    options: list[tuple[int, int, int, _Readings]] = []
    for (begin, end), cell in cells.items():
        readings = [option for option in cell.get(category, ()) if _counts(option[0], loose)]
        readings.sort(key=lambda option: option[1])
        options += [(begin - end, readings[0][1], begin, tuple(readings))] if readings else []
    taken: list[tuple[int, int, _Readings]] = []
    for length, _, begin, readings in sorted(options, key=lambda option: option[:3]):
        end = begin - length
        if all(end <= other or begin >= last for other, last, _ in taken):
            taken.append((begin, end, readings))
    return sorted(taken, key=lambda time: time[:2])


def _counts(time: Time, loose: _Loose) -> bool:
    return loose == "bare" or not ("bare" in time or ("weak" in time and loose != "weak"))


def _chart(run: _Run, steps: Steps) -> dict[tuple[int, int], _Cell]:
    """Return what each stretch of a run can be, built from its parts."""
    cells: dict[tuple[int, int], _Cell] = {}
    start, lexical = run
    stop = start + len(lexical)
    for begin, items in enumerate(lexical, start):
        for length, item in items:
            if begin + length <= stop:
                _add(cells, begin, begin + length, item)
    for end in range(start + 2, stop + 1):
        for begin in range(end - 2, start - 1, -1):
            for middle in range(begin + 1, end):
                left, right = cells.get((begin, middle), {}), cells.get((middle, end), {})
                for one, two in product(left, right) if left and right else ():
                    for rule in RULES.get((one, two), ()):
                        for (first, cost), (second, more) in product(left[one], right[two]):
                            steps.count += 1
                            if item := rule(first, second):
                                _add(cells, begin, end, (*item[:2], item[2] + cost + more))
    return cells


def _add(cells: dict[tuple[int, int], _Cell], begin: int, end: int, item: Item) -> None:
    """Keep what a stretch can be, once, at its least cost."""
    category, value, cost = item
    options = cells.setdefault((begin, end), {}).setdefault(category, [])
    for at, (known, price) in enumerate(options):
        if known == value:
            if cost < price:
                options[at] = (value, cost)
            return
    if len(options) < _ALTERNATIVES_MAX:
        options.append((value, cost))
    if category in ("k", "u"):
        _add(cells, begin, end, ("T", value, cost))
    if category == "s":
        time = cast("Time", value)
        _add(cells, begin, end, ("T", {**time, "bare": True}, cost + 3))


def is_sure(text: str, language: str, *, weak: bool = False) -> bool:
    """Whether a text is a time also among other words: no number alone, no word with another
    meaning (`weak`: unless it stands by itself)."""
    spans = find(text, language, loose="weak" if weak else "")
    return any(is_whole(text, span) for span in spans)


def is_whole(text: str, span: Span) -> bool:
    """Whether a time is all that a text says."""
    return not text[: span.start].strip(" ,;") and not text[span.end :].strip(" .,;")


def is_timelike(text: str, language: str, *, begins: bool = True, ends: bool = True) -> bool:
    """Whether a text that stands beside a time begins or ends with more of one: a day, a month, a
    part of the day, a number, or a word such as at, before or o'clock."""
    tokens = [token for token in tokens_of(text) if token.kind != "sign"]
    return any(
        _is_more(tokens, at, table)
        for table in tables_for(language)[:1]
        for at in dict.fromkeys((*[0] * begins, *[len(tokens) - 1] * ends) if tokens else ())
    )


def _is_more(tokens: Sequence[Token], at: int, table: Table) -> bool:
    if tokens[at].text in table.leading:
        return at + 1 == len(tokens) or _is_more(tokens, at + 1, table)
    follower = f"* {tokens[at + 1].text}" if at + 1 < len(tokens) else f"{tokens[at].text} *"
    if {tokens[at].text, follower} & table.glue:
        return True
    items = [item for _, item in table.items_at(tokens, at)]
    if at == 0 and len(tokens) > 1 and any(category in "CF" for category, *_ in items):
        return _is_more(tokens[1:], 0, table)
    items = [item for item in items if item[0] in _TIMELIKE]
    return bool(items) and not all(_is_weak(value) for _, value, _ in items)


def _is_weak(value: object) -> bool:
    return isinstance(value, Mapping) and "weak" in value
