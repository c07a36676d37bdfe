"""Draws charts of packs as PNG pictures, light or dark, readable on a phone.

A chart is a mapping: `kind` (bars, lines, parts, calendar, table), `rows` (each a label and one
number or several; of a calendar a day and a number; of a table its cells), `title`, `unit`,
`columns` (names of the series, or of a table's columns), `dark`. resvg makes the picture of the
SVG text that is written here.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from html import escape
from importlib.resources import files
from itertools import pairwise
from typing import Any, TypeAlias, cast

KINDS = ("bars", "lines", "parts", "calendar", "table")
_NUMBER_MAX = 1e15
_POINTS_MAX, _SERIES_MAX, _WORDS_MAX = 400, 8, 28
_TABLE_MAX, _WEEKS_MAX, _PARTS_MAX = 30, 54, 1_000_000
_WIDTH, _HEIGHT, _TOP, _LEFT, _BELOW, _SIDE = 800, 520, 84, 92, 64, 28
_COLOURS = (
    *("#2f8fe0", "#ef8632", "#4fa35a", "#d9534f"),
    *("#9166d1", "#d8ad1f", "#46aeb0", "#8a6a55"),
)
_FAMILY = "DejaVu Sans"
_Rows: TypeAlias = Sequence[Sequence[Any]]


class NoChart(ValueError):
    """What was given cannot be drawn; the text says why, to the pack's author."""


@dataclass(frozen=True, slots=True)
class _Paper:
    title: str
    unit: str
    columns: tuple[str, ...]
    dark: bool

    @property
    def ink(self) -> str:
        return "#e6edf3" if self.dark else "#1d2733"

    @property
    def ground(self) -> str:
        return "#17212b" if self.dark else "#ffffff"

    @property
    def faint(self) -> str:
        return "#33414e" if self.dark else "#dde3e9"


def most_rows(kind: str) -> int:
    """Return how many rows a chart of this kind shows; the rest of `parts` is summed up, and a file
    has every row."""
    if kind in ("parts", "csv"):
        return _PARTS_MAX
    return _TABLE_MAX if kind == "table" else _POINTS_MAX


def draw(chart: Mapping[str, Any]) -> bytes:
    """Return the picture as PNG, 800 pixels wide; takes some 20 ms.

    Raises:
        NoChart: it cannot be drawn.
    """
    import resvg_py  # 3 MB, imported by the first chart

    font = str(files("aouo.agent").joinpath("charts.ttf"))
    return bytes(
        resvg_py.svg_to_bytes(
            svg_string=svg(chart), skip_system_fonts=True, font_files=[font], font_family=_FAMILY
        )
    )


def svg(chart: Mapping[str, Any]) -> str:
    """Return the picture as SVG. Raises: NoChart."""
    kind = chart.get("kind")
    if kind not in KINDS:
        raise NoChart(f"There is no chart {str(kind)[:40]!r}: it is one of {', '.join(KINDS)}.")
    rows = _rows(chart.get("rows"), most_rows(kind))
    columns = chart.get("columns") or ()
    if not isinstance(columns, list | tuple):
        raise NoChart("columns must be a list of names.")
    names = tuple(map(_cut, cast("Sequence[Any]", columns)))[:_SERIES_MAX]
    title, unit = _cut(chart.get("title", ""), 44), _cut(chart.get("unit", ""), 8)
    unit = unit and (unit if unit == "%" else f"\u202f{unit}")
    paper = _Paper(title, unit, names, bool(chart.get("dark")))
    height, body = _DRAWN[kind](rows, paper)
    head = _text(_SIDE, 48, paper.title, paper.ink, size=28, weight=700)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{_WIDTH}" height="{height}" '
        f'font-family="{_FAMILY}"><rect width="100%" height="100%" fill="{paper.ground}"/>'
        f"{head}{body}</svg>"
    )


def _rows(given: object, most: int) -> _Rows:
    if not isinstance(given, list | tuple) or not given:
        raise NoChart("rows must be a list of rows, each a label and a number.")
    listed = cast("Sequence[dict[str, Any] | Sequence[Any]]", given)
    if len(listed) > most:
        raise NoChart(f"A chart shows {most} rows at most; these are {len(listed):,}. Group them.")
    rows = [list(row.values()) if isinstance(row, dict) else row for row in listed]
    if not all(isinstance(row, list | tuple) and 0 < len(row) <= _SERIES_MAX + 1 for row in rows):
        raise NoChart(f"Each row is a list: a label, then 1 to {_SERIES_MAX} numbers.")
    return rows


def _numbers(rows: _Rows) -> list[list[float]]:
    """Return the numbers of each row behind its label."""
    found: list[list[float]] = []
    for row in rows:
        try:
            values = [float(cell or 0) for cell in row[1:]]
        except (TypeError, ValueError, OverflowError):
            raise NoChart(f"In the row {str(row)[:60]} something is no number.") from None
        if not values or not all(abs(value) <= _NUMBER_MAX for value in values):
            raise NoChart(f"The row {str(row)[:60]} has no number that a chart shows.")
        found.append(values)
    if len({len(values) for values in found}) != 1:
        raise NoChart("The rows have different lengths.")
    return found


def _cut(text: object, most: int = _WORDS_MAX) -> str:
    plain = re.sub(
        r"[\0-\x08\x0e-\x1f\ud800-\udfff\ufffe\uffff]", "?", str("" if text is None else text)
    )
    words = " ".join(plain.split())
    return words if len(words) <= most else words[: most - 1] + "…"


def _shown(value: float) -> str:
    whole = round(value, 2 if abs(value) < 1_000 else 0)
    return f"{whole:,.0f}" if whole == int(whole) else f"{whole:,.2f}"


def _text(
    x: float,
    y: float,
    words: str,
    colour: str,
    *,
    size: int = 22,
    anchor: str = "start",
    weight: int = 400,
) -> str:
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" font-weight="{weight}" '
        f'text-anchor="{anchor}" fill="{colour}">{escape(words)}</text>'
    )


def _ticks(low: float, high: float) -> list[float]:
    """Return about five round numbers that enclose the values."""
    span = (high - low) or abs(high) or 1.0
    power = 10.0 ** math.floor(math.log10(span / 4))
    step = next(one * power for one in (1, 2, 2.5, 5, 10) if one * power >= span / 4)
    first, last = math.floor(low / step), math.ceil(high / step)
    return [step * number for number in range(first, last + 1)]


def _axes(
    rows: _Rows, values: list[list[float]], paper: _Paper, *, zero: float | None = 0.0
) -> tuple[Callable[[float], float], str]:
    """Return where a value stands, and the lines and labels around the drawing."""
    every = [value for row in values for value in row]
    every += [] if zero is None else [zero]
    ticks = _ticks(min(every), max(every))
    bottom = _HEIGHT - _BELOW
    span = (ticks[-1] - ticks[0]) or 1.0

    def place(value: float) -> float:
        return bottom - (value - ticks[0]) / span * (bottom - _TOP)

    lines = [
        f'<path d="M{_LEFT} {place(tick):.1f}H{_WIDTH - _SIDE}" stroke="{paper.faint}"/>'
        + _text(
            _LEFT - 10,
            place(tick) + 8,
            f"{_shown(tick)}{paper.unit}",
            paper.ink,
            size=20,
            anchor="end",
        )
        for tick in ticks
    ]
    each, width = max(1, math.ceil(len(rows) / 7)), (_WIDTH - _SIDE - _LEFT) / len(rows)
    room = max(3, int(width * each / 12))
    lines += [
        _text(
            _LEFT + width * (at + 0.5),
            bottom + 34,
            _cut(row[0], room),
            paper.ink,
            size=20,
            anchor="middle",
        )
        for at, row in enumerate(rows)
        if at % each == 0
    ]
    return place, "".join([*lines, *_legend(paper)])


def _legend(paper: _Paper) -> Iterator[str]:
    right = _WIDTH - _SIDE
    for at, name in reversed(list(enumerate(paper.columns))):
        right -= 13 * len(name)
        yield _text(right, 47, name, paper.ink, size=20)
        yield f'<circle cx="{right - 14}" cy="40" r="8" fill="{_COLOURS[at % 8]}"/>'
        right -= 40


def _bars(rows: _Rows, paper: _Paper) -> tuple[int, str]:
    values = _numbers(rows)
    place, body = _axes(rows, values, paper)
    width = (_WIDTH - _SIDE - _LEFT) / len(rows)
    bar = width * 0.76 / len(values[0])
    for at, row in enumerate(values):
        for number, value in enumerate(row):
            x = _LEFT + width * (at + 0.12) + bar * number
            top, foot = sorted((place(value), place(0)))
            body += (
                f'<rect x="{x:.1f}" y="{top:.1f}" width="{max(1.0, bar - 2):.1f}" '
                f'height="{foot - top:.1f}" rx="3" fill="{_COLOURS[number % 8]}"/>'
            )
    return _HEIGHT, body


def _lines(rows: _Rows, paper: _Paper) -> tuple[int, str]:
    values = _numbers(rows)
    place, body = _axes(rows, values, paper, zero=None)
    width = (_WIDTH - _SIDE - _LEFT) / len(rows)
    for number in range(len(values[0])):
        points = [(_LEFT + width * (at + 0.5), place(row[number])) for at, row in enumerate(values)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        colour = _COLOURS[number % 8]
        body += f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="4"/>'
        if len(points) <= 60:
            body += "".join(
                f'<circle cx="{x:.1f}" cy="{y:.1f}" r="6" fill="{colour}"/>' for x, y in points
            )
    return _HEIGHT, body


def _parts(rows: _Rows, paper: _Paper) -> tuple[int, str]:
    """Draw a ring of up to eight parts; the smallest of more are one part."""
    named = [
        (_cut(row[0], 16), values[0]) for row, values in zip(rows, _numbers(rows), strict=True)
    ]
    if any(value < 0 for _, value in named) or not any(value for _, value in named):
        raise NoChart("The parts of a whole are numbers from 0 on, and not all 0.")
    named.sort(key=lambda one: -one[1])
    if len(named) > _SERIES_MAX:
        named[7:] = [("…", sum(value for _, value in named[7:]))]
    whole, body, begun = sum(value for _, value in named), "", 0.0
    around = 2 * math.pi * 130
    for at, (name, value) in enumerate(named):
        share = value / whole
        body += (
            f'<circle cx="210" cy="300" r="130" fill="none" stroke="{_COLOURS[at]}" '
            f'stroke-width="76" stroke-dasharray="{share * around:.2f} {around:.2f}" '
            f'transform="rotate({begun * 360 - 90:.2f} 210 300)"/>'
        )
        y = 126 + at * 46
        body += f'<circle cx="434" cy="{y - 8}" r="11" fill="{_COLOURS[at]}"/>'
        body += _text(458, y, name, paper.ink)
        told = f"{_shown(value)}{paper.unit} · {share:.0%}"
        body += _text(_WIDTH - _SIDE, y, told, paper.ink, anchor="end")
        begun += share
    return _HEIGHT, body


def _calendar(rows: _Rows, paper: _Paper) -> tuple[int, str]:
    """Draw a square a day, a column a week; the more, the stronger."""
    days: dict[date, float] = {}
    for row, values in zip(rows, _numbers(rows), strict=True):
        try:
            days[date.fromisoformat(str(row[0])[:10])] = values[0]
        except ValueError:
            raise NoChart(f"{str(row[0])[:40]!r} is no day such as 2026-03-01.") from None
    first = min(days) - timedelta(days=min(days).weekday())
    weeks = (max(days) - first).days // 7 + 1
    if weeks > _WEEKS_MAX:
        raise NoChart("A calendar shows a year at most.")
    side = min(54.0, (_WIDTH - 2 * _SIDE) / weeks)
    most, body = max([*days.values(), 1e-9]), ""
    for number in range((max(days) - first).days + 1):
        day = first + timedelta(days=number)
        x, y = _SIDE + number // 7 * side, 110 + number % 7 * side
        strength = 0.25 + 0.75 * days[day] / most if days.get(day, 0) > 0 else 0.0
        colour = f'{_COLOURS[2]}" fill-opacity="{strength:.2f}' if strength else paper.faint
        size = f'width="{side * 0.86:.1f}" height="{side * 0.86:.1f}" rx="4"'
        body += f'<rect x="{x:.1f}" y="{y:.1f}" {size} fill="{colour}"/>'
        if day.day == 1 or number == 0:
            body += _text(x, 100, f"{day:%m/%y}", paper.ink, size=18)
    return int(130 + 7 * side), body


def _table(rows: _Rows, paper: _Paper) -> tuple[int, str]:
    wide = max(len(row) for row in rows)
    lines = [paper.columns, *rows] if paper.columns else rows
    cells = [[_cut(cell, 24) for cell in (*row, *[""] * wide)][:wide] for row in lines]
    lengths = [max(4, *(len(row[at]) for row in cells)) for at in range(wide)]
    starts = [0.0]
    for length in lengths:
        starts.append(starts[-1] + length)
    unit = (_WIDTH - 2 * _SIDE) / starts[-1]
    body, size = "", max(13, min(22, int(unit * 1.6)))
    for line, row in enumerate(cells):
        y, head = 100 + line * 40, bool(paper.columns) and line == 0
        body += f'<path d="M{_SIDE} {y + 12}H{_WIDTH - _SIDE}" stroke="{paper.faint}"/>'
        for (start, end), cell in zip(pairwise(starts), row, strict=True):
            right = not head and cell.replace(",", "").replace(".", "").lstrip("-").isdecimal()
            x = _SIDE + (end - 1 if right else start) * unit
            body += _text(
                x,
                y,
                cell,
                paper.ink,
                size=size,
                anchor="end" if right else "start",
                weight=700 if head else 400,
            )
    return 100 + len(cells) * 40, body


_DRAWN: Mapping[str, Callable[[_Rows, _Paper], tuple[int, str]]] = {
    "bars": _bars,
    "lines": _lines,
    "parts": _parts,
    "calendar": _calendar,
    "table": _table,
}
