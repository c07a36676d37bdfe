"""A pack's SQL, run so that it can reach nothing but the pack's own database.

Packs' own databases are the one place outside `store/` that runs SQL, because the text is the
pack's. Nothing here knows the runtime's tables; no statement here can see another file.
"""

from __future__ import annotations

import contextlib
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Literal, TypeAlias

from aouo.errors import PackError
from aouo.packs.data import sql_functions

Mode: TypeAlias = Literal["schema", "migration", "write", "read"]

OURS = "_aouo_"  # the prefix of the bookkeeping tables in a pack's database
_QUERY_S = 2.0
SCHEMA_S = 5.0
MIGRATION_S = 60.0
_TICKS = 5000  # virtual machine steps between two looks at the clock
_MAX_PAGES = 65_536  # 256 MB in pages of 4 kB

_READS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_READ_PRAGMAS = frozenset(
    {"table_info", "table_xinfo", "table_list", "index_list", "index_info", "index_xinfo"}
    | {"foreign_key_list", "data_version"}
)
# Usual at the head of a schema; we set our own, so they are taken and change nothing.
_IDLE_PRAGMAS = frozenset(
    {"foreign_keys", "journal_mode", "synchronous", "busy_timeout", "encoding", "user_version"}
    | {"auto_vacuum", "cache_size", "page_size", "temp_store", "application_id"}
)
# Each can run foreign code or touch files where a build of SQLite has it.
_FUNCTIONS_DENIED = frozenset({"load_extension", "fts3_tokenizer", "readfile", "writefile", "edit"})
_MODULES = frozenset({"fts5", "fts4", "rtree"})
_DESTROYS = frozenset(
    {sqlite3.SQLITE_DROP_TABLE, sqlite3.SQLITE_DROP_VTABLE, sqlite3.SQLITE_DELETE}
)
# Table functions are declared at their first use, which the guard would refuse later.
_DECLARE = "SELECT 1 FROM json_each('[]'), json_tree('[]')"
_TEMPORARY = frozenset(
    {
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
    }
)


class SchemaRefused(PackError):
    """SQL of a pack that does not run, or tries what it may not; `line` is in its file."""

    def __init__(self, message: str, line: int = 0) -> None:
        super().__init__(message)
        self.message = message
        self.line = line


class TookTooLong(Exception):
    """A statement was stopped at its time limit."""


def quoted(identifier: str) -> str:
    """Return an identifier as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


def open_database(path: str, *, max_pages: int = _MAX_PAGES) -> sqlite3.Connection:
    """Open a pack's database with nothing switched on that could reach another file.

    One connection is used by one thread at a time; commits are on disk when they return.
    """
    connection = _connect(path)
    for pragma in (
        "PRAGMA journal_mode=WAL",
        "PRAGMA synchronous=FULL",
        "PRAGMA foreign_keys=ON",
        f"PRAGMA max_page_count={max_pages}",
        _DECLARE,
    ):
        connection.execute(pragma).fetchall()
    return connection


def open_to_read(path: Path) -> sqlite3.Connection:
    """Open a pack's database, which somebody here has open to write, so that nothing can change."""
    connection = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True)
    for pragma in ("PRAGMA query_only=ON", _DECLARE):
        connection.execute(pragma).fetchall()
    return connection


def _connect(path: str, *, uri: bool = False) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        timeout=5.0,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0,
        uri=uri,
    )
    connection.setlimit(sqlite3.SQLITE_LIMIT_ATTACHED, 0)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, 4_000_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_SQL_LENGTH, 300_000)
    connection.setlimit(sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 500)
    connection.setlimit(sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH, 20)
    return connection


class Guard:
    """Decides what SQL may do on one connection, and for how long."""

    def __init__(
        self, connection: sqlite3.Connection, *, monotonic: Callable[[], float] = time.monotonic
    ) -> None:
        self.refusal = ""
        self._connection = connection
        self._monotonic = monotonic
        self._protected: frozenset[str] = frozenset()
        self._hidden: frozenset[str] = frozenset()
        self._ends_s: float | None = None
        self._late = False
        sql_functions.bound(connection, self._look_at_work)

    @contextlib.contextmanager
    def allow(
        self, mode: Mode, *, protected: Iterable[str] = (), hidden: Iterable[str] = ()
    ) -> Generator[None]:
        """Restrict what runs inside to `mode`.

        `protected` tables keep their rows in a schema; `hidden` ones cannot be read.

        Raises:
            TookTooLong: the time limit passed.
            sqlite3.Error: as SQLite says; `refusal` says why it was us, or "".
        """
        judge, seconds = {
            "schema": (self._schema, SCHEMA_S),
            "migration": (self._migration, MIGRATION_S),
            "write": (self._write, SCHEMA_S),
            "read": (self._read, _QUERY_S),
        }[mode]
        self.refusal = ""
        self._protected = frozenset(name.lower() for name in protected)
        self._hidden = frozenset(name.lower() for name in hidden)
        self._ends_s, self._late = self._monotonic() + seconds, False
        self._connection.set_authorizer(judge)  # also makes kept statements ask again
        self._connection.set_progress_handler(self._is_late, _TICKS)
        try:
            yield
        except sqlite3.Error as error:
            if self._late:
                raise TookTooLong from error
            raise
        finally:
            self._ends_s = None
            self._connection.set_progress_handler(None, 0)
            self._connection.set_authorizer(None)

    def _is_late(self) -> bool:
        self._late = self._ends_s is not None and self._monotonic() > self._ends_s
        return self._late

    def _look_at_work(self, work: int) -> None:
        """Raises: ValueError: a function has too much to do, or the time is over."""
        if work > sql_functions.WORK_MAX:
            self.refusal = "a text is too long to be searched for another one that long"
            raise ValueError(self.refusal)
        if self._is_late():
            raise ValueError("late")

    def _deny(self, reason: str) -> int:
        self.refusal = self.refusal or reason
        return sqlite3.SQLITE_DENY

    def _anywhere(self, action: int, one: str | None, two: str | None, database: str | None) -> int:
        if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return self._deny("other database files cannot be attached")
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in _FUNCTIONS_DENIED:
            return self._deny(f"the function {two} cannot be used")
        if action == sqlite3.SQLITE_ALTER_TABLE:
            database = one  # there the last place is for the column
        if action in _TEMPORARY or (database or "main") not in ("main", "temp"):
            return self._deny("only the pack's own permanent tables can be used")
        if any((name or "").lower().startswith(OURS) for name in (one, two)):
            return self._deny(f"names beginning with {OURS} belong to the runtime")
        return sqlite3.SQLITE_OK

    def _schema(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        table = (two if action == sqlite3.SQLITE_ALTER_TABLE else one) or ""
        if table.lower() in self._protected:
            if action in _DESTROYS:
                return self._deny(f"would destroy stored rows of {table}")
            if action == sqlite3.SQLITE_ALTER_TABLE:
                return self._deny(f"{table} exists: write a new column into its CREATE TABLE")
        return self._migration(action, one, two, database, inner)

    def _migration(
        self, action: int, one: str | None, two: str | None, database: str | None, _: str | None
    ) -> int:
        if action in (sqlite3.SQLITE_TRANSACTION, sqlite3.SQLITE_SAVEPOINT):
            return sqlite3.SQLITE_IGNORE  # all of it is one transaction of ours
        if action == sqlite3.SQLITE_PRAGMA:
            return self._pragma(one, idle=True)
        if action == sqlite3.SQLITE_CREATE_VTABLE and (two or "").lower() not in _MODULES:
            return self._deny(f"virtual tables of the kind {two} are not available")
        return self._anywhere(action, one, two, database)

    def _write(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        if inner is None and action != sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK  # our own statement, not a trigger or view of the pack
        return self._anywhere(action, one, two, database)

    def _read(
        self, action: int, one: str | None, two: str | None, database: str | None, _: str | None
    ) -> int:
        if action == sqlite3.SQLITE_PRAGMA:
            return self._pragma(one, idle=False)
        if action not in _READS:
            return self._deny("only SELECT can be used here")
        if action == sqlite3.SQLITE_READ and (one or "").lower() in self._hidden:
            return self._deny(f"the table {one} is not one that persist may read")
        return self._anywhere(action, one, two, database)

    def _pragma(self, name: str | None, *, idle: bool) -> int:
        pragma = (name or "").lower()
        if pragma in _READ_PRAGMAS:
            return sqlite3.SQLITE_OK
        if idle and pragma in _IDLE_PRAGMAS:
            return sqlite3.SQLITE_IGNORE
        return self._deny(f"PRAGMA {pragma} cannot be used")
