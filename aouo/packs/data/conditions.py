"""Turns a `where`, whose conditions all have to hold, into SQL of known names and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.rows import Cell, Table, cell

_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", "like"})


def conditions(table: Table, where: Mapping[str, object]) -> tuple[str, tuple[Cell, ...]]:
    """Write `where` as SQL.

    Raises:
        ToolFailed: a column or an operator that there is not.
    """
    parts: list[str] = []
    values: list[Cell] = []
    for name, wanted in where.items():
        column = table.column(name)
        if isinstance(wanted, Mapping):
            if not wanted:  # no condition would mean every row
                raise ToolFailed(f"where.{name} is empty: give a value, or null for none.")
            for operator, value in cast("Mapping[str, object]", wanted).items():
                if operator.lower() not in _OPERATORS:
                    known = " ".join(sorted(_OPERATORS))
                    raise ToolFailed(f"where.{name}: {operator!r} is not one of {known}.")
                parts.append(f"{column} {operator} ?")
                values.append(cell(name, value))
        elif isinstance(wanted, list):
            items = cast("list[object]", wanted)
            parts.append(f"{column} IN ({', '.join('?' for _ in items)})")
            values += [cell(name, item) for item in items]
        else:
            parts.append(f"{column} IS ?")
            values.append(cell(name, wanted))
    return " AND ".join(parts), tuple(values)
