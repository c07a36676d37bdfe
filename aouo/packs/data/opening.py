"""Opens packs' databases so that no statement or function takes more than its share.

Each connection that a pack's SQL can reach comes from here, also the one that its functions
are answered by (`sql_functions`). What a statement may do, and for how long, is `schema_guard`'s.

Between two looks at the clock SQLite ends the function it is in: `trim` of a megabyte by as much
takes hours, and a format such as `%.*c` counts to two billion. So these are called through us: too
much is refused, and each call looks at the clock. What they answer is SQLite's own answer; bytes
that are no text they refuse.
"""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

from aouo.facts import languages
from aouo.facts.letters import folded, words_of
from aouo.packs.actions.tokens import common

_VALUE_BYTES = 1_000_000
"""Of one text, blob or row."""
_PATIENCE_S = 5.0
_HEAP_BYTES = 256 * 1024 * 1024
_CACHE_KB = 512  # twice for each person of each pack, so it is small
_MAX_PAGES = 65_536  # 256 MB in pages of 4 kB
_LIMITS = {
    sqlite3.SQLITE_LIMIT_ATTACHED: 0,
    sqlite3.SQLITE_LIMIT_LENGTH: _VALUE_BYTES,
    sqlite3.SQLITE_LIMIT_SQL_LENGTH: 300_000,
    sqlite3.SQLITE_LIMIT_COLUMN: 250,
    sqlite3.SQLITE_LIMIT_EXPR_DEPTH: 500,
    sqlite3.SQLITE_LIMIT_COMPOUND_SELECT: 500,
    sqlite3.SQLITE_LIMIT_VDBE_OP: 100_000,
    sqlite3.SQLITE_LIMIT_LIKE_PATTERN_LENGTH: 500,
    sqlite3.SQLITE_LIMIT_TRIGGER_DEPTH: 20,
    sqlite3.SQLITE_LIMIT_WORKER_THREADS: 0,
}
_Value: TypeAlias = "str | bytes | int | float | None"
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
    connection.create_function("fold", 1, _fold, deterministic=True)
    connection.create_function("fold_words", 1, _fold_words, deterministic=True)
    connection.create_function("holds", 2, _holds, deterministic=True)
    return connection


def _fold(value: _Value) -> _Value:
    """`fold(text)`: without case and accents; what is no text stays as it is."""
    return folded(value) if isinstance(value, str) else value


def _fold_words(value: _Value) -> _Value:
    """`fold_words(text)`: its words, folded, a space before and after each; NULL = it has none."""
    words = re.findall(r"\w+", " ".join(words_of(folded("" if value is None else str(value)))))
    return f" {' '.join(words)} " if words else None


def _holds(value: _Value, sought: _Value) -> bool:
    """`holds(text, words)`: whether each of the words, but for such as "the", begins one of the
    text, with or without its last letter, or stands within one if it is long, or whether one of
    the text has only another ending ("keys")."""
    there, words = (str(_fold_words(text) or "") for text in (value, sought))
    telling = [word for word in words.split() if word not in common()] or words.split()
    return bool(telling) and all(
        f" {word[:-1] if len(word) >= _STEM_MIN else word}" in there
        or (len(word) >= _STEM_MIN and word in there)
        or any(f" {word.removesuffix(end)} " in there for end in _endings(word))
        for word in telling
    )


def _endings(word: str) -> list[str]:
    """Return the endings of a word that a language may give it, where enough stands before them."""
    endings = languages.words("spelling", "endings")
    return [end for end in endings if word.endswith(end) and len(word) - len(end) >= _ROOT_MIN]


_STEM_MIN, _ROOT_MIN = 5, 3
_Look: TypeAlias = Callable[[str], None]
_WORK_MAX = 100_000_000  # characters of one value times those of the other: a third of a second
_PRODUCTS = (
    *(("trim", 2), ("ltrim", 2), ("rtrim", 2), ("instr", 2), ("replace", 3)),
    *(("like", 2), ("like", 3), ("glob", 2), ("json_patch", 2)),
    *((("unhex", 2),) if sqlite3.sqlite_version_info >= (3, 41) else ()),
)
_FORMATS = ("printf", "format") if sqlite3.sqlite_version_info >= (3, 38) else ("printf",)
_WIDE = re.compile(r"%[-+ #!,.l0-9]*(?:\*|[0-9]{5})")


def bound(connection: sqlite3.Connection, look: _Look) -> None:
    """Replace these functions on a connection by themselves with a limit.

    `look` is told before each call why it is too much, or "", and raises to end the statement.
    """
    inner = _connect(":memory:", kind=_Answering)
    for name, count in _PRODUCTS:
        function = _limited(inner, name, count, look)
        connection.create_function(name, count, function, deterministic=True)
    for name in _FORMATS:
        connection.create_function(name, -1, _format(inner, name, look), deterministic=True)


def _limited(
    inner: sqlite3.Connection, name: str, count: int, look: _Look
) -> Callable[..., _Value]:
    marks = ", ".join("?" * count)
    sql = f"SELECT {name}({marks})"  # names of ours

    def call(*values: _Value) -> _Value:
        work = _length(values[0]) * _length(values[1])
        look("a text is too long to be searched for another one that long" * (work > _WORK_MAX))
        found: _Value = inner.execute(sql, values).fetchone()[0]
        return found

    return call


def _format(inner: sqlite3.Connection, name: str, look: _Look) -> Callable[..., _Value]:
    def call(*values: _Value) -> _Value:
        text = values[0] if values and isinstance(values[0], str) else ""
        wide = _WIDE.search(text.replace("%%", "")) is not None
        look(f"{name} takes a width of four digits at most, and no *" * wide)
        marks = ", ".join("?" * len(values))
        found: _Value = inner.execute(f"SELECT {name}({marks})", values).fetchone()[0]
        return found

    return call


def _length(value: _Value) -> int:
    return len(value) if isinstance(value, str | bytes) else 32
