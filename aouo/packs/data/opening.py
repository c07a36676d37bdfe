"""Opens packs' databases so that no statement on them can take more than its share.

Each connection that a pack's SQL can reach comes from here, also the one that its functions
are answered by (`sql_functions`). What a statement may do, and for how long, is `schema_guard`'s.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

VALUE_BYTES = 1_000_000
"""Of one text, blob or row."""
_PATIENCE_S = 5.0
_HEAP_BYTES = 256 * 1024 * 1024
_CACHE_KB = 512  # twice for each person of each pack, so it is small
_MAX_PAGES = 65_536  # 256 MB in pages of 4 kB
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 300_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 250,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
# Table functions are declared at their first use, which the guard would refuse later.
_DECLARE = "SELECT 1 FROM json_each('[]'), json_tree('[]')"


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


def open_to_read(path: Path, *, patience_s: float = _PATIENCE_S) -> sqlite3.Connection:
    """Open a pack's database, which somebody here has open to write, so that nothing can change.

    What it sorts stays in memory, where it counts: in a file it could fill the disk. `patience_s`
    is for somebody who locks the file.
    """
    connection = _connect(f"{path.absolute().as_uri()}?mode=ro", uri=True, patience_s=patience_s)
    for pragma in ("PRAGMA query_only=ON", "PRAGMA temp_store=MEMORY", _DECLARE):
        connection.execute(pragma).fetchall()
    return connection


class _Answering(sqlite3.Connection):
    """Closes with the last function that asks it; from Python 3.13 on others warn then."""

    def __del__(self) -> None:
        self.close()


def open_to_answer() -> sqlite3.Connection:
    """Open an empty database for single calls of functions, by any thread."""
    return _connect(":memory:", kind=_Answering)


def _connect(
    path: str,
    *,
    uri: bool = False,
    kind: type[sqlite3.Connection] = sqlite3.Connection,
    patience_s: float = _PATIENCE_S,
) -> sqlite3.Connection:
    connection = sqlite3.connect(
        path,
        timeout=patience_s,
        isolation_level=None,
        check_same_thread=False,
        cached_statements=0,
        uri=uri,
        factory=kind,
    )
    for limit, most in _LIMITS.items():
        connection.setlimit(limit, most)
    # SQLite has one heap for the whole process: the runtime's own statements count there too,
    # which need a few MB. A statement can only be told that there is no room; see `Guard.allow`.
    connection.execute(f"PRAGMA hard_heap_limit={_HEAP_BYTES}").fetchall()
    connection.execute(f"PRAGMA cache_size=-{_CACHE_KB}").fetchall()
    return connection
