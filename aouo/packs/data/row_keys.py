"""Names the rows of a table by what tells them apart: their rowid, or their primary key."""

from __future__ import annotations

import json
import math
import sqlite3
from typing import cast

from aouo.packs.data.columns import Column
from aouo.packs.data.rows import Cell
from aouo.packs.data.schema_guard import quoted

KEY_CHARS = 4_000
_ALIASES = ("rowid", "_rowid_", "oid")


def key_names(
    connection: sqlite3.Connection, table: str, columns: tuple[Column, ...]
) -> tuple[str, ...]:
    """Return what tells the rows of a table apart, as SQL names in order.

    A column may have the name of a rowid and hide it.

    Returns:
        () if there is nothing that can be read.

    Raises:
        sqlite3.Error: the table cannot be read.
    """
    taken = {one.name.lower() for one in columns}
    alias = next((name for name in _ALIASES if name not in taken), "")
    if alias:
        try:
            connection.execute(f"SELECT {alias} FROM {quoted(table)} LIMIT 0").fetchall()
        except sqlite3.OperationalError as error:
            if "no such column" not in str(error):
                raise
        else:
            return (alias,)
    primary = sorted((one for one in columns if one.key), key=lambda one: one.key)
    return tuple(quoted(one.name) for one in primary)


def written(key: tuple[Cell, ...]) -> str:
    """Return a key as text, "" = it is empty, or too long to be sent to and fro."""
    text = json.dumps([_carried(one) for one in key], ensure_ascii=False)
    return text if key and len(text) <= KEY_CHARS else ""


def read(text: str, names: tuple[str, ...]) -> tuple[Cell, ...]:
    """Return the key that `written` wrote. Raises: ValueError."""
    found = json.loads(text)
    if not isinstance(found, list) or not names:
        raise ValueError("it is no key")
    values = tuple(_value(one) for one in cast("list[object]", found))
    if len(values) != len(names):
        raise ValueError("it is the key of another table")
    return values


def _carried(value: Cell) -> object:
    return {"blob": value.hex()} if isinstance(value, bytes) else value


def _value(carried: object) -> Cell:
    match carried:
        case {"blob": str(digits)}:
            return bytes.fromhex(digits)
        case bool():
            raise ValueError("it is no key")
        case None | str() | int():
            return carried
        case float() if not math.isnan(carried):
            return carried
        case _:
            raise ValueError("it is no key")
