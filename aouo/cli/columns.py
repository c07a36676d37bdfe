"""Aligns lists in a terminal: columns as wide as their widest cell, but for a limit."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.markdown.tables import columns

_GAP = "  "


def aligned(rows: Sequence[Sequence[str]], limits: Sequence[int]) -> list[str]:
    """Return a line for each row; a longer cell is cut. `limits` are of columns on the screen,
    where a wide character takes two; 0 = none."""
    cells = [[_cut(cell, limit) for cell, limit in zip(row, limits, strict=True)] for row in rows]
    widths = [max(map(columns, column)) for column in zip(*cells, strict=True)]
    return [
        _GAP.join(
            cell + " " * (width - columns(cell)) for cell, width in zip(row, widths, strict=True)
        ).rstrip()
        for row in cells
    ]


def _cut(text: str, limit: int) -> str:
    if not limit or columns(text) <= limit:
        return text
    kept = text[: limit - 1]
    while columns(kept) >= limit:
        kept = kept[:-1]
    return f"{kept}…"
