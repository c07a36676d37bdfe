"""Gives a database the first rows of a pack, each once and never again."""

from __future__ import annotations

import contextlib
import json
import math
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aouo.packs.data.columns import columns, keys
from aouo.packs.data.schema_guard import Guard, quoted
from aouo.packs.data.schema_text import Statement, Token, pieces, tokens

TABLE = (
    "CREATE TABLE IF NOT EXISTS _aouo_seeds"
    "(name TEXT NOT NULL, cells TEXT NOT NULL, PRIMARY KEY (name, cells)) STRICT"
)
_COMPOUND = ("union", "except", "intersect")
_MAX_ROWS = 10_000
_MAX_CHARS = 16_000_000
_MOST_ROWS = 20_000  # of a whole schema, which a trial runs twice
_TAKEN = ("SQLITE_CONSTRAINT_UNIQUE", "SQLITE_CONSTRAINT_PRIMARYKEY", "SQLITE_CONSTRAINT_ROWID")


@dataclass(frozen=True, slots=True)
class Seed:
    """One row of an INSERT: its cells as SQL, by column, and the statement for it alone."""

    table: str
    cells: Mapping[str, str]
    sql: str
    upserts: bool


class _Given:
    """The rows that one table was given, found again without looking at each."""

    def __init__(self) -> None:
        self.rows: list[Mapping[str, str]] = []
        self._whole: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
        self._by_key: dict[tuple[str, ...], dict[tuple[str, ...], Mapping[str, str]]] = {}

    def add(self, cells: Mapping[str, str]) -> None:
        names = tuple(sorted(cells))
        whole, values = self._whole.setdefault(names, set()), _values(cells, names)
        if values in whole:
            return
        whole.add(values)
        self.rows.append(dict(cells))
        for key, found in self._by_key.items():
            _file(found, key, self.rows[-1])

    def with_key(self, key: tuple[str, ...], cells: Mapping[str, str]) -> Mapping[str, str] | None:
        """The first row that says the same in the columns of a key."""
        if key not in self._by_key:
            found = self._by_key[key] = {}
            for row in self.rows:
                _file(found, key, row)
        return self._by_key[key].get(_values(cells, key))

    def within(self, cells: Mapping[str, str]) -> Mapping[str, str] | None:
        """A row that says nothing else, though perhaps less: a table may have grown."""
        for names, whole in self._whole.items():
            if names and cells.keys() >= set(names) and _values(cells, names) in whole:
                return {name: cells[name] for name in names}
        return None


def _values(cells: Mapping[str, str], names: Sequence[str]) -> tuple[str, ...]:
    return tuple(cells[name] for name in names)


def _file(
    found: dict[tuple[str, ...], Mapping[str, str]], key: tuple[str, ...], row: Mapping[str, str]
) -> None:
    if row.keys() >= set(key):
        found.setdefault(_values(row, key), row)


class Seeds:
    """Plants rows, and remembers which were given; a row a person deleted stays away.

    A row is known again by the table's key if it has one in full, else by all its cells.
    `order`: the columns of a table as its CREATE has them, for an INSERT that names none.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        guard: Guard,
        *,
        grown: bool,
        order: Mapping[str, Sequence[str]] | None = None,
    ) -> None:
        """`grown`: people have used this database, so rows of theirs come first."""
        self._connection = connection
        self._guard = guard
        self._grown = grown
        self._order = order or {}
        self._given: dict[str, _Given] = {}
        self._left = 2 * _MOST_ROWS

    def recall(self) -> None:
        """Read what was given to this database before."""
        for name, cells in self._connection.execute("SELECT name, cells FROM _aouo_seeds"):
            self._given.setdefault(name, _Given()).add(json.loads(cells))

    def record(self) -> None:
        """Keep what was given."""
        rows = [
            (name, json.dumps(cells, sort_keys=True, ensure_ascii=False))
            for name, given in self._given.items()
            for cells in given.rows
        ]
        self._connection.executemany("INSERT OR IGNORE INTO _aouo_seeds VALUES (?, ?)", rows)

    def plant(self, statement: Statement) -> None:
        """Insert what of a statement was not given before.

        Raises:
            sqlite3.Error: as SQLite says.
        """
        made: dict[str, list[tuple[str, ...]]] = {}
        for seed in self._seeds(statement):
            self._left -= 1
            if self._left < 0:
                raise sqlite3.DataError(f"first rows are at most {_MOST_ROWS:,} in all")
            if seed.table not in made:
                made[seed.table] = keys(self._connection, seed.table)
            key = _key(seed, made[seed.table])
            given = self._given.setdefault(seed.table, _Given())
            before = given.with_key(key, seed.cells) if key else given.within(seed.cells)
            if before is None or (
                seed.upserts and before != seed.cells and key and self._is_there(seed, key)
            ):
                self._insert(seed)
            given.add(seed.cells)

    def _insert(self, seed: Seed) -> None:
        self._connection.execute("SAVEPOINT seed")
        try:
            with self._guard.allow("seed"):
                cursor = self._connection.execute(seed.sql)
                cursor.fetchall()
            if self._grown and cursor.rowcount == 1 and not seed.upserts:
                self._drop_if_doubled(seed.table, cursor.lastrowid or 0)
        except sqlite3.IntegrityError as error:
            self._connection.execute("ROLLBACK TO seed")
            if not (self._grown and error.sqlite_errorname in _TAKEN):
                raise  # else a person has a row with this key already
        finally:
            if self._connection.in_transaction:
                self._connection.execute("RELEASE seed")

    def _is_there(self, seed: Seed, key: tuple[str, ...]) -> bool:
        same = " AND ".join(f"{quoted(name)} IS ({seed.cells[name]})" for name in key)
        query = f"SELECT 1 FROM {quoted(seed.table)} WHERE {same}"
        with self._guard.allow("read"):
            return self._connection.execute(query).fetchone() is not None

    def _drop_if_doubled(self, table: str, row: int) -> None:
        """Take a row back that says what an older one says, wherever it is not made up."""
        same = " AND ".join(
            f"old.{quoted(column.name)} IS {quoted(table)}.{quoted(column.name)}"
            for column in columns(self._connection, table)
            if column.constant and not (column.key and column.type.upper() == "INTEGER")
        )
        with contextlib.suppress(sqlite3.OperationalError):  # WITHOUT ROWID: it has a key
            if same:
                with self._guard.allow("write"):  # triggers are the pack's
                    self._connection.execute(
                        f"DELETE FROM {quoted(table)} WHERE rowid = ? AND EXISTS "
                        f"(SELECT 1 FROM {quoted(table)} AS old WHERE old.rowid < ? AND {same})",
                        (row, row),
                    )

    def _seeds(self, statement: Statement) -> Iterator[Seed]:
        sql, found = statement.sql.rstrip("; \n\t"), tokens(statement.sql.rstrip("; \n\t"))
        into = _find(found, "into")
        name = _name_ends(found, into + 1)
        if name >= len(found):  # cut off: SQLite says so
            yield Seed("", {}, sql, upserts=False)
            return
        table = found[name].plain.rpartition(".")[2]
        source = next(_outer(found, name + 1, "values", "select", "with", "default"), len(found))
        listed = _find(found, "(")
        named = [item[0].plain for item in pieces(found, listed) if item and listed < source]
        order = named or self._order.get(table) or self._columns(table)
        columns_of = "" if named or not order else f"({', '.join(map(quoted, order))}) "
        tail = _tail(found, source)
        upserts = "update" in {token.plain for token in found[tail:]}
        end = sql[found[tail].start :] if tail < len(found) else ""
        match found[source].plain if source < len(found) else "default":
            case "default":
                yield Seed(table, {}, sql, upserts=False)
                return
            case "values" if not any(_outer(found[:tail], source, *_COMPOUND)):
                _check_texts(sql, found[source:tail])
                rows = (
                    [sql[cell[0].start : cell[-1].end] for cell in pieces(found, at) if cell]
                    for at, _ in _rows(found, source + 1)
                )
            case _:
                query = sql[found[source].start : found[tail - 1].end]
                rows = self._selected(query)
        head = f"{sql[: found[source].start]}{columns_of}VALUES"
        for cells in rows:
            single = f"{head} ({', '.join(cells)}) {end}"
            yield Seed(table, dict(zip(order, cells, strict=False)), single, upserts)

    def _selected(self, query: str) -> list[list[str]]:
        """The rows of a query, each value as SQL."""
        rows: list[list[str]] = []
        chars = 0
        with self._guard.allow("seed"):
            for row in self._connection.execute(query):
                rows.append([_literal(value) for value in row])
                chars += sum(map(len, rows[-1]))
                if len(rows) > _MAX_ROWS or chars > _MAX_CHARS:
                    most = f"{_MAX_ROWS:,} and {_MAX_CHARS // 1_000_000} MB"
                    raise sqlite3.DataError(f"first rows of a query are at most {most}")
        return rows

    def _columns(self, table: str) -> list[str]:
        return [column.name.lower() for column in columns(self._connection, table)]


def _key(seed: Seed, made: Sequence[tuple[str, ...]]) -> tuple[str, ...]:
    """The first key of the table that a row has in full, () = none."""
    for key in made:
        names = tuple(name.lower() for name in key)
        if all(name in seed.cells for name in names):
            return names
    return ()


def _find(found: Sequence[Token], word: str) -> int:
    return next(
        (at for at, token in enumerate(found) if token.plain == word and not token.quoted),
        len(found),
    )


def _outer(found: Sequence[Token], start: int, *words: str) -> Iterator[int]:
    """Where one of these words stands outside of parentheses."""
    depth = 0
    for at in range(start, len(found)):
        if not found[at].quoted:
            depth += {"(": 1, ")": -1}.get(found[at].plain, 0)
            if depth == 0 and found[at].plain in words:
                yield at


def _tail(found: Sequence[Token], source: int) -> int:
    """Where an INSERT says what to do about a row that is there."""
    for at in _outer(found, source, "on", "returning"):
        if found[at].plain == "returning":
            raise sqlite3.DataError("first rows are written without RETURNING")
        if [token.plain for token in found[at + 1 : at + 2]] == ["conflict"]:
            return at
    return len(found)


def _check_texts(sql: str, found: Sequence[Token]) -> None:
    """SQLite takes a name where none can be for a text, which hides a mistake."""
    if not any(token.plain in ("select", "collate", "as") for token in found):
        for token in found:
            if token.quoted:
                name = sql[token.start : token.end]
                raise sqlite3.DataError(
                    f"a value is a constant, and {name} is a name: text stands in 'quotes'"
                )


def _literal(value: object) -> str:
    """A value as SQL that means the same."""
    match value:
        case None:
            return "NULL"
        case bytes():
            return f"x'{value.hex()}'"
        case str() if "\0" in value:
            return f"CAST(x'{value.encode().hex()}' AS TEXT)"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case float() if math.isinf(value):
            return "9e999" if value > 0 else "-9e999"
        case _:
            return repr(value)


def _name_ends(found: Sequence[Token], at: int) -> int:
    """Where the name of a table ends, which may stand after that of its database."""
    return at + 2 if at + 2 < len(found) and found[at + 1].plain == "." else at


def _rows(found: Sequence[Token], at: int) -> Iterator[tuple[int, int]]:
    """Where each row of VALUES opens and closes."""
    depth, opening = 0, at
    for place in range(at, len(found)):
        plain = found[place].plain if not found[place].quoted else ""
        if depth == 0 and plain not in ("(", ","):
            return
        if plain == "(":
            opening = place if depth == 0 else opening
            depth += 1
        elif plain == ")":
            depth -= 1
            if depth == 0:
                yield opening, place
