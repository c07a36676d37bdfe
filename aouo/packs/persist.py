"""One call of the `persist` tool, checked against the manifest and the real tables.

Its SQL is made of names that were found in the pack's own database, and of parameters.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Mapping
from typing import TypeAlias, cast

from aouo.errors import ToolFailed
from aouo.packs.manifest import Manifest
from aouo.packs.problems import did_you_mean
from aouo.packs.rows import Cell, Table, as_object, cell, described, from_json, shown
from aouo.packs.schema import Column, columns, tables
from aouo.packs.schema_guard import Guard, quoted

Bindings: TypeAlias = "tuple[Cell, ...] | dict[str, Cell]"
Answer: TypeAlias = dict[str, object]

ACTIONS = ("save", "practice", "upsert", "update", "delete", "recent", "query", "summary")
WRITES = frozenset({"save", "practice", "upsert", "update", "delete"})
MAX_ROWS = 50
_RECENT_ROWS = 10
_ANSWER_CHARS = 16_000
_CONTROL = frozenset({"action", "table", "data", "where", "sql", "params", "limit", "db"})
_OPERATORS = frozenset({"=", "!=", "<", "<=", ">", ">=", "like"})


class Call:
    """One call: its arguments checked against the manifest and the real tables."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        manifest: Manifest,
        guard: Guard,
        arguments: Mapping[str, object],
        session_key: str,
        now: str,
    ) -> None:
        self._connection = connection
        self._manifest = manifest
        self._guard = guard
        self._arguments = arguments
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
            case "delete":
                return self._delete()
            case "recent":
                return self._recent()
            case "query":
                return self._query()
            case _:
                return self._summary()

    def explain(self, error: Exception, refusal: str) -> str:
        """Say what SQLite said, and what the model needs to know to say it better."""
        try:
            made = self._usable()
        except sqlite3.Error:  # closed or damaged: there is nothing to quote
            return f"{refusal or error}."
        lines = " ".join(str(Table(name, made[name])) for name in made)
        return f"{refusal or error}. {lines or 'This pack has no tables.'}"[:2000]

    # Actions

    def _save(self) -> Answer:
        table, row = self._table(), self._data()
        if not row:
            raise ToolFailed(f"save needs data, an object of column: value. {table}")
        return {"table": table.name, "id": self._insert(table, row), "saved": 1}

    def _upsert(self) -> Answer:
        table, row = self._table(), self._data()
        where = self._mapping("where")
        if not where:
            key = self._unique_key(table, row)
            where = {name: row[name] for name in key}
        else:
            fixed = {
                name: value for name, value in where.items() if not isinstance(value, list | dict)
            }
            row = fixed | row
        found = self._change(table, row, where, allow_none=True)
        if found:
            return {"table": table.name, "updated": found, "inserted": 0}
        return {"table": table.name, "updated": 0, "inserted": 1, "id": self._insert(table, row)}

    def _update(self) -> Answer:
        table, row, where = self._table(), self._data(), self._needed_where("update")
        return _counted(table, "updated", self._change(table, row, where))

    def _delete(self) -> Answer:
        table, where = self._table(), self._needed_where("delete")
        clause, values = self._where(table, where)
        with self._guard.allow("write"):
            cursor = self._connection.execute(
                f"DELETE FROM {quoted(table.name)} WHERE {clause}", values
            )
        return _counted(table, "deleted", cursor.rowcount)

    def _recent(self) -> Answer:
        table, where = self._table(), self._mapping("where")
        skill_type = self._arguments.get("skill_type")
        if isinstance(skill_type, str) and table.has("skill_type"):
            where.setdefault("skill_type", skill_type)
        clause, values = self._where(table, where) if where else ("1", ())
        order = '"created_at" DESC, ' if table.has("created_at") else ""
        return self._rows(
            f"SELECT * FROM {quoted(table.name)} WHERE {clause} ORDER BY {order}"
            f"{self._tiebreak(table)} DESC",
            values,
            self._limit(_RECENT_ROWS),
        )

    def _query(self) -> Answer:
        sql = self._arguments.get("sql")
        if not isinstance(sql, str) or not sql.strip():
            made = ", ".join(self._usable()) or "none"
            raise ToolFailed(f"query needs sql, one SELECT. Tables: {made}.")
        return self._rows(sql.strip().rstrip(";"), self._params(), self._limit(MAX_ROWS))

    def _summary(self) -> Answer:
        answer: dict[str, object] = {}
        chosen = [self._table().name] if self._arguments.get("table") else list(self._usable())
        for name in chosen:
            found = Table(name, columns(self._connection, name))
            facts: dict[str, object] = {"columns": [described(item) for item in found.columns]}
            newest = ", min(created_at), max(created_at)" if found.has("created_at") else ""
            with self._guard.allow("read"):
                query = f"SELECT count(*){newest} FROM {quoted(name)}"
                row = self._connection.execute(query).fetchone()
            facts["rows"] = row[0]
            if newest and row[0]:
                facts["first"], facts["last"] = shown(row[1]), shown(row[2])
            answer[name] = facts
        return {"tables": answer}

    # Writing

    def _insert(self, table: Table, given: Mapping[str, object]) -> int:
        row = dict(given)
        for name, value in self._filled.items():
            if table.has(name) and row.get(name) is None:
                row[name] = value
        self._check_contract(table, row, complete=True)
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
        clause, where_values = self._where(table, where)
        same = {name for name, value in where.items() if row.get(name) == value}
        changes = {name: value for name, value in row.items() if name not in same}
        if not changes and not allow_none:
            raise ToolFailed(f"update needs data, an object of column: new value. {table}")
        self._check_contract(table, changes, complete=False)
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

    def _unique_key(self, table: Table, row: Mapping[str, object]) -> tuple[str, ...]:
        """Return the names in `row` of the first primary or unique key it has in full."""
        given = {name.lower(): name for name, value in row.items() if value is not None}
        keys = self._keys(table)
        for key in keys:
            if all(column.lower() in given for column in key):
                return tuple(given[column.lower()] for column in key)
        choices = " or ".join("+".join(key) for key in keys) or "no unique columns here"
        raise ToolFailed(
            f"upsert has to know which row: give where, or a unique key in data ({choices}). "
            f"{table}"
        )

    def _keys(self, table: Table) -> list[tuple[str, ...]]:
        primary = sorted((item for item in table.columns if item.key), key=lambda item: item.key)
        keys = [tuple(item.name for item in primary)] if primary else []
        indexes = self._connection.execute(f"PRAGMA index_list({quoted(table.name)})").fetchall()
        for _, name, unique, origin, partial in indexes:
            if unique and not partial and origin != "pk":
                info = self._connection.execute(f"PRAGMA index_info({quoted(name)})").fetchall()
                if all(column is not None for _, _, column in info):
                    keys.append(tuple(str(column) for _, _, column in info))
        return keys

    def _check_contract(self, table: Table, row: Mapping[str, object], *, complete: bool) -> None:
        """Hold a row to the manifest's contract, as far as the table has such columns."""
        contract = self._manifest.persist_contract
        there = {name.lower(): value for name, value in row.items()}
        if complete:
            needed = [name for name in contract.required_fields if table.has(name.lower())]
            missing = [name for name in needed if there.get(name.lower()) is None]
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

    # Reading

    def _rows(self, sql: str, values: Bindings, limit: int) -> Answer:
        tables(self._connection)  # declares virtual tables, which the guard would refuse later
        self._connection.execute("PRAGMA query_only=ON")
        try:
            with self._guard.allow("read"):
                cursor = self._connection.execute(sql, values)
                found = cursor.fetchmany(limit + 1)
                names = _distinct(str(item[0]) for item in cursor.description or ())
                cursor.close()
        finally:
            self._connection.execute("PRAGMA query_only=OFF")
        rows: list[dict[str, object]] = []
        room = _ANSWER_CHARS
        for values_of_row in found[:limit]:
            row = {name: shown(value) for name, value in zip(names, values_of_row, strict=True)}
            room -= len(json.dumps(row, ensure_ascii=False))
            if room < 0 and rows:
                break
            rows.append(row)
        answer: Answer = {"rows": rows, "count": len(rows)}
        if len(found) > len(rows):
            answer["note"] = "there are more rows; ask for fewer columns, or use WHERE and LIMIT"
        return answer

    def _tiebreak(self, table: Table) -> str:
        try:
            self._connection.execute(f"SELECT rowid FROM {quoted(table.name)} LIMIT 0")
        except sqlite3.Error:  # WITHOUT ROWID: it has a primary key
            return next(quoted(item.name) for item in table.columns if item.key)
        return "rowid"

    def _where(self, table: Table, where: Mapping[str, object]) -> tuple[str, tuple[Cell, ...]]:
        """Write conditions that all have to hold as SQL."""
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

    # Arguments

    def _usable(self) -> dict[str, tuple[Column, ...]]:
        made = tables(self._connection)
        owned = {name.lower() for name in self._manifest.schema.owned_tables}
        return {name: found for name, found in made.items() if not owned or name.lower() in owned}

    def _table(self) -> Table:
        usable = self._usable()
        if not usable:
            raise ToolFailed("This pack keeps no tables; use the memory tool instead.")
        owned = self._manifest.schema.owned_tables
        default = owned[0] if owned else next(iter(usable))
        wanted = self._arguments.get("table") or default
        for name, found in usable.items():
            if name.lower() == str(wanted).lower():
                return Table(name, found)
        hint = did_you_mean(str(wanted), usable)
        raise ToolFailed(f"There is no table {wanted!r}{hint}. Tables: {', '.join(usable)}.")

    def _data(self) -> dict[str, object]:
        free = {name: value for name, value in self._arguments.items() if name not in _CONTROL}
        return free | self._mapping("data")

    def _mapping(self, argument: str) -> dict[str, object]:
        given = self._arguments.get(argument)
        return {} if given is None or given == "" else as_object(given, argument)

    def _needed_where(self, action: str) -> dict[str, object]:
        where = self._mapping("where")
        if not where:
            raise ToolFailed(f'{action} needs where, such as {{"id": 3}}: which rows to {action}.')
        return where

    def _params(self) -> Bindings:
        given = self._arguments.get("params")
        if isinstance(given, str) and given:
            given = from_json(given, "params")
        if isinstance(given, list):
            return tuple(cell("params", item) for item in cast("list[object]", given))
        if isinstance(given, Mapping):
            named = cast("Mapping[str, object]", given)
            return {name.lstrip(":@$"): cell(name, value) for name, value in named.items()}
        if given in (None, ""):
            return ()
        return (cell("params", given),)

    def _limit(self, default: int) -> int:
        given = self._arguments.get("limit")
        if given in (None, ""):
            return default
        try:
            return max(1, min(MAX_ROWS, int(cast("str", given))))
        except (TypeError, ValueError) as error:
            raise ToolFailed(f"limit is a number from 1 to {MAX_ROWS}, not {given!r}.") from error


def _counted(table: Table, what: str, rows: int) -> Answer:
    answer: Answer = {"table": table.name, what: rows}
    return answer if rows else answer | {"note": "no row matches where; read the rows first"}


def _distinct(names: Iterable[str]) -> list[str]:
    """Number names that come twice, as in a join, so that no value hides another."""
    taken: list[str] = []
    for name in names:
        again = sum(1 for other in taken if other == name or other.startswith(f"{name}:"))
        taken.append(f"{name}:{again + 1}" if again else name)
    return taken
