"""Stores a pack's rows in the pack's own database for `persist`, each write exactly once.

Packs' own databases are the one place outside `store/` that runs SQL, because the text is the
pack's: names of its tables, its `schema.sql`, its queries. `schema_guard` holds what they may do.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sqlite3
import threading
import time
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, cast

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.data.migrations import Migration
from aouo.packs.data.opening import open_database
from aouo.packs.data.persist import WRITES, PersistCall, answer_of, look
from aouo.packs.data.reading import Found, ReadConnection
from aouo.packs.data.rows import Answer, Cell, near, shown
from aouo.packs.data.schema import apply_schema
from aouo.packs.data.schema_guard import Guard, SchemaRefused, TookTooLong, quoted
from aouo.packs.data.undo import TOO_MUCH, Changes
from aouo.packs.data.wish import Wish, bindings
from aouo.packs.format.manifest import Manifest
from aouo.plumbing import failpoint

_Writer: TypeAlias = tuple[sqlite3.Connection, Guard, Changes]
_ELSEWHERE = "elsewhere:"
_ACTIONS = (*WRITES, "recent", "query", "summary")
_LOOK_ROWS = 100
_FOUND_ROWS = 20
_KEPT_CALLS = 10_000  # a call is repeated after a crash, so only the newest can come again
_RECORD_BYTES = 900_000  # of one record; a row of SQLite has a megabyte here
_LARGE_CHARS, _UNDO_CHARS = 4_000, 16_000_000
"""What is kept of all calls to put them back: after a large one the oldest are let go."""
_PRUNE = """
UPDATE _aouo_calls SET undo = ?1 WHERE undo NOT LIKE 'elsewhere:%' AND length(undo) > 1
AND rowid <= (SELECT max(rowid) FROM (SELECT rowid, sum(length(undo)) OVER (ORDER BY rowid DESC)
AS kept FROM _aouo_calls) WHERE kept > ?2)
"""
_OF_CALL = "(call_id = ?1 OR (call_id > ?1 || '.' AND call_id < ?1 || '/'))"
"""A call and its parts: `call`, `call.1`, `call.2` …"""


class PackStore:
    """One pack's database; calls are taken one at a time, from any thread.

    A write and the record of its `call_id` are one transaction that is on disk when `run`
    returns: killed anywhere, the same call again has no second effect and the same answer.
    """

    def __init__(
        self,
        path: Path,
        manifest: Manifest,
        schema_sql: str,
        *,
        migrations: Sequence[Migration] = (),
        back_up: Callable[[sqlite3.Connection], Path] | None = None,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Open, create or bring up to date the database at `path`.

        Rows that might be touched are copied by `back_up` first; `backup` is that file.

        Raises:
            PackError: the schema does not run or the file cannot be used; nothing changed.
        """
        self.backup: Path | None = None
        self._path, self._monotonic = path, monotonic
        self._manifest = manifest
        self._lock = threading.Lock()
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            connection = open_database(str(path))
        except (OSError, sqlite3.Error) as error:
            raise PackError(f"{path} cannot be opened: {error}.") from error
        guard = Guard(connection, monotonic=monotonic)

        def before_change() -> None:
            self.backup = back_up(connection) if back_up else None

        try:
            apply_schema(
                connection,
                guard,
                schema_sql,
                manifest.schema.extends_columns,
                migrations,
                before_change=before_change,
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS _aouo_calls"
                "(call_id TEXT PRIMARY KEY, result TEXT NOT NULL, at TEXT NOT NULL, "
                "undo TEXT NOT NULL DEFAULT '', undone_at TEXT NOT NULL DEFAULT '') STRICT"
            )
            connection.execute(
                "CREATE TABLE IF NOT EXISTS _aouo_sources"
                "(name TEXT PRIMARY KEY, source TEXT NOT NULL) STRICT"
            )
            self._writer: _Writer | None = (connection, guard, Changes(connection, guard))
            self._reader, self._closed = ReadConnection(path, monotonic=monotonic), False
        except sqlite3.Error as error:
            connection.close()
            raise PackError(f"{path} cannot be used: {error}.") from error
        except SchemaRefused as error:
            connection.close()
            raise _in_words(manifest, error) from error
        except BaseException:
            connection.close()
            raise

    def close(self) -> None:
        """Wait for a running call and close the file for good; twice is once."""
        self.rest()
        self._closed = True
        self._reader.close()

    def rest(self) -> None:
        """Wait for a running call and let the files go; the next call opens them again."""
        with self._lock:
            self._reader.rest()
            if self._writer:
                self._writer[0].close()
            self._writer = None

    def _writing(self) -> _Writer:
        if self._closed:
            raise sqlite3.ProgrammingError("Cannot operate on a closed database.")
        if self._writer is None:
            connection = open_database(str(self._path))
            guard = Guard(connection, monotonic=self._monotonic)
            self._writer = (connection, guard, Changes(connection, guard))
        return self._writer

    @property
    def _connection(self) -> sqlite3.Connection:
        return self._writing()[0]

    @property
    def _guard(self) -> Guard:
        return self._writing()[1]

    @property
    def _changes(self) -> Changes:
        return self._writing()[2]

    def tables(self) -> dict[str, tuple[str, ...]]:
        """Return the pack's tables and their columns."""
        made = self._reader.tables()
        return {table: tuple(column.name for column in found) for table, found in made.items()}

    def run(
        self,
        action: str,
        arguments: Mapping[str, object],
        *,
        call_id: str,
        session_key: str,
        now: str,
        source: str = "",
    ) -> Answer:
        """Carry out one call of the `persist` tool; arguments that it does not know are data.

        `source` is whose words, besides the person's own, its rows may repeat.

        Raises:
            ToolFailed: nothing was changed; says what to write instead.
        """
        chosen = {"": "save", "recent_practice": "recent"}.get(action, action)
        if chosen not in _ACTIONS:
            end = near(chosen, _ACTIONS)
            raise ToolFailed(f"There is no action {action!r}{end} Use {', '.join(_ACTIONS)}.")
        wish = Wish(arguments, self._manifest, self._reader.tables())
        if chosen not in WRITES:
            return look(chosen, wish, self._reader)
        with self._lock:
            call = PersistCall(
                self._connection, self._manifest, self._guard, wish, session_key, now
            )
            with _worded(call.explain):
                return self._once(lambda: call.carry_out(chosen), call_id, now, source=source)

    def act(
        self,
        statements: Sequence[str],
        values: Mapping[str, Cell],
        find: str = "",
        *,
        call_id: str,
        now: str,
        undoable: bool = True,
        source: str = "",
    ) -> Answer:
        """Carry out an action's statements as one call; `:name` in them is one of `values`.

        Returns `{changed: how many rows, found: the first rows of `find`, more: how many there are
        besides}`; `source` as in `run`.

        Raises:
            ToolFailed: nothing was changed; says what the database said.
        """

        def carry_out() -> Answer:
            changed = 0
            for sql in statements:
                with self._guard.allow("act"):
                    changed += max(0, self._connection.execute(sql, values).rowcount)
            rows, more = self._first(find, values) if find else ([], 0)
            return {"changed": changed, "found": rows, "more": more}

        with self._lock, _worded(lambda error: self._guard.refusal or str(error)):
            undo = None if undoable else ""
            return self._once(carry_out, call_id, now, undo=undo, source=source)

    def _first(self, sql: str, values: Mapping[str, Cell]) -> tuple[list[Answer], int]:
        """Return the first rows, and how many there are besides."""
        with self._guard.allow("read"):
            cursor = self._connection.execute(sql, values)
            rows = cursor.fetchmany(_FOUND_ROWS)
            names = [str(item[0]) for item in cursor.description or ()]
            more = sum(1 for _ in cursor)
            cursor.close()
        return [dict(zip(names, map(shown, row), strict=True)) for row in rows], more

    def undoable(self, call_id: str) -> bool:
        """Whether this call changed rows, all of which may be put back as the tables are now."""
        with self._lock:
            kept = [undo for undo, undone in self._kept(call_id) if undo and not undone]
            rows = [undo for undo in kept if not undo.startswith(_ELSEWHERE)]
            return bool(kept) and all(map(self._changes.fits, rows))

    def has_lost(self, call_id: str) -> bool:
        """Whether how rows were before this call is not kept, or does not fit the tables of now."""
        with self._lock:
            return any(
                undo
                and not undone
                and not undo.startswith(_ELSEWHERE)
                and not self._changes.fits(undo)
                for undo, undone in self._kept(call_id)
            )

    def _kept(self, call_id: str) -> list[tuple[str, str]]:
        """Return what this call and its parts (`call_id.1` …) changed, and when that was put back,
        the newest first."""
        return self._connection.execute(
            f"SELECT undo, undone_at FROM _aouo_calls WHERE {_OF_CALL} ORDER BY rowid DESC",
            (call_id,),
        ).fetchall()

    def knows(self, call_id: str) -> bool:
        """Whether this call wrote here."""
        with self._lock:
            return bool(self._kept(call_id))

    def note(self, call_id: str, plan: Mapping[str, str], now: str) -> dict[str, str]:
        """Note what a call is about to change outside this database, by its `steps`, for whoever
        puts it back; return what it noted first."""
        with self._lock:
            undo = _ELSEWHERE + plan["steps"]
            kept = self._once(lambda: {**plan}, f"{call_id}.0", now, undo=undo)
        return cast("dict[str, str]", kept)

    def noted(self, call_id: str) -> str:
        """Return what a call changed outside this database, "" = nothing."""
        with self._lock:
            kept = [undo for undo, _ in self._kept(call_id) if undo.startswith(_ELSEWHERE)]
        return "".join(kept).removeprefix(_ELSEWHERE)

    def undo(self, call_id: str, now: str, *, by: str = "") -> bool:
        """Put back what a call changed; False = no row, or not any more. The call `by` can be put
        back in the same way, "" = nothing can; the same twice is once.

        Raises:
            ToolFailed: it changed nothing that is known, another call than `by` put it back, or the
                rows were changed since.
        """
        with (
            self._lock,
            _worded(lambda error: self._guard.refusal or str(error)),
            self._committing(),
        ):
            kept = [
                (undo, undone)
                for undo, undone in self._kept(call_id)
                if undo and not undo.startswith(_ELSEWHERE)
            ]
            if not kept and not self._kept(call_id):
                raise ToolFailed("There is nothing of it that could be put back.")
            fresh = [undo for undo, undone in kept if not undone]
            if kept and not fresh and by and not self._kept(by):
                raise ToolFailed("It was put back before.")
            for number, undo in enumerate(fresh, 1):
                self._changes.put_back(undo)
                changed = self._changes.taken()
                self._connection.execute(
                    "INSERT OR IGNORE INTO _aouo_calls (call_id, result, at, undo) "
                    "SELECT ?1 || '.' || ?2, ?5, ?3, ?4 WHERE ?1 <> ''",
                    (by, number, now, changed, call_id),
                )
            if fresh or not kept:
                self._settle(call_id, now)
        return bool(fresh)

    @contextlib.contextmanager
    def _committing(self) -> Generator[None]:
        """Commit what the block does, unless it fails."""
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            failpoint.reached("before a pack's commit")
            self._connection.execute("COMMIT")
            failpoint.reached("after a pack's commit")
        except BaseException:
            if self._connection.in_transaction:
                self._connection.execute("ROLLBACK")
            raise

    def _settle(self, call_id: str, undone_at: str, standing: str = "") -> None:
        """Note that a call is undone; what it had undone itself stands again, and so on."""
        self._connection.execute(
            f"UPDATE _aouo_calls SET undone_at = ?2 WHERE {_OF_CALL}", (call_id, undone_at)
        )
        undid = self._connection.execute(
            f"SELECT DISTINCT result FROM _aouo_calls WHERE {_OF_CALL} AND undo <> ''", (call_id,)
        ).fetchall()
        for (other,) in undid:
            if self._kept(other):
                self._settle(other, standing, undone_at)

    def read(
        self, sql: str, params: Sequence[Cell] | Mapping[str, Cell] = (), *, limit: int = 20
    ) -> list[dict[str, object]]:
        """Return the first rows of one SELECT on any of the pack's tables, each whole.

        Raises:
            ToolFailed: says what is wrong with it.
        """
        values = dict(params) if isinstance(params, Mapping) else tuple(params)
        return self._reader.whole(sql.strip().rstrip(";"), values, limit=limit)

    def part(self, sql: str, number: int, size: int) -> tuple[int, list[dict[str, object]], int]:
        """As `ReadConnection.part`: some rows of a SELECT, for a page."""
        return self._reader.part(sql.strip().rstrip(";"), number, size)

    def mirror(self, table: str, rows: Sequence[Mapping[str, Cell]]) -> None:
        """Let a table hold these rows and no others; it is no change that could be undone.

        Raises:
            ToolFailed: the table has not their columns.
        """
        kept = self.read(f"SELECT * FROM {quoted(table)}", limit=len(rows) + 1)
        if [{**one} for one in rows] == kept:
            return
        names: list[str] = list(rows[0]) if rows else []
        columns, marks = ", ".join(map(quoted, names)), ", ".join(f":{name}" for name in names)
        insert = f"INSERT INTO {quoted(table)} ({columns}) VALUES ({marks})"
        self.put([(f"DELETE FROM {quoted(table)}", {}), *((insert, row) for row in rows)])

    def put(self, statements: Sequence[tuple[str, Mapping[str, Cell]]]) -> None:
        """Write what the runtime keeps here, all or nothing; it is no change that could be undone.

        Raises:
            ToolFailed: nothing was written; says what the database said.
        """
        with self._lock, _worded(lambda error: self._guard.refusal or str(error)):
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                for sql, values in statements:
                    with self._guard.allow("act"):
                        self._connection.execute(sql, dict(values))
                self._connection.execute("COMMIT")
            finally:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                self._changes.forget()

    def look(self, sql: str, params: object = None) -> Answer:
        """Carry out one call of the `db` tool with `sql`: at most `_LOOK_ROWS` rows.

        Raises:
            ToolFailed: says what to write instead.
        """
        return answer_of(
            self._reader.rows(sql.strip().rstrip(";"), bindings(params), limit=_LOOK_ROWS)
        )

    def glance(self, sql: str, *, limit: int) -> Found:
        """Return the first rows of one SELECT, over a connection of its own: one that takes long
        holds up nobody.

        Raises:
            ToolFailed: it does not run, or ran too long.
        """
        try:
            reader = ReadConnection(self._path, monotonic=self._monotonic)
        except sqlite3.Error as error:
            raise ToolFailed(f"The pack's database cannot be read: {error}.") from error
        try:
            return reader.rows(sql.strip().rstrip(";"), (), limit=limit)
        finally:
            reader.close()

    def key_of(self, table: str) -> str:
        """Return the column by which a row of a table is named, as SQL: its key, or its rowid."""
        found = self._reader.tables().get(table, ())
        key = [column.name for column in found if column.key]
        return quoted(key[0]) if len(key) == 1 else "rowid"

    def describe(self) -> Answer:
        """Return the schema as SQL, and how many rows each table has."""
        rows = {table: self._reader.count(table) for table in self._reader.tables()}
        return {"schema": list(self._reader.definitions()), "rows": rows}

    def source_in(self, text: str = "") -> str:
        """Return whose words, besides people's own, the tables may repeat that a text names, "" =
        nobody's; a text that names a view, or no table, may be about all."""
        with self._lock:
            rows = self._connection.execute("SELECT name, source FROM _aouo_sources").fetchall()
            if not rows:
                return ""
            found = self._connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")
            views = {str(name).casefold() for (name,) in found.fetchall()}
        words = set(re.findall(r"\w+", text.casefold()))
        known = {name.casefold() for name in self.tables()}
        named = known if words & views else words & known or known
        return ", ".join(dict.fromkeys(source for name, source in rows if name.casefold() in named))

    def _once(
        self,
        carry_out: Callable[[], Answer],
        call_id: str,
        now: str,
        *,
        undo: str | None = None,
        source: str = "",
    ) -> Answer:
        with self._committing():
            row = self._connection.execute(
                "SELECT result FROM _aouo_calls WHERE call_id = ?", (call_id,)
            ).fetchone()
            if row is not None:
                return cast("Answer", json.loads(row[0]))
            answer = carry_out()
            written = json.dumps(answer, ensure_ascii=False)
            record = "INSERT INTO _aouo_calls (call_id, result, at, undo) VALUES (?, ?, ?, ?)"
            if source:
                self._connection.executemany(
                    "INSERT INTO _aouo_sources VALUES (?, ?) ON CONFLICT (name) "
                    "DO UPDATE SET source = excluded.source",
                    [(table, source) for table in self._changes.tables()],
                )
            changed = self._changes.taken()
            if len(written.encode()) + len(changed) > _RECORD_BYTES:
                changed = TOO_MUCH
            values = (call_id, written, now, changed if undo is None else undo)
            number = self._connection.execute(record, values).lastrowid or 0
            self._connection.execute(
                "DELETE FROM _aouo_calls WHERE rowid <= ?", (number - _KEPT_CALLS,)
            )
            if len(changed) > _LARGE_CHARS:
                self._connection.execute(_PRUNE, (TOO_MUCH, _UNDO_CHARS))
        return answer


@contextlib.contextmanager
def _worded(explain: Callable[[Exception], str]) -> Generator[None]:
    """Translate what SQLite says for the model."""
    try:
        yield
    except TookTooLong as error:
        raise ToolFailed("The statement ran too long; ask for less, or add WHERE.") from error
    except (sqlite3.Error, sqlite3.Warning) as error:
        raise ToolFailed(explain(error)) from error
    except (OverflowError, UnicodeEncodeError) as error:
        raise ToolFailed(f"A value cannot be stored: {error}.") from error


def rehearse(
    path: Path, manifest: Manifest, schema_sql: str, migrations: Sequence[Migration]
) -> None:
    """Try on a copy whether the database at `path` could be brought to a schema.

    Raises:
        PackError: it cannot; says why.
    """
    try:
        with (
            contextlib.closing(open_database(str(path))) as there,
            contextlib.closing(open_database("")) as copy,  # a file of its own, gone at the end
        ):
            there.backup(copy)
            extends = manifest.schema.extends_columns
            apply_schema(copy, Guard(copy), schema_sql, extends, migrations)
    except sqlite3.Error as error:
        raise PackError(f"{path.name} cannot be used: {error}.") from error
    except SchemaRefused as error:
        raise _in_words(manifest, error) from error


def _in_words(manifest: Manifest, error: SchemaRefused) -> PackError:
    place = f"{manifest.schema.file}:{error.line}: " if error.line else ""
    return PackError(f"{manifest.name}: {place}{error.problem}.", fix=error.fix)
