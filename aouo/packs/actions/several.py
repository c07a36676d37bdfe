"""Splits a message into several wishes where each part is whole by itself."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from typing import TypeVar

from aouo.facts import languages

_PARTS_MAX, _TEXT_MAX = 6, 400
_Wish = TypeVar("_Wish")


def split(text: str, read: Callable[[str], _Wish | None]) -> list[_Wish]:
    """Return the wishes of a text, in order; none where a part is no wish, or there is but one.

    `read` returns what a part wishes, None = it is not whole.
    """
    if len(text) > _TEXT_MAX:
        return []
    places = [(match.start(), match.end()) for match in joining().finditer(text)]
    known: dict[tuple[int, int], _Wish | None] = {}

    def part(begin: int, end: int) -> _Wish | None:
        if (begin, end) not in known:
            known[begin, end] = read(text[begin:end].strip())
        return known[begin, end]

    def parts(begin: int, first: int) -> list[_Wish]:
        for number in range(first, len(places)):
            end, following = places[number]
            if (wish := part(begin, end)) is not None and (rest := parts(following, number + 1)):
                return [wish, *rest]
        last = part(begin, len(text))
        return [] if last is None else [last]

    wishes = parts(0, 0) if 0 < len(places) < _PARTS_MAX else []
    return wishes if len(wishes) > 1 else []


@languages.derived
@cache
def joining() -> re.Pattern[str]:
    """Return what may part wishes, or a wish and its reason."""
    listed = sorted(languages.words("phrases", "joining"), key=len, reverse=True)
    words = "|".join(map(re.escape, listed)) or "(?!)"
    return re.compile(
        rf"\s*(?:[,;.!–]\s|\s-\s|\n)\s*(?:(?:{words})\s+)?|\s+(?:\+|{words})\s+", re.IGNORECASE
    )
