"""Carries out the actions of `persist`, within manifest and real tables.

Its SQL is made of names that were found in the pack's own database, and of parameters.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Mapping

from aouo.facts.errors import ToolFailed
from aouo.packs.data.reading import Found, ReadConnection
from aouo.packs.data.rows import (
    Answer,
    Column,
    Table,
    as_object,
    cell,
    described,
    keys,
    near,
    unwritten,
)
from aouo.packs.data.schema_guard import Guard, quoted
from aouo.packs.data.wish import MAX_ROWS, Wish, conditions
from aouo.packs.format.manifest import Manifest, PersistContract

WRITES = ("save", "practice", "upsert", "update", "delete")
_OF_READS = ("limit", "sql", "params")
_TIME_TYPES = frozenset({"DATE", "DATETIME", "TIMESTAMP"})
_TIME_DEFAULT = re.compile(
    r"\(?\s*(date|datetime|strftime|current_(date|timestamp))\b", re.IGNORECASE
)
_CLOCK = r"([01]\d|2[0-3]):[0-5]\d(:[0-5]\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)?"
_DAY = r"\d{4}-(0[1-9]|1[0-2])-(0[1-9]|[12]\d|3[01])"
_TIME = re.compile(rf"{_DAY}([ T]{_CLOCK})?|{_CLOCK}")


class PersistCall:
    """One call that writes; the caller holds the transaction."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        manifest: Manifest,
        guard: Guard,
        wish: Wish,
        session_key: str,
        now: str,
    ) -> None:
        self._connection = connection
        self._contract = manifest.persist_contract
        self._guard = guard
        self._wish = wish
        self._filled = {"session_id": session_key, "created_at": now, "updated_at": now}
        self._now = now

    def carry_out(self, action: str) -> Answer:
        match action:
            case "save" | "practice":
                return self._save()
            case "upsert":
                return self._upsert()
            case "update":
                return self._update()
            case _:
                return self._delete()

    def explain(self, error: Exception) -> str:
        """Say what SQLite said, and what the model needs to know to say it better."""
        said = self._guard.refusal or str(error)
        try:
            return unwritten(said, self._wish.writable, self._references())
        except sqlite3.Error:  # closed or damaged: there is nothing to quote
            return f"{said}."

    def _save(self) -> Answer:
        table, row = self._row()
        if self._wish.mapping("where"):
            raise ToolFailed(
                "save makes a new row and takes no where: send update or upsert to change one, "
                "or leave where out."
            )
        if not row:
            raise ToolFailed(f"save needs data, an object of column: value. {table}")
        return {"table": table.name, "id": self._insert(table, row), "saved": 1}

    def _row(self) -> tuple[Table, dict[str, object]]:
        table, row = self._wish.row()
        self._wish.leave_no_column_out(table, _OF_READS)
        return table, row

    def _upsert(self) -> Answer:
        table, row = self._row()
        where = self._wish.mapping("where")
        if not where:
            key = self._unique_key(table, row)
            where = {name: row[name] for name in key}
        else:
            given = {name.lower() for name in row}
            fixed = {
                name: value
                for name, value in where.items()
                if not isinstance(value, list | dict) and name.lower() not in given
            }
            row = fixed | row
        found = self._change(table, row, where, allow_none=True)
        if found:
            return {"table": table.name, "updated": found, "inserted": 0}
        return {"table": table.name, "updated": 0, "inserted": 1, "id": self._insert(table, row)}

    def _update(self) -> Answer:
        table, row = self._row()
        where = self._wish.needed_where("update")
        return _counted(table, "updated", self._change(table, row, where))

    def _delete(self) -> Answer:
        table, where = self._wish.table(write=True), self._wish.needed_where("delete")
        clause, values = conditions(table, where)
        with self._guard.allow("write"):
            cursor = self._connection.execute(
                f"DELETE FROM {quoted(table.name)} WHERE {clause}", values
            )
        return _counted(table, "deleted", cursor.rowcount)

    def _insert(self, table: Table, given: Mapping[str, object]) -> int:
        row = dict(given)
        for name, value in self._filled.items():
            if table.has(name) and row.get(name) is None:
                row[name] = value
        self._check(table, row, complete=True)
        names = ", ".join(table.column(name) for name in row)
        marks = ", ".join("?" for _ in row)
        values = tuple(cell(name, value) for name, value in row.items())
        with self._guard.allow("write"):
            cursor = self._connection.execute(
                f"INSERT INTO {quoted(table.name)} ({names}) VALUES ({marks})", values
            )
        return cursor.lastrowid or 0

    def _change(
        self,
        table: Table,
        row: Mapping[str, object],
        where: Mapping[str, object],
        *,
        allow_none: bool = False,
    ) -> int:
        clause, where_values = conditions(table, where)
        same = {name for name, value in where.items() if row.get(name) == value}
        changes = {name: value for name, value in row.items() if name not in same}
        if not changes and not allow_none:
            raise ToolFailed(f"update needs data, an object of column: new value. {table}")
        self._check(table, changes, complete=False)
        if table.has("updated_at"):
            changes = {"updated_at": self._now} | changes
        # A change to what is already so still finds its rows.
        some = changes or dict(list(where.items())[:1])
        sets = ", ".join(
            f"{table.column(name)} = {'?' if changes else table.column(name)}" for name in some
        )
        values = tuple(cell(name, value) for name, value in changes.items())
        with self._guard.allow("write"):
            return self._connection.execute(
                f"UPDATE {quoted(table.name)} SET {sets} WHERE {clause}", (*values, *where_values)
            ).rowcount

    def _check(self, table: Table, row: Mapping[str, object], *, complete: bool) -> None:
        _check_fields(self._contract, table, row)
        _check_contract(self._contract, table, row, complete=complete)
        _check_times(table, row, self._now)

    def _unique_key(self, table: Table, row: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names in `row` of the first primary or unique key it has in full."""
        given = {name.lower(): name for name, value in row.items() if value is not None}
        unique = keys(self._connection, table.name)
        for key in unique:
            if all(column.lower() in given for column in key):
                return tuple(given[column.lower()] for column in key)
        choices = " or ".join("+".join(key) for key in unique) or "no unique columns here"
        raise ToolFailed(
            f"upsert has to know which row: give where, or a unique key in data ({choices}). "
            f"{table}"
        )

    def _references(self) -> list[str]:
        found: list[str] = []
        for table in self._wish.writable:
            query = f"PRAGMA foreign_key_list({quoted(table)})"
            for _, _, target, column, wanted, *_ in self._connection.execute(query).fetchall():
                rule = f"each {table}.{column} has to be a {target}.{wanted or 'key'}"
                found.append(rule)
        return found


def _counted(table: Table, what: str, rows: int) -> Answer:
    answer: Answer = {"table": table.name, what: rows}
    return answer if rows else answer | {"note": "no row matches where; read the rows first"}


def _check_fields(contract: PersistContract, table: Table, row: Mapping[str, object]) -> None:
    """Hold names to the columns, and say which fields the pack means where it lists them.

    Raises:
        ToolFailed: a field that is no column.
    """
    fields = (*contract.required_fields, *contract.optional_fields)
    if not contract.required_fields or not contract.optional_fields:
        return  # `Table.column` refuses the name, with the columns there are
    wrong = [name for name in row if not table.has(name.lower())]
    if promised := [name for name in wrong if name in contract.optional_fields]:
        lacks = f"{table.name} has no column {', '.join(promised)}, though the pack names it"
        raise ToolFailed(f"{lacks}: leave it out of data. {table}")
    if wrong:
        end = near(wrong[0], [*fields, *(item.name for item in table.columns)])
        raise ToolFailed(
            f"{', '.join(wrong)} is no field of this pack{end} Fields: {', '.join(fields)}. {table}"
        )


def _check_contract(
    contract: PersistContract, table: Table, row: Mapping[str, object], *, complete: bool
) -> None:
    """Hold a row to the manifest's contract, as far as the table has such columns.

    Raises:
        ToolFailed: says what is missing, or what a field may hold.
    """
    there = {name.lower(): value for name, value in row.items()}
    needed = [name for name in contract.required_fields if table.has(name.lower())]
    asked = needed if complete else [name for name in needed if name.lower() in there]
    missing = [name for name in asked if there.get(name.lower()) is None]
    if missing:
        raise ToolFailed(f"data lacks {', '.join(missing)}, required by the pack. {table}")
    kind, prefix = there.get("skill_type"), contract.skill_type_prefix
    if isinstance(kind, str) and not kind.startswith(prefix):
        raise ToolFailed(f'skill_type has to begin with "{prefix}", not be {kind!r}.')
    scores = there.get("subcap_scores")
    if contract.subcap_keys and scores is not None:
        given = as_object(scores, "subcap_scores")
        wrong = [key for key in given if key not in contract.subcap_keys]
        if wrong:
            known = ", ".join(contract.subcap_keys)
            raise ToolFailed(f"subcap_scores may hold {known}; not {', '.join(wrong)}.")


def _check_times(table: Table, row: Mapping[str, object], now: str) -> None:
    """Keep words such as "tomorrow" out of columns that SQLite's date functions will read.

    Raises:
        ToolFailed: says how a time is written.
    """
    for column in table.columns:
        value = next((row[name] for name in row if name.lower() == column.name.lower()), None)
        if isinstance(value, str) and value and _is_time(column) and not _TIME.fullmatch(value):
            raise ToolFailed(
                f"{column.name} is a date such as {now[:10]} or a time such as {now[:19]}Z, "
                f"not {value[:80]!r}."
            )


def _is_time(column: Column) -> bool:
    """Whether a column holds times: by its type, by its default, or as `…_at`."""
    return (
        column.type.upper() in _TIME_TYPES
        or bool(column.default and _TIME_DEFAULT.match(column.default))
        or column.name.lower().endswith("_at")
    )


_RECENT_ROWS = 10


def look(action: str, wish: Wish, reader: ReadConnection) -> Answer:
    """Carry out one of them.

    Raises:
        ToolFailed: says what to write instead.
    """
    match action:
        case "recent":
            return _recent(wish, reader)
        case "query":
            return _query(wish, reader)
        case _:
            return _summary(wish, reader)


def answer_of(found: Found) -> Answer:
    answer: Answer = {"rows": list(found.rows), "count": len(found.rows)}
    if found.more:
        answer["note"] = "there are more rows; ask for fewer columns, or use WHERE and LIMIT"
    return answer


def _recent(wish: Wish, reader: ReadConnection) -> Answer:
    table, where = wish.table(write=False), wish.mapping("where")
    skill_type = wish.text("skill_type")
    if skill_type and table.has("skill_type"):
        where.setdefault("skill_type", skill_type)
    clause, values = conditions(table, where) if where else ("1", ())
    order = '"created_at" DESC, ' if table.has("created_at") else ""
    sql = f"SELECT * FROM {quoted(table.name)} WHERE {clause} ORDER BY {order}{{}} DESC"
    limit = wish.limit(_RECENT_ROWS)
    try:
        return answer_of(reader.rows(sql.format("rowid"), values, limit=limit))
    except ToolFailed as error:
        if "rowid" not in str(error):
            raise
        key = next((quoted(item.name) for item in table.columns if item.key), "1")  # WITHOUT ROWID
        return answer_of(reader.rows(sql.format(key), values, limit=limit, hidden=wish.hidden))


def _query(wish: Wish, reader: ReadConnection) -> Answer:
    sql = wish.text("sql")
    if not sql:
        made = ", ".join(wish.readable) or "none"
        raise ToolFailed(f"query needs sql, one SELECT. Tables: {made}.")
    limit, hidden = wish.limit(MAX_ROWS), wish.hidden
    return answer_of(reader.rows(sql.rstrip(";"), wish.params(), limit=limit, hidden=hidden))


def _summary(wish: Wish, reader: ReadConnection) -> Answer:
    answer: dict[str, object] = {}
    one = wish.table(write=False) if wish.names_a_table else None
    tables = {one.name: one.columns} if one else wish.readable
    for name, columns in tables.items():
        table = Table(name, columns)
        facts: dict[str, object] = {"columns": [described(item) for item in columns]}
        dated = table.has("created_at")
        newest = ", min(created_at) AS first, max(created_at) AS last" if dated else ""
        sql = f"SELECT count(*) AS rows{newest} FROM {quoted(name)}"
        (row,) = reader.rows(sql, (), limit=1).rows
        answer[name] = facts | {key: value for key, value in row.items() if value is not None}
    return {"tables": answer}
