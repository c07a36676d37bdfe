"""Limits SQLite's functions whose time grows with more than the size of a value.

Between two looks at the clock SQLite ends the function it is in: `trim` of a megabyte by as much
takes hours, and a format such as `%.*c` counts to two billion. So these are called through us: too
much is refused, and each call looks at the clock. What they answer is SQLite's own answer; bytes
that are no text they refuse.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from typing import TypeAlias

from aouo.packs.data.opening import open_to_answer

_Value: TypeAlias = "str | bytes | int | float | None"
_Look: TypeAlias = Callable[[str], None]
_WORK_MAX = 100_000_000  # characters of one value times those of the other: a third of a second
_PRODUCTS = (
    *(("trim", 2), ("ltrim", 2), ("rtrim", 2), ("instr", 2), ("replace", 3)),
    *(("like", 2), ("like", 3), ("glob", 2), ("json_patch", 2)),
    *((("unhex", 2),) if sqlite3.sqlite_version_info >= (3, 41) else ()),
)
_FORMATS = ("printf", "format") if sqlite3.sqlite_version_info >= (3, 38) else ("printf",)
_WIDE = re.compile(r"%[-+ #!,.l0-9]*(?:\*|[0-9]{5})")


def bound(connection: sqlite3.Connection, look: _Look) -> None:
    """Replace these functions on a connection by themselves with a limit.

    `look` is told before each call why it is too much, or "", and raises to end the statement.
    """
    inner = open_to_answer()
    for name, count in _PRODUCTS:
        function = _limited(inner, name, count, look)
        connection.create_function(name, count, function, deterministic=True)
    for name in _FORMATS:
        connection.create_function(name, -1, _format(inner, name, look), deterministic=True)


def _limited(
    inner: sqlite3.Connection, name: str, count: int, look: _Look
) -> Callable[..., _Value]:
    marks = ", ".join("?" * count)
    sql = f"SELECT {name}({marks})"  # names of ours

    def call(*values: _Value) -> _Value:
        work = _length(values[0]) * _length(values[1])
        look("a text is too long to be searched for another one that long" * (work > _WORK_MAX))
        found: _Value = inner.execute(sql, values).fetchone()[0]
        return found

    return call


def _format(inner: sqlite3.Connection, name: str, look: _Look) -> Callable[..., _Value]:
    def call(*values: _Value) -> _Value:
        text = values[0] if values and isinstance(values[0], str) else ""
        wide = _WIDE.search(text.replace("%%", "")) is not None
        look(f"{name} takes a width of four digits at most, and no *" * wide)
        marks = ", ".join("?" * len(values))
        found: _Value = inner.execute(f"SELECT {name}({marks})", values).fetchone()[0]
        return found

    return call


def _length(value: _Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 32
