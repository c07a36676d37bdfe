"""Collects text with marks, turns these into entities, and lays tables out."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aouo.facts.ports import Entity

LIMIT = 4096  # Telegram counts characters or UTF-16 units; the latter is safe under both readings
MAX_ENTITIES = 100  # Telegram drops further ones silently
_OUTERMOST_FIRST = (
    "text_link",
    "spoiler",
    "pre",
    "blockquote",
    "code",
    "bold",
    "strikethrough",
    "italic",
)
_FLAG_LETTERS = "".join(map(chr, range(0x1F1E6, 0x1F200)))
_RANK = {kind: rank for rank, kind in enumerate(_OUTERMOST_FIRST)}


@dataclass(frozen=True, slots=True)
class Part:
    """One message: a text Telegram accepts and its entities."""

    text: str
    entities: tuple[Entity, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """A style over characters `start` to `end` of a text (Python indices)."""

    kind: str
    start: int
    end: int
    url: str = ""
    language: str = ""

    def moved(self, by: int) -> Mark:
        return Mark(self.kind, self.start + by, self.end + by, self.url, self.language)


def utf16_len(text: str) -> int:
    """Length in UTF-16 units, the unit of Telegram's offsets."""
    if text.isascii():
        return len(text)
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def joins(text: str, at: int) -> bool:
    """Whether the character at `at` belongs to the same grapheme as the one before it.

    An approximation of Unicode's grapheme clusters: combining marks, variation selectors,
    joiners, skin tones, tags and pairs of regional indicators.
    """
    if not 0 < at < len(text):
        return False
    here, before = text[at], text[at - 1]
    if here < "\u0300":
        return False
    if before == "\u200d" or here == "\u200d" or "\U0001f3fb" <= here <= "\U0001f3ff":
        return True
    if "\U000e0020" <= here <= "\U000e007f" or unicodedata.category(here) in ("Mn", "Me", "Mc"):
        return True
    if "\U0001f1e6" <= here <= "\U0001f1ff":
        before = text[max(0, at - 512) : at]
        flags = len(before) - len(before.rstrip(_FLAG_LETTERS))
        return flags % 2 == 1
    return False


def part(text: str, start: int, end: int, marks: Iterable[Mark], tail: str = "") -> Part:
    """Make a message of `text[start:end]` and a plain `tail`, with the `marks` inside it.

    The caller cuts the text so that they are not too many.
    """
    body = text[start:end]
    clipped = [
        Mark(m.kind, max(m.start, start) - start, min(m.end, end) - start, m.url, m.language)
        for m in marks
        if m.start < end and m.end > start
    ]
    kept = sorted(nest(tight(body, clipped)), key=lambda m: (m.start, -m.end))
    units = _units(body)
    entities = (
        Entity(m.kind, units[m.start], units[m.end] - units[m.start], m.url, m.language)
        for m in kept
    )
    return Part(body + tail, tuple(entities))


def nest(marks: Iterable[Mark]) -> list[Mark]:
    """Cut `marks` so that they obey Telegram's rules.

    No two cross, quotes do not nest, `code` and `pre` hold nothing and lie in nothing but a
    quote. A link wins over code inside it, because there the server keeps only one of the two.
    Overlapping marks of one kind become the first one; of two crossing marks the shorter is cut.

    Source: core.telegram.org/bots/api#formatting-options
    """
    waiting = sorted(marks, key=lambda m: (m.start, -m.end), reverse=True)
    cuts = sorted({at for m in waiting for at in (m.start, m.end)})
    active: list[Mark] = []
    stack: list[tuple[int, Mark]] = []
    done: list[Mark] = []
    for at in cuts:
        active = [m for m in active if m.end > at]
        while waiting and waiting[-1].start == at:
            active.append(waiting.pop())
        wanted = _allowed(active)
        keep = _kept(stack, wanted)
        for since, m in stack[keep:]:
            if since < at:
                done.append(Mark(m.kind, since, at, m.url, m.language))
        del stack[keep:]
        open_kinds = {m.kind for _, m in stack}
        new = [m for m in wanted if m.kind not in open_kinds]
        stack += [(at, m) for m in sorted(new, key=_outermost_first)]
    return done


def _outermost_first(mark: Mark) -> tuple[bool, int, int]:
    return (mark.kind != "blockquote", -mark.end, _RANK[mark.kind])


def _allowed(active: Sequence[Mark]) -> list[Mark]:
    """Return those of the marks that may lie over the same character, one of each kind."""
    by_kind: dict[str, Mark] = {}
    for mark in active:
        by_kind.setdefault(mark.kind, mark)
    if "text_link" in by_kind:
        by_kind.pop("code", None)
    for alone in ("pre", "code"):
        if alone in by_kind:
            return [by_kind[kind] for kind in ("blockquote", alone) if kind in by_kind]
    return list(by_kind.values())


def _kept(stack: Sequence[tuple[int, Mark]], wanted: Sequence[Mark]) -> int:
    """Return how many open marks stay open: none may end before a new mark inside it."""
    old = {m.kind for _, m in stack}
    new = [m for m in wanted if m.kind not in old]
    if any(m.kind == "blockquote" for m in new):
        return 0
    last_end = max((m.end for m in new), default=0)
    here = {m.kind: m for m in wanted}
    for count, (_, mark) in enumerate(stack):
        if here.get(mark.kind) is not mark or mark.end < last_end:
            return count
    return len(stack)


def tight(text: str, marks: Iterable[Mark]) -> Iterable[Mark]:
    """Yield the non-empty marks without white space at their edges, as the server trims them."""
    for mark in marks:
        start, end = mark.start, mark.end
        while start < end and text[end - 1].isspace():
            end -= 1
        if mark.kind not in ("code", "pre"):
            while start < end and text[start].isspace():
                start += 1
        if start < end:
            yield Mark(mark.kind, start, end, mark.url, mark.language)


def _units(text: str) -> Sequence[int]:
    """Return the UTF-16 offset of each character of `text` and of its end."""
    if text.isascii() or utf16_len(text) == len(text):
        return range(len(text) + 1)
    offsets = [0]
    for char in text:
        offsets.append(offsets[-1] + (2 if char > "\uffff" else 1))
    return offsets


_MAX_COLUMNS = 36  # monospaced columns of a phone held upright


@dataclass(frozen=True, slots=True)
class Cell:
    """The text of one cell and its marks."""

    text: str
    marks: tuple[Mark, ...] = ()


@dataclass(frozen=True, slots=True)
class Table:
    """A head, its rows and per column `Left`, `Right`, `Center` or `None`."""

    head: tuple[Cell, ...]
    rows: tuple[tuple[Cell, ...], ...]
    alignments: tuple[str, ...]


def lay_out(table: Table) -> Cell:
    """Return the table as text and marks: one `pre` block if that loses nothing, else cards."""
    lines = (table.head, *table.rows)
    cells = [cell for line in lines for cell in line]
    has_links = any(mark.kind == "text_link" for cell in cells for mark in cell.marks)
    if not has_links and not any("\n" in cell.text for cell in cells):
        widths = [
            max(map(columns, (cell.text for cell in line))) for line in zip(*lines, strict=True)
        ]
        if sum(widths) + 3 * (len(widths) - 1) <= _MAX_COLUMNS:
            text = _aligned(table, widths)
            return Cell(text, (Mark("pre", 0, len(text)),))
    return _cards(table)


def columns(text: str) -> int:
    """Return the width of `text` in a monospaced font: wide characters count two, joined ones 0."""
    if text.isascii():
        return len(text)
    width = 0
    for at, char in enumerate(text):
        if joins(text, at):
            if char == "\ufe0f" and not _is_wide(text[at - 1]):
                width += 1  # the sign before it becomes an emoji
            elif "\U0001f1e6" <= char <= "\U0001f1ff":
                width += 1  # a flag is two letters of one column each
        elif unicodedata.category(char) not in ("Cf", "Mn", "Me"):
            width += 2 if _is_wide(char) else 1
    return width


def _is_wide(char: str) -> bool:
    return unicodedata.east_asian_width(char) in ("W", "F")


def _aligned(table: Table, widths: Sequence[int]) -> str:
    lines = [_line(table.head, widths, table.alignments)]
    lines.append("-+-".join("-" * width for width in widths))
    lines += [_line(row, widths, table.alignments) for row in table.rows]
    return "\n".join(lines)


def _line(row: Sequence[Cell], widths: Sequence[int], alignments: Sequence[str]) -> str:
    padded: list[str] = []
    for cell, width, alignment in zip(row, widths, alignments, strict=True):
        space = width - columns(cell.text)
        left = {"Right": space, "Center": space // 2}.get(alignment, 0)
        padded.append(" " * left + cell.text + " " * (space - left))
    return " | ".join(padded).rstrip()


def _cards(table: Table) -> Cell:
    """Return one block per row, with a bold label and the value on each line; no empty values."""
    text = ""
    marks: list[Mark] = []
    for row in table.rows or (table.head,):
        block = ""
        for label, value in zip(table.head, row, strict=True):
            if not value.text:
                continue
            block += "\n" if block else "\n\n" if text else ""
            if label.text and row is not table.head:
                start = len(text) + len(block)
                block += f"{label.text.rstrip(':')}:"
                marks.append(Mark("bold", start, start + len(label.text.rstrip(":")) + 1))
                block += " "
            start = len(text) + len(block)
            marks += [mark.moved(start) for mark in value.marks]
            block += value.text
        text += block
    if table.rows and not text:
        return _cards(Table(table.head, (), table.alignments))
    return Cell(text, tuple(marks))


@dataclass(frozen=True, slots=True)
class Document:
    """A text, its marks, and where its blocks start (a heading is one block with what follows)."""

    text: str
    marks: tuple[Mark, ...]
    blocks: tuple[int, ...]


class Output:
    """Collects written text and the marks over it."""

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.length = 0
        self.newlines = 0
        self.marks: list[Mark] = []

    def write(self, text: str) -> None:
        if text:
            self.pieces.append(text)
            self.length += len(text)
            bare = len(text.rstrip("\n"))
            self.newlines = len(text) - bare + (0 if bare else self.newlines)

    def mark(self, kind: str, start: int, *, url: str = "", language: str = "") -> None:
        if start < self.length:
            self.marks.append(Mark(kind, start, self.length, url, language))

    def drop(self) -> None:
        """Undo the last write."""
        self.length -= len(self.pieces.pop())

    def since(self, start: int) -> str:
        """Return what was written from `start` on, where a write must have begun."""
        size = self.length - start
        count = 0
        while size > 0:
            count += 1
            size -= len(self.pieces[-count])
        return "".join(self.pieces[-count:]) if count else ""

    def cell(self) -> Cell:
        """Return the whole text as a table's cell."""
        text = "".join(self.pieces)
        left = len(text) - len(text.lstrip())
        return Cell(text.strip(), tuple(mark.moved(-left) for mark in self.marks))
