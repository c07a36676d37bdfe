"""A measured figure, and how figures are shown."""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any


@dataclass(frozen=True, slots=True)
class Row:
    """One line; a floor is None where there is nothing to compare with."""

    figure: str
    unit: str
    aouo: float | None
    floor: float | None = None
    aim: str = ""
    digits: int = 2
    n: int = 1
    note: str = ""
    floor_2: float | None = None

    @classmethod
    def medians(
        cls,
        figure: str,
        unit: str,
        values: Mapping[str, Sequence[float]],
        *,
        aim: str = "",
        digits: int = 2,
    ) -> Row:
        ours = values["aouo"]
        low, low_2 = (
            statistics.median(found) if (found := values.get(name)) else None
            for name in ("floor", "floor 2")
        )
        row = cls(figure, unit, statistics.median(ours), low, aim, digits, len(ours))
        return replace(row, floor_2=low_2)

    @classmethod
    def growth(
        cls,
        figure: str,
        few: Mapping[str, Sequence[float]],
        many: Mapping[str, Sequence[float]],
        *,
        aim: str,
    ) -> Row:
        """How many times the median of `few` that of `many` is, each bot by itself."""
        ours, floor = (
            statistics.median(many[name]) / statistics.median(few[name])
            for name in ("aouo", "floor")
        )
        return cls(figure, "×", ours, floor, aim=aim, n=len(many["aouo"]))

    @classmethod
    def percentile(
        cls,
        figure: str,
        unit: str,
        values: Mapping[str, Sequence[float]],
        percent: int,
        *,
        aim: str = "",
    ) -> Row:
        def of(found: Sequence[float]) -> float:
            return statistics.quantiles(found, n=100, method="inclusive")[percent - 1]

        low, low_2 = (of(values[name]) if name in values else None for name in ("floor", "floor 2"))
        count = len(values["aouo"])
        return cls(figure, unit, of(values["aouo"]), low, aim, n=count, floor_2=low_2)

    def cells(self) -> tuple[str, ...]:
        return (
            f"{self.figure} {f'[{self.unit}]' if self.unit else ''}".rstrip(),
            _number(self.aouo, self.digits),
            _number(self.floor, self.digits),
            self._over(self.floor),
            _number(self.floor_2, self.digits),
            self._over(self.floor_2),
            self.aim or self.note,
        )

    def _over(self, floor: float | None) -> str:
        return f"{self.aouo / floor:.2f}" if self.aouo is not None and floor else ""

    def facts(self) -> dict[str, Any]:
        return asdict(self)


def _number(value: float | None, digits: int) -> str:
    return "" if value is None else f"{value:,.{digits}f}"


def render(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Columns as wide as their widest cell; the first to the left, numbers to the right."""
    widths = [max(len(row[column]) for row in (head, *rows)) for column in range(len(head))]
    lines: list[str] = []
    for row in (head, *rows):
        cells = [
            cell.ljust(width) if column in (0, len(head) - 1) else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append("  ".join(cells).rstrip())
    lines.insert(1, "  ".join("─" * width for width in widths))
    return "\n".join(lines)
