"""Lays tables out for a narrow screen: aligned columns if they fit, else one card per row."""

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from aouo.markdown.entities import Mark, joins

MAX_COLUMNS = 36  # monospaced columns of a phone held upright


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
        if sum(widths) + 3 * (len(widths) - 1) <= MAX_COLUMNS:
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
