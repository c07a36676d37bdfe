"""Parses the wanted range of a long document, and extracts that part."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Literal, TypeAlias

from aouo.documents.problems import Unreadable

Unit: TypeAlias = Literal["pages", "rows", "paragraphs", "lines"]
MAX_CHARS = 400_000
"""The longest text of one reading; a range gives more."""
_RANGE = re.compile(r"([0-9]{1,9})?\s*(-|–|\.\.)?\s*([0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class Range:
    """A range counted from 1, both ends included; `last` 0 = to the end."""

    first: int = 1
    last: int = 0

    def holds(self, number: int) -> bool:
        return self.first <= number and (not self.last or number <= self.last)


def parse_range(text: str) -> Range:
    """Parse `3-7`, `3`, `3-` or `-7`; empty = everything.

    Raises:
        Unreadable: it has another form, or ends before it begins.
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
    """Text of a document of a `kind`, the number of all its units, a note on what is missing."""

    text: str
    unit: Unit
    total: int
    note: str = ""
    kind: str = ""


def numbered(parts: Iterable[str], wanted: Range, unit: Unit, *, note: str = "") -> Extract:
    """Return the wanted `parts`, one per line, at most `MAX_CHARS`, and the number of all parts.

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
    """Check that the range begins before the end. Raises: Unreadable: it does not."""
    if wanted.first > max(total, 1):
        raise Unreadable(f"There are only {total:,} {unit}.")


def row(cells: Iterable[object], *, most: int = 200) -> str:
    """Return a table row as one line of text."""
    texts = [_cell(cell) for cell in islice(cells, most)]
    while texts and not texts[-1]:
        texts.pop()
    return " | ".join(texts)


def _cell(cell: object) -> str:
    if isinstance(cell, float) and cell.is_integer() and abs(cell) < 1e15:
        return str(int(cell))
    return " ".join(str(cell).split()) if cell is not None else ""
