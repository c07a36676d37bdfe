"""Opens the runtime's database: for its own process, and read-only from outside it.

Before 0.1.0 the schema is edited in place: a database says by which one it was made, and one of
another schema is refused.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
import shutil
import sqlite3
import tempfile
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from functools import cache
from importlib import resources
from pathlib import Path

from aouo.facts.errors import SetupError
from aouo.store.database import Database, Tx, copy_of, damaged, trouble_of
from aouo.store.snapshots import Snapshot, Snapshots

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
_NEEDED_BYTES = 2**18
"""A start needs room for the log and the index of a transaction."""


@asynccontextmanager
async def opened(file: Path, *, patient: bool = False) -> AsyncGenerator[Database]:
    """Yield the database in `file` with its tables; the caller holds the lock of its home.

    A `patient` caller, who serves it, waits out what keeps it from being written from now on, and
    a lock of another process at the opening, too: see `store.database`.

    Raises:
        SetupError: it cannot be used.
    """
    database = Database(file)
    try:
        try:
            _check_room(file)
            await database.open(patient=patient)
            await database.transact(make_tables, durable=True)
        except (OSError, sqlite3.Error) as error:
            raise unusable(file, error) from error
        yield database
    finally:
        await database.close()


def _check_room(file: Path) -> None:
    """Write some bytes beside the database and take them away.

    Raises:
        SetupError: what stands at its place is no file, or is cut.
        OSError: the folder cannot be written.
    """
    if file.exists():
        if not file.is_file():
            raise SetupError(f"{file} is no file.", fix="Move away what stands there.")
        if _is_cut(file):
            raise damaged(file, "a part of it is missing")
    with tempfile.NamedTemporaryFile(dir=file.parent) as some:
        some.write(bytes(_NEEDED_BYTES))
        some.flush()


def _is_cut(file: Path) -> bool:
    """Whether a closed database is shorter than its own head says (sqlite.org/fileformat.html)."""
    with file.open("rb") as opened_file:
        head = opened_file.read(100)
    log = file.with_name(f"{file.name}-wal")
    if (log.exists() and log.stat().st_size) or head[24:28] != head[92:96]:
        return False  # the newest head is in the log, or nobody vouches for the number of pages
    pages, page_bytes = int.from_bytes(head[28:32]), int.from_bytes(head[16:18])
    page_bytes = 65_536 if page_bytes == 1 else page_bytes
    return 0 < len(head) < 100 or file.stat().st_size < pages * page_bytes


def unusable(file: Path, error: OSError | sqlite3.Error) -> SetupError:
    """Say why the database in `file` cannot be used, and what to do."""
    number = error.errno if isinstance(error, OSError) else 0
    trouble = trouble_of(error)
    if trouble == "full" or number in FULL:
        free = shutil.disk_usage(file.parent).free / 1e6
        return SetupError(
            f"The disk of {file.parent} is full ({free:.1f} MB are free).", fix="Make room on it."
        )
    if trouble == "locked":
        return SetupError(
            f"Another program holds {file} locked.", fix="End it (sqlite3, a copying program)."
        )
    if number in (errno.EROFS, errno.EACCES, errno.EPERM) or trouble == "read-only":
        return SetupError(
            f"{file} cannot be written: {error}.", fix="Make its folder and its disk writable."
        )
    if trouble or isinstance(error, OSError):
        return SetupError(f"{file} cannot be used: {error}.", fix="Look at its folder and disk.")
    return damaged(file, error)


def make_tables(tx: Tx) -> None:
    """Make the tables in a new database, inside the caller's one transaction.

    Raises:
        SetupError: the tables of another schema are there.
    """
    text, number = _schema()
    if tx.schema == 0 and tx.one("SELECT 1 FROM sqlite_schema") is None:
        tx.script(text)
        tx.schema = number
    _check_tables(tx)


def _check_tables(tx: Tx) -> None:
    """Check that the database has the tables of this program's schema.

    Raises:
        SetupError: it has others.
    """
    if tx.schema != _schema()[1]:
        raise SetupError(
            "data/aouo.db has the tables of another aouo, and before 0.1.0 nothing is carried "
            "over: move the folder data away, or start with a new home (--home)."
        )


@cache
def _schema() -> tuple[str, int]:
    """Return the schema's text and the number that stands for it: another one for other tables."""
    text = (resources.files("aouo.store") / "schema.sql").read_text(encoding="utf-8")
    said = re.sub(r"--.*|\s+", " ", text)
    digest = hashlib.sha256(" ".join(said.split()).encode()).digest()
    return text, int.from_bytes(digest[:4]) % 2**31 or 1


def schema_number() -> int:
    """Return the number that this program's tables have in a database."""
    return _schema()[1]


def is_as_made(connection: sqlite3.Connection) -> bool:
    """Whether a database has the tables, indexes and triggers of this program, and no others."""
    text, number = _schema()
    with closing(sqlite3.connect(":memory:")) as fresh:
        fresh.executescript(f"{text};PRAGMA user_version={number}")
        ours, theirs = (
            (
                one.execute("PRAGMA user_version").fetchone(),
                # What ANALYZE makes may be there.
                one.execute(
                    "SELECT type, name, tbl_name, sql FROM sqlite_schema"
                    " WHERE NOT (type = 'table' AND name LIKE 'sqlite~_stat%' ESCAPE '~')"
                    " ORDER BY type, name"
                ).fetchall(),
            )
            for one in (fresh, connection)
        )
    return ours == theirs


@contextmanager
def reading(file: Path) -> Generator[Tx]:
    """Yield one consistent snapshot of an existing file, also while the bot runs.

    Raises:
        SetupError: the file cannot be read, or has the tables of another schema.
    """
    try:
        with closing(
            sqlite3.connect(
                f"{file.absolute().as_uri()}?mode=ro", uri=True, isolation_level=None, timeout=5
            )
        ) as connection:
            connection.row_factory = sqlite3.Row
            connection.execute("PRAGMA query_only=ON")
            connection.execute("BEGIN")
            tx = Tx(connection)
            if tx.one("SELECT 1 FROM sqlite_schema") is None:
                raise _unreadable(file, "it is empty")
            _check_tables(tx)
            yield tx
    except sqlite3.Error as error:
        raise _unreadable(file, error) from error


@asynccontextmanager
async def read_beside(file: Path, snapshots: Snapshots) -> AsyncGenerator[Snapshot]:
    """Yield one of the file's snapshots, read beside the event loop, while no bot runs.

    Raises:
        SetupError: the file cannot be read.
    """
    try:
        async with snapshots.open() as snapshot:
            yield snapshot
    except sqlite3.Error as error:
        raise _unreadable(file, error) from error


def copy(file: Path, target: Path) -> None:
    """Copy a database, also while it is written, to one file without a log beside it.

    Raises:
        sqlite3.Error: it cannot be read, or the copy not written.
    """
    with (
        closing(sqlite3.connect(f"{file.as_uri()}?mode=rw", uri=True)) as source,
        closing(sqlite3.connect(target)) as written,
    ):
        written.execute("PRAGMA synchronous=OFF").fetchall()
        source.backup(written)
        written.execute("PRAGMA journal_mode=DELETE").fetchall()


def keep_copy(file: Path) -> bool:
    """Copy the runtime's database beside it, in place of the copy before, if it is whole.

    Returns False where the disk has no room for it: then the copy before stays.

    Raises:
        SetupError: the database is damaged, or cannot be read or copied; the copy before stays.
    """
    if shutil.disk_usage(file.parent).free < 2 * file.stat().st_size + 2**26:
        return False
    part = file.with_name(f".{file.name}.part")
    try:
        os.close(os.open(part, os.O_CREAT | os.O_WRONLY | os.O_TRUNC | os.O_CLOEXEC, 0o600))
        copy(file, part)
        with closing(sqlite3.connect(part)) as made:
            (found,) = made.execute("PRAGMA quick_check(1)").fetchone()
        if found != "ok":
            raise damaged(file, found)
        with part.open("rb") as written:
            os.fsync(written.fileno())
        part.replace(copy_of(file))
    except (OSError, sqlite3.Error) as error:
        raise unusable(file, error) from error
    finally:
        part.unlink(missing_ok=True)
    return True


def _unreadable(file: Path, why: object) -> SetupError:
    return SetupError(f"{file} cannot be read: {why}.", fix="Start the bot once.")
