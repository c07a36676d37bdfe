"""Which part of a long document is wanted, and how a part is shown."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from aouo.documents.problems import Unreadable

Unit: TypeAlias = Literal["pages", "rows", "paragraphs", "lines"]
MAX_CHARS = 400_000
"""Of one reading; more is there with a range."""
_RANGE = re.compile(r"([0-9]{1,9})?\s*(-|–|\.\.)?\s*([0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Range:
    """Counted from 1, both ends included; `last` 0 = to the end."""

    first: int = 1
    last: int = 0

    def holds(self, number: int) -> bool:
        return self.first <= number and (not self.last or number <= self.last)


def parse_range(text: str) -> Range:
    """`3-7`, `3`, `3-` or `-7`; empty = everything.

    Raises:
        Unreadable: another form, or a range that ends before it begins.
    """
    text = text.strip()
    if not text:
        return Range()
    found = _RANGE.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        raise Unreadable(f'{text[:40]!r} is no range: write it like "3-7" or "3".')
    first = int(found[1] or 1)
    last = int(found[3] or 0) if found[2] else first
    if first < 1 or (last and last < first):
        raise Unreadable(f'{text[:40]!r} is no range: it counts from 1 and goes up, like "3-7".')
    return Range(first, last)


@dataclass(frozen=True, slots=True)
class Extract:
    """Text of a document: which units of how many, and a note on what is missing."""

    text: str
    unit: Unit
    total: int
    note: str = ""


def numbered(parts: Iterable[str], wanted: Range, unit: Unit, *, note: str = "") -> Extract:
    """The wanted ones of `parts`, a line each, at most `MAX_CHARS`; counts all of them.

    Raises:
        Unreadable: the range begins after the end.
    """
    kept: list[str] = []
    size = total = 0
    for total, part in enumerate(parts, 1):
        if wanted.holds(total) and size <= MAX_CHARS:
            kept.append(part)
            size += len(part) + 1
            if size > MAX_CHARS:
                note = f"cut in {unit[:-1]} {total}; ask for a range from there on"
    within(wanted, total, unit)
    return Extract("\n".join(kept)[:MAX_CHARS], unit, total, note)


def within(wanted: Range, total: int, unit: Unit) -> None:
    """Raises: Unreadable: the range begins after the end."""
    if wanted.first > max(total, 1):
        raise Unreadable(f"There are only {total:,} {unit}.")


def row(cells: Iterable[object], *, most: int = 200) -> str:
    """One row of a table as text; a cell stays on its line."""
    texts = [_cell(cell) for cell in islice(cells, most)]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


def _cell(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split()) if cell is not None else ""
