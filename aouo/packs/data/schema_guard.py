"""Runs a pack's SQL so that it can reach nothing but the pack's own database.

Packs' own databases are the one place outside `store/` that runs SQL, because the text is the
pack's. Nothing here knows the runtime's tables; no statement here can see another file.
"""

from __future__ import annotations

import contextlib
import math
import re
import sqlite3
import time
from collections.abc import Callable, Generator, Iterable
from typing import Literal, TypeAlias

from aouo.facts.errors import PackError
from aouo.packs.data import opening

_Mode: TypeAlias = Literal["schema", "table", "seed", "migration", "write", "act", "read"]
_Judge: TypeAlias = Callable[[int, str | None, str | None, str | None, str | None], int]

OURS = "_aouo_"  # the prefix of the bookkeeping tables in a pack's database
SCHEMA_S = 5.0
MIGRATION_S = 60.0
TRIAL_S = 30.0  # all statements of a schema together, in an empty database
_TICKS = 1000  # virtual machine steps between two looks at the clock
_TOO_LARGE = "it is too large: a statement has 256 MB at most, and a value 1 MB"

_READS = frozenset(
    {sqlite3.SQLITE_SELECT, sqlite3.SQLITE_READ, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE}
)
_CHANGES = frozenset({sqlite3.SQLITE_INSERT, sqlite3.SQLITE_UPDATE, sqlite3.SQLITE_DELETE})
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
# These go down a path step by step on the stack, and a long one ends the process.
_FUNCTIONS_DEEP = re.compile(r"jsonb?_(array_)?(set|insert|replace)")
_FUNCTIONS_SLOW = re.compile(r"json|->")
_SLOW_WORK = 5  # one such call reads a whole text, which takes as long as some of the others
_MODULES = frozenset({"fts5", "fts4", "rtree"})
_TEMPORARY = frozenset(
    {
        sqlite3.SQLITE_CREATE_TEMP_TABLE,
        sqlite3.SQLITE_CREATE_TEMP_INDEX,
        sqlite3.SQLITE_CREATE_TEMP_TRIGGER,
        sqlite3.SQLITE_CREATE_TEMP_VIEW,
    }
)


# What one statement may take: seconds, calls of functions, steps of its program.
# SQLite looks at the clock in loops only. What has none is bounded by the other two.
_READ = (2.0, 250, 25_000)
_WRITE = (5.0, 250, 25_000)
_SCHEMA = (SCHEMA_S, 2_500, 100_000)
_MIGRATION = (MIGRATION_S, 5_000, 100_000)


class SchemaRefused(PackError):
    """SQL of a pack that does not run, or tries what it may not; `line` is in its file."""

    def __init__(self, message: str, line: int = 0, *, fix: str = "") -> None:
        super().__init__(message, fix=fix)
        self.line = line


class TookTooLong(Exception):
    """A statement was stopped at its time limit."""


def quoted(identifier: str) -> str:
    """Return an identifier as SQL."""
    return '"' + identifier.replace('"', '""') + '"'


class Guard:
    """Decides what SQL may do on one connection, and for how long."""

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        monotonic: Callable[[], float] = time.monotonic,
        total_s: float = math.inf,
    ) -> None:
        """`total_s`: for all that ever runs under this guard."""
        self.refusal = ""
        self._connection = connection
        self._monotonic = monotonic
        self._hidden: frozenset[str] = frozenset()
        self._ends_s: float | None = None
        self._late = False
        self._work_left = 0
        self._left_s = total_s
        opening.bound(connection, self._look)

    @contextlib.contextmanager
    def allow(self, mode: _Mode, *, hidden: Iterable[str] = ()) -> Generator[None]:
        """Restrict what runs inside to `mode`; one statement, for what it may take is counted.

        `hidden` tables cannot be read.

        Raises:
            TookTooLong: the time limit passed.
            sqlite3.Error: as SQLite says; `refusal` says why it was us, or "".
        """
        judge, (seconds, work, steps) = {
            "schema": (self._migration, _SCHEMA),
            "table": (self._table, _SCHEMA),
            "seed": (self._seed, _SCHEMA),
            "migration": (self._migration, _MIGRATION),
            "write": (self._write, _WRITE),
            "act": (self._act, _WRITE),
            "read": (self._read, _READ),
        }[mode]
        self.refusal = ""
        self._hidden = frozenset(name.lower() for name in hidden)
        began_s = self._monotonic()
        self._ends_s, self._late = began_s + min(seconds, self._left_s), False
        self._work_left = work
        self._connection.setlimit(sqlite3.SQLITE_LIMIT_VDBE_OP, steps)
        self._connection.set_authorizer(self._held_by(judge))  # kept statements ask again, too
        self._connection.set_progress_handler(self._is_late, _TICKS)
        try:
            yield
        except sqlite3.Error as error:
            if self._late:
                raise TookTooLong from error
            raise
        except MemoryError as error:
            self.refusal = _TOO_LARGE
            raise sqlite3.OperationalError(_TOO_LARGE) from error
        finally:
            self._ends_s = None
            self._connection.set_progress_handler(None, 0)
            self._connection.set_authorizer(None)
            self._left_s -= self._monotonic() - began_s

    def _is_late(self) -> bool:
        self._late = self._ends_s is not None and self._monotonic() > self._ends_s
        return self._late

    def _look(self, too_much: str) -> None:
        """Raises: ValueError: a function has too much to do, or the time is over."""
        self.refusal = self.refusal or too_much
        if too_much or self._is_late():
            raise ValueError(too_much or "late")

    def _deny(self, reason: str) -> int:
        self.refusal = self.refusal or reason
        return sqlite3.SQLITE_DENY

    def _held_by(self, judge: _Judge) -> _Judge:
        """The same, while there is time and not too much to do; also while SQL is compiled."""

        def held(
            action: int, one: str | None, two: str | None, database: str | None, inner: str | None
        ) -> int:
            if self._is_late():
                return sqlite3.SQLITE_DENY
            if inner and inner.startswith(OURS):
                return sqlite3.SQLITE_OK  # a trigger of ours (`undo`); a pack can make none so
            if action == sqlite3.SQLITE_FUNCTION:
                self._work_left -= _SLOW_WORK if _FUNCTIONS_SLOW.match((two or "").lower()) else 1
                if self._work_left < 0:
                    return self._deny("it calls too many functions: make more statements of it")
            return judge(action, one, two, database, inner)

        return held

    def _anywhere(self, action: int, one: str | None, two: str | None, database: str | None) -> int:
        if action in (sqlite3.SQLITE_ATTACH, sqlite3.SQLITE_DETACH):
            return self._deny("other database files cannot be attached")
        if action == sqlite3.SQLITE_FUNCTION and (two or "").lower() in _FUNCTIONS_DENIED:
            return self._deny(f"the function {two} cannot be used")
        if action == sqlite3.SQLITE_FUNCTION and _FUNCTIONS_DEEP.fullmatch((two or "").lower()):
            return self._deny(
                f"the function {two} cannot be used: json_patch(x, json_object(...)) changes JSON"
            )
        if action == sqlite3.SQLITE_ALTER_TABLE:
            database = one  # there the last place is for the column
        if action in _TEMPORARY or (database or "main") not in ("main", "temp"):
            return self._deny("only the pack's own permanent tables can be used")
        if any((name or "").lower().startswith(OURS) for name in (one, two)):
            return self._deny(f"names beginning with {OURS} belong to the runtime")
        return sqlite3.SQLITE_OK

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

    def _table(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        if action == sqlite3.SQLITE_SELECT:
            return self._deny(
                "CREATE TABLE … AS SELECT takes rows from elsewhere: write the columns"
            )
        return self._migration(action, one, two, database, inner)

    def _seed(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        if action == sqlite3.SQLITE_PRAGMA:  # a text index looks whether others changed it
            return self._pragma(one, idle=False)
        if action not in _READS and action not in _CHANGES:
            return self._deny("first rows are given by INSERT only")
        if action == sqlite3.SQLITE_READ and (one or "").lower().startswith("sqlite_"):
            return self._deny(f"first rows come from the schema itself, not from {one}")
        return self._anywhere(action, one, two, database)

    def _write(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        if inner is None and action != sqlite3.SQLITE_FUNCTION:
            return sqlite3.SQLITE_OK  # our own statement, not a trigger or view of the pack
        return self._anywhere(action, one, two, database)

    def _act(
        self, action: int, one: str | None, two: str | None, database: str | None, inner: str | None
    ) -> int:
        """A statement of an action, with the pack's triggers: rows, of the pack's tables only."""
        if action == sqlite3.SQLITE_PRAGMA:
            return self._pragma(one, idle=False)
        if action not in _READS and action not in _CHANGES:
            return self._deny("an action changes rows by INSERT, UPDATE and DELETE only")
        if action in _CHANGES and (one or "").lower().startswith("sqlite_"):
            return self._deny(f"the table {one} is SQLite's own")
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
