"""SQLite's functions whose time grows with the product of two values, held to a limit.

Between two looks at the clock SQLite ends the function it is in, and `trim` of four megabytes by
as many takes a day. So these are called through us: too much is refused, and each call looks at
the clock. What they answer is SQLite's own answer; bytes that are no text they refuse.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import TypeAlias

Value: TypeAlias = "str | bytes | int | float | None"
WORK_MAX = 100_000_000  # characters of one value times those of the other: a third of a second
_PRODUCTS = (
    *(("trim", 2), ("ltrim", 2), ("rtrim", 2), ("instr", 2), ("replace", 3)),
    *(("like", 2), ("like", 3), ("glob", 2), ("json_patch", 2)),
    *((("unhex", 2),) if sqlite3.sqlite_version_info >= (3, 41) else ()),
)


def bound(connection: sqlite3.Connection, look: Callable[[int], None]) -> None:
    """Replace these functions on a connection by themselves with a limit.

    `look` is told the work of each call before it is made, and raises to end the statement.
    """
    inner = sqlite3.connect(":memory:", check_same_thread=False)
    for name, count in _PRODUCTS:
        function = _limited(inner, name, count, look)
        connection.create_function(name, count, function, deterministic=True)


def _limited(
    inner: sqlite3.Connection, name: str, count: int, look: Callable[[int], None]
) -> Callable[..., Value]:
    marks = ", ".join("?" * count)
    sql = f"SELECT {name}({marks})"  # names of ours

    def call(*values: Value) -> Value:
        look(_length(values[0]) * _length(values[1]))
        found: Value = inner.execute(sql, values).fetchone()[0]
        return found

    return call


def _length(value: Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 32
