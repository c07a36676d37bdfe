"""Reads what a pack's tables have, names and converts their rows, words SQLite's errors."""

from __future__ import annotations

import json
import math
import re
import sqlite3
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from aouo.facts.errors import ToolFailed
from aouo.packs.data.schema_guard import quoted
from aouo.packs.format.problems import did_you_mean

_VIRTUAL = re.compile(r"CREATE VIRTUAL TABLE\b.*?\bUSING\s+(\w+)", re.IGNORECASE | re.DOTALL)
_SHADOWS = {
    "fts5": ("config", "content", "data", "docsize", "idx"),
    "fts4": ("content", "docsize", "segdir", "segments", "stat"),
    "rtree": ("node", "parent", "rowid"),
}


@dataclass(frozen=True, slots=True)
class Column:
    """One column as the database knows it; `default` is SQL text, None = there is none."""

    name: str
    type: str
    required: bool
    default: str | None
    key: int


@dataclass(frozen=True, slots=True)
class Made:
    """One table, index, view or trigger: its CREATE, and the columns of a table."""

    kind: str
    name: str
    sql: str
    columns: tuple[Column, ...]

    @property
    def is_virtual(self) -> bool:
        """Whether a module of SQLite keeps the table."""
        return self.sql.upper().startswith("CREATE VIRTUAL")


def made(connection: sqlite3.Connection) -> tuple[Made, ...]:
    """Return what the pack has made, in its order, without what is ours and SQLite's."""
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master WHERE sql IS NOT NULL "
        "AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\' "
        "AND name NOT LIKE '\\_aouo\\_%' ESCAPE '\\' ORDER BY rowid"
    ).fetchall()
    shadows = {shadow for _, name, sql in rows for shadow in _shadows(name, sql)}
    return tuple(
        Made(kind, name, sql, columns(connection, name) if kind == "table" else ())
        for kind, name, sql in rows
        if name.lower() not in shadows
    )


def tables(connection: sqlite3.Connection) -> dict[str, tuple[Column, ...]]:
    """Return the pack's tables and their columns."""
    return {each.name: each.columns for each in made(connection) if each.kind == "table"}


def _shadows(table: str, sql: str) -> Iterator[str]:
    """The tables in which a virtual one keeps what is in it.

    `PRAGMA table_list` knows them too, and compiles each view of the pack to find out more.
    """
    if virtual := _VIRTUAL.match(sql):
        ends = _SHADOWS.get(virtual[1].lower(), ())
        yield from (f"{table.lower()}_{end}" for end in ends)


def columns(
    connection: sqlite3.Connection, table: str, *, generated: bool = False
) -> tuple[Column, ...]:
    """Return the columns of a table that a row can be written to, or the `generated` ones too."""
    rows = connection.execute(f"PRAGMA table_xinfo({quoted(table)})").fetchall()
    return tuple(
        Column(str(name), str(kind), bool(notnull), default, int(key))
        for _, name, kind, notnull, default, key, hidden in rows
        if not hidden or (generated and hidden != 1)
    )


def keys(connection: sqlite3.Connection, table: str) -> list[tuple[str, ...]]:
    """Return the primary key and each other unique key of plain columns."""
    primary = sorted(
        (item for item in columns(connection, table) if item.key), key=lambda item: item.key
    )
    found = [tuple(item.name for item in primary)] if primary else []
    indexes = connection.execute(f"PRAGMA index_list({quoted(table)})").fetchall()
    for _, name, unique, origin, partial in indexes:
        if unique and not partial and origin != "pk":
            info = connection.execute(f"PRAGMA index_info({quoted(name)})").fetchall()
            if all(column is not None for _, _, column in info):
                found.append(tuple(str(column) for _, _, column in info))
    return found


Cell: TypeAlias = "str | int | float | bytes | None"
Answer: TypeAlias = dict[str, object]

_CELL_CHARS = 4_000


@dataclass(frozen=True, slots=True)
class Table:
    """One table of the pack and how its columns are really written."""

    name: str
    columns: tuple[Column, ...]

    def column(self, name: str) -> str:
        """Return a column as SQL.

        Raises:
            ToolFailed: there is none of that name.
        """
        for column in self.columns:
            if column.name.lower() == name.lower():
                return quoted(column.name)
        names = [column.name for column in self.columns]
        raise ToolFailed(f"The table {self.name} has no column {name!r}{near(name, names)} {self}")

    def has(self, name: str) -> bool:
        return any(column.name.lower() == name for column in self.columns)

    def __str__(self) -> str:
        return f"Columns of {self.name}: {', '.join(described(item) for item in self.columns)}."


def near(word: str, known: Iterable[str]) -> str:
    """End a sentence about a word that is wrong, with the nearest right one if there is one."""
    return did_you_mean(word, known) or "."


def described(column: Column) -> str:
    needed = column.required and column.default is None and not column.key
    return f"{column.name} {column.type}{' (required)' if needed else ''}".strip()


def from_json(text: str, argument: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise ToolFailed(
            f'{argument} is an object such as {{"column": "value"}}, and this is no JSON: '
            f"{text[:80]!r}."
        ) from error


def as_object(given: object, argument: str) -> dict[str, object]:
    value = from_json(given, argument) if isinstance(given, str) else given
    if not isinstance(value, Mapping):
        raise ToolFailed(
            f'{argument} is an object such as {{"column": "value"}}, not {value!r:.80}.'
        )
    return {str(key): item for key, item in cast("Mapping[object, object]", value).items()}


def cell(name: str, value: object) -> Cell:
    """Return a value as a column holds it; lists and objects become JSON text."""
    match value:
        case None | str():
            return value
        case bool():
            return int(value)
        case int():
            return value
        case float() if math.isfinite(value):
            return value
        case list() | dict():
            return json.dumps(value, ensure_ascii=False)
        case _:
            raise ToolFailed(f"{name}: {value!r:.80} cannot be stored.")


def shown(value: object) -> object:
    """Return a stored value as JSON can carry it, long ones cut."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, str) and len(value) > _CELL_CHARS:
        return f"{value[:_CELL_CHARS]}… ({len(value):,} characters)"
    return value


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


def written_key(key: tuple[Cell, ...]) -> str:
    """Return a key as text, "" = it is empty, or too long to be sent to and fro."""
    text = json.dumps([_carried(one) for one in key], ensure_ascii=False)
    return text if key and len(text) <= KEY_CHARS else ""


def read_key(text: str, names: tuple[str, ...]) -> tuple[Cell, ...]:
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


_MAX_CHARS = 2_000
_KINDS = {
    "INT": "a whole number such as 3",
    "INTEGER": "a whole number such as 3",
    "REAL": "a number such as 2.5",
    "TEXT": "text",
    "BLOB": "bytes, which persist cannot send",
}


def unread(said: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    """Say what is wrong with a SELECT, and what there is to select from."""
    return _with_tables(_of_names(said, tables) or f"{said}.", tables)


def unwritten(
    said: str, tables: Mapping[str, tuple[Column, ...]], references: Iterable[str]
) -> str:
    """Say why a row was not written, and what to send instead; `references` are sentences on the
    foreign keys."""
    sentence = _of_rules(said, references) or _of_kinds(said) or _of_names(said, tables)
    return _with_tables(sentence or f"{said}.", tables)


def _with_tables(sentence: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    lines = " ".join(str(Table(name, tables[name])) for name in tables)
    return f"{sentence} {lines or 'This pack has no tables.'}"[:_MAX_CHARS]


def _of_names(said: str, tables: Mapping[str, tuple[Column, ...]]) -> str:
    if match := re.fullmatch(r"no such column: (.+)", said):
        name = match[1].rpartition(".")[2]
        known = {column.name for found in tables.values() for column in found}
        return f"There is no column {match[1]}{near(name, known)}"
    if match := re.fullmatch(r"no such table: (.+)", said):
        return f"There is no table {match[1]}{near(match[1], tables)}"
    if match := re.fullmatch(r"ambiguous column name: (.+)", said):
        return f"Several tables have a column {match[1]}: write table.{match[1]}."
    if match := re.fullmatch(r"no such function: (.+)", said):
        return f"SQLite has no function {match[1]} here: select the columns and do without it."
    if "Incorrect number of bindings" in said or "You did not supply a value for" in said:
        return f"{said.rstrip('.')}. params holds one value for each ? or :name in sql."
    if "one statement at a time" in said:
        return "Send one statement at a time, without ; inside it."
    return ""


def _of_rules(said: str, references: Iterable[str]) -> str:
    if match := re.fullmatch(r"NOT NULL constraint failed: (\S+)\.(\S+)", said):
        return f'{match[1]}.{match[2]} needs a value: send data with "{match[2]}".'
    if match := re.fullmatch(r"UNIQUE constraint failed: (.+)", said):
        names = [name.rpartition(".")[2] for name in match[1].split(", ")]
        table = match[1].partition(".")[0]
        return (
            f"{table} has a row with this {' and '.join(names)} already: send upsert to change it, "
            f"or another {' or '.join(names)}."
        )
    if match := re.fullmatch(r"CHECK constraint failed: (.+)", said, re.DOTALL):
        return f"A value breaks the rule CHECK ({match[1]}): send one that keeps it."
    if said == "FOREIGN KEY constraint failed":
        return (
            f"Rows of two tables belong together: {'; '.join(references) or 'see the schema'}. "
            "Save the row that is referred to first, and delete it last."
        )
    return ""


def _of_kinds(said: str) -> str:
    strict = re.fullmatch(r"cannot store (\S+) value in (\S+) column (\S+)", said)
    if strict:
        wanted = _KINDS.get(strict[2].upper(), strict[2])
        return f"{strict[3]} takes {wanted}, and this is {strict[1]}."
    if said == "datatype mismatch":
        return "The id of a row is a whole number: leave it out and one is chosen."
    return ""
