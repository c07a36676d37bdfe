"""One SQLite file: one connection writes, from a thread of its own or, briefly, from the loop's.

A transaction is a plain function that gets a `Tx` and never waits for anything else, so
no model or chat call can happen inside one. Transactions that queue up while another one
commits share the next commit (group commit), each in its own savepoint, so that one that
fails does not sink the others.

The way to the writer's thread and back costs several times what a short transaction does. So one
that is `brief` and need not wait for the disk runs at once, on the loop's thread, whenever the
writer has nothing to do; nobody else touches its connection then.

A file that cannot be written now - another process holds its lock, the disk is full or fails - is
waited for: the writer tries the same transactions again until they are committed, so whoever asked
for one waits, and nothing above this module loses or repeats anything. Work has to bear that: it
may run again, on rows as they were.

Only the writer's connection checkpoints: SQLite before 3.51.3 can corrupt a file when two
connections checkpoint at once (sqlite.org/wal.html#walresetbug).
"""

from __future__ import annotations

import asyncio
import hashlib
import queue
import sqlite3
import threading
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Future
from contextlib import AbstractAsyncContextManager, suppress
from contextvars import copy_context
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, Final, Generic, Literal, LiteralString, TypeAlias, TypeVar

from aouo.facts.errors import SetupError, Unstorable, place_of
from aouo.plumbing import failpoint
from aouo.plumbing.home import file_system
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import finish, pause_s
from aouo.store.snapshots import Query, Snapshot, Snapshots

_T = TypeVar("_T")
Trouble: TypeAlias = Literal["locked", "full", "read-only", "failing"]
"""Why a file cannot be used now: another process holds its lock, or the disk is what is said."""
TROUBLE = "trouble"
"""What `Database.listen` calls its trouble."""
_Value: TypeAlias = str | int | float | bytes | None
_BATCH = 64
PRUNED_AT_ONCE = 500
"""The most rows that a transaction of retention deletes: another one waits for it."""
_PAGES_AT_ONCE = 256
"""The most pages, 1 MB, that one transaction gives back."""


class Tx:
    """An open transaction; valid on its thread, until the function that got it returns."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self.forgets = False
        self.touched: set[str] = set()

    def touch(self, what: str) -> None:
        """Have those who listen for `what` called after the commit: see `Database.listen`."""
        self.touched.add(what)

    def forget(self) -> None:
        """Have the write-ahead log emptied after the commit, so that old words leave it too, and
        the day's copy removed: another one is made soon."""
        self.forgets = True

    def run(self, sql: LiteralString, *values: _Value) -> int:
        """Execute one statement; return the number of rows it changed."""
        return self._connection.execute(sql, values).rowcount

    def each(self, sql: LiteralString, *values: _Value) -> Iterator[sqlite3.Row]:
        """Yield the rows of one query as they are found."""
        yield from self._connection.execute(sql, values)

    def changes(self, sql: LiteralString, *values: _Value) -> bool:
        """Execute one statement; whether it changed exactly one row."""
        return self.run(sql, *values) == 1

    def insert(
        self,
        table: LiteralString,
        values: Mapping[LiteralString, _Value],
        ending: LiteralString = "",
    ) -> int:
        """Insert a row as `put` does, into a table with ids; return its id, 0 = it was not."""
        done = self._put(table, values, ending)
        return done.lastrowid or 0 if done.rowcount == 1 else 0

    def put(
        self,
        table: LiteralString,
        values: Mapping[LiteralString, _Value],
        ending: LiteralString = "",
    ) -> bool:
        """Insert one row, given by its columns; `ending` is the statement's `ON CONFLICT`, if it
        has one. Returns whether a row was inserted or changed."""
        return self._put(table, values, ending).rowcount == 1

    def _put(
        self, table: LiteralString, values: Mapping[LiteralString, _Value], ending: LiteralString
    ) -> sqlite3.Cursor:
        columns, marks = ", ".join(values), ", ".join("?" * len(values))
        sql = f"INSERT INTO {table} ({columns}) VALUES ({marks}) {ending}"
        return self._connection.execute(sql, tuple(values.values()))

    def one(self, sql: LiteralString, *values: _Value) -> sqlite3.Row | None:
        return self._connection.execute(sql, values).fetchone()

    def first(
        self, read: Callable[[sqlite3.Row], _T], sql: LiteralString, *values: _Value
    ) -> _T | None:
        """Return what `read` makes of the first row, None = there is none."""
        row = self.one(sql, *values)
        return read(row) if row else None

    def number(self, sql: LiteralString, *values: _Value) -> int:
        """Return the first column of the first row, 0 = there is none."""
        row = self.one(sql, *values)
        return row[0] or 0 if row else 0

    def text(self, sql: LiteralString, *values: _Value) -> str:
        """Return the first column of the first row, "" = there is none."""
        row = self.one(sql, *values)
        return row[0] or "" if row else ""

    def finds(self, sql: LiteralString, *values: _Value) -> bool:
        """Whether there is a row."""
        return self.one(sql, *values) is not None

    def all(self, sql: LiteralString, *values: _Value) -> Sequence[sqlite3.Row]:
        return self._connection.execute(sql, values).fetchall()

    def ask(self, query: Query[_T]) -> _T:
        """Run a query as `Snapshot.ask` does, but here, without its limits."""
        return query.read(self.all(query.sql, *query.values))

    def apart(self, work: Callable[[Tx], _T]) -> _T:
        """Run `work` in a savepoint: if it fails, only its own writes are taken back.

        Raises:
            Unstorable: its values cannot be stored.
            sqlite3.DatabaseError: the database fails, because its disk is full, for example.
        """
        self._connection.execute("SAVEPOINT apart")
        try:
            result = work(self)
        except Exception as error:
            if _is_the_database(error):
                raise
            self._connection.execute("ROLLBACK TO apart")
            self._connection.execute("RELEASE apart")
            raise Unstorable(place_of(error)) from error
        self._connection.execute("RELEASE apart")
        return result

    def give_back(self) -> int:
        """Shorten the file by some of its free pages; return how many are left."""
        self._connection.execute(f"PRAGMA incremental_vacuum({_PAGES_AT_ONCE})").fetchall()
        return self._connection.execute("PRAGMA freelist_count").fetchone()[0]

    def script(self, text: str) -> None:
        """Run the statements of a file, split where SQLite sees their ends."""
        statement = ""
        for line in text.splitlines(keepends=True):
            statement += line
            if sqlite3.complete_statement(statement):
                self._connection.execute(statement)
                statement = ""
        self._connection.execute(statement)

    @property
    def schema(self) -> int:
        """The number of the schema that the tables are of, 0 = it was never set."""
        return self._connection.execute("PRAGMA user_version").fetchone()[0]

    @schema.setter
    def schema(self, number: int) -> None:
        self._connection.execute(f"PRAGMA user_version={number:d}")


def _is_the_database(error: Exception) -> bool:
    """Whether the database failed, not the values, so that the same has to be tried again."""
    of_values = sqlite3.DataError | sqlite3.IntegrityError | sqlite3.ProgrammingError
    return isinstance(error, sqlite3.DatabaseError) and not isinstance(error, of_values)


@dataclass(frozen=True, slots=True)
class _Request(Generic[_T]):
    """One piece of work, and the future on the caller's loop that gets its outcome."""

    work: Callable[[Tx], _T]
    durable: bool
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[_T]


_WAITED_OUT: dict[int, Trouble] = {
    sqlite3.SQLITE_BUSY: "locked",
    sqlite3.SQLITE_LOCKED: "locked",
    sqlite3.SQLITE_PROTOCOL: "locked",
    sqlite3.SQLITE_FULL: "full",
    sqlite3.SQLITE_READONLY: "read-only",
    sqlite3.SQLITE_IOERR: "failing",
    sqlite3.SQLITE_CANTOPEN: "failing",
}
"""What ends without us, by the primary result code (sqlite.org/rescode.html)."""
_BROKEN = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PAUSE = partial(pause_s, first_s=0.05, factor=2, most_s=2)


def trouble_of(error: BaseException) -> Trouble | None:
    """Return what keeps the file from being used and may end by itself, None = something else."""
    code = getattr(error, "sqlite_errorcode", None) if isinstance(error, sqlite3.Error) else None
    return None if code is None else _WAITED_OUT.get(code & 0xFF)


def copy_of(file: Path) -> Path:
    """Where the day's copy of the database lies."""
    return file.with_name(f"{file.stem}.copy.db")


def damaged(file: Path, why: object) -> SetupError:
    """Say that the database is damaged, and from where to go on."""
    try:
        made = datetime.fromtimestamp(copy_of(file).stat().st_mtime).astimezone()
    except OSError:
        fix = "Restore a backup (aouo restore), or move it away to begin anew."
    else:
        fix = (
            f"Move it and what begins with {file.name}- away, and name its copy "
            f"{copy_of(file).name} of {made:%d %B %Y, %H:%M} {file.name}, or restore a backup."
        )
    return SetupError(f"{file} is damaged: {why}.", fix=fix)


_Outcome: TypeAlias = tuple[asyncio.Future[Any], Any, BaseException | None]


def _tell(outcomes: Sequence[_Outcome]) -> None:
    """Resolve the futures, on the loop's thread; a cancelled one is skipped."""
    for done, result, error in outcomes:
        if done.done():
            continue
        if error is None:
            done.set_result(result)
        else:
            done.set_exception(error)


CHAIN: Final = "chained"
"""The function of SQL that links a row of the audit to the one before."""


def linked(before: str, *values: str | int) -> str:
    """Return the link of a row with these values: the SHA-256 of the link before and of each value
    with its length, as hex."""
    whole = "".join(f"{len(text := str(value))}:{text}" for value in values)
    return hashlib.sha256(f"{before}{whole}".encode("utf-8", "surrogatepass")).hexdigest()


def connect(path: Path) -> sqlite3.Connection:
    """Open a connection with the settings that all connections of the runtime share.

    Raises:
        SetupError: there is no write-ahead log on this file system.
        sqlite3.Error: the file cannot be opened.
    """
    connection = sqlite3.connect(
        path, isolation_level=None, timeout=5, cached_statements=512, check_same_thread=False
    )
    connection.row_factory = sqlite3.Row
    connection.create_function(CHAIN, -1, linked, deterministic=True)
    connection.execute("PRAGMA auto_vacuum=INCREMENTAL")  # of a new file, and before its log
    (mode,) = connection.execute("PRAGMA journal_mode=WAL").fetchone()
    if mode != "wal":
        connection.close()
        raise SetupError(
            f"{path} lies on {file_system(path) or 'a file system'} where SQLite cannot keep a "
            f"write-ahead log (it says: {mode}).",
            fix="Move the home to a disk of this machine (--home, AOUO_HOME).",
        )
    for pragma in (
        "foreign_keys=ON",
        "busy_timeout=5000",
        "synchronous=NORMAL",
        "secure_delete=ON",  # what is deleted or overwritten is zeroed in its page
    ):
        connection.execute(f"PRAGMA {pragma}")
    return connection


_ON_ITS_THREAD = ("busy_timeout=5000", "wal_autocheckpoint=1000")
_ON_THE_LOOP = ("busy_timeout=0", "wal_autocheckpoint=0", "synchronous=NORMAL")
"""The loop waits for no other process's lock, and never for the disk."""


class _Writer(threading.Thread):
    """The thread with the one connection that writes; `None` in its queue ends it.

    `at_once` borrows the connection; call it only while no request of the thread is pending.
    """

    def __init__(self, path: Path, touched: Callable[[Collection[str]], None]) -> None:
        super().__init__(name="aouo-writer", daemon=True)
        self._touched = touched
        self.requests: queue.SimpleQueue[_Request[Any] | None] = queue.SimpleQueue()
        self.opened: Future[None] = Future()
        self._path = path
        self._connection: sqlite3.Connection | None = None
        self._borrowed = False
        self.hurried = threading.Event()
        self.trouble: Trouble | None = None

    def at_once(self, work: Callable[[Tx], _T]) -> tuple[_T, Tx] | None:
        """Run `work` in a transaction of its own, on the caller's thread, without waiting.

        Returns its result, and what it says is to be done after the commit; None = it was not run,
        because the file cannot be written now.
        """
        connection = self._connection
        assert connection is not None
        self._behave(connection, borrowed=True)
        tx = Tx(connection)
        try:
            connection.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return None
        try:
            result = work(tx)
            failpoint.reached("before commit")
            connection.execute("COMMIT")
            failpoint.reached("after commit")
        except BaseException as error:
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            if trouble_of(error):
                return None
            raise
        return result, tx

    def _behave(self, connection: sqlite3.Connection, *, borrowed: bool) -> None:
        if borrowed != self._borrowed:
            self._borrowed = borrowed
            for pragma in _ON_THE_LOOP if borrowed else _ON_ITS_THREAD:
                connection.execute(f"PRAGMA {pragma}")

    def run(self) -> None:
        try:
            connection = self._connection = self._connected()
            # A process that was killed may have left in the log what it had just overwritten.
            connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        except (sqlite3.Error, SetupError) as error:
            self.opened.set_exception(error)
            return
        self.opened.set_result(None)
        try:
            self._serve(connection)
        finally:
            connection.close()

    def _connected(self) -> sqlite3.Connection:
        """Connect, however long another process holds the lock."""
        for failures in count(1):
            try:
                return connect(self._path)
            except sqlite3.OperationalError as error:
                if trouble_of(error) != "locked" or self.hurried.is_set():
                    raise
                if failures == 1:
                    log.warning("database_trouble", trouble="locked", error=str(error))
                self.hurried.wait(_PAUSE(failures))
        raise AssertionError

    def _serve(self, connection: sqlite3.Connection) -> None:
        tx = Tx(connection)
        ended = False
        while not ended:
            batch: list[_Request[Any]] = []
            request = self.requests.get()
            while request is not None:
                batch.append(request)
                if len(batch) == _BATCH or self.requests.empty():
                    break
                request = self.requests.get()
            ended = request is None
            if batch:
                outcomes = self._commit_at_last(connection, tx, batch)
                if tx.forgets:
                    copy_of(self._path).unlink(missing_ok=True)
                    with suppress(sqlite3.OperationalError):  # then after the next commit
                        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
                        tx.forgets = False
                loop = batch[0].loop
                if tx.touched:
                    loop.call_soon_threadsafe(self._touched, frozenset(tx.touched))
                    tx.touched.clear()
                loop.call_soon_threadsafe(_tell, outcomes)

    def _commit_at_last(
        self, connection: sqlite3.Connection, tx: Tx, batch: Sequence[_Request[Any]]
    ) -> list[_Outcome]:
        """Commit the batch, however long that is not possible; once hurried, try only once."""
        for failures in count(1):
            outcomes, error = self._commit_together(connection, tx, batch)
            found = trouble_of(error) if error else None
            if found != self.trouble:
                self.trouble = found
                batch[0].loop.call_soon_threadsafe(self._touched, (TROUBLE,))
                log.warning("database_trouble", trouble=found or "over", error=str(error or ""))
            if error and getattr(error, "sqlite_errorcode", None) in _BROKEN:
                broken = damaged(self._path, error)
                return [(request.done, None, broken) for request in batch]
            if not found or self.hurried.wait(_PAUSE(failures)):
                return outcomes
            tx.touched.clear()
        raise AssertionError

    def _commit_together(
        self, connection: sqlite3.Connection, tx: Tx, batch: Sequence[_Request[Any]]
    ) -> tuple[list[_Outcome], BaseException | None]:
        """Return the outcomes, and the error that all of them share."""
        try:
            self._behave(connection, borrowed=False)
            durable = any(request.durable for request in batch)
            connection.execute(f"PRAGMA synchronous={'FULL' if durable else 'NORMAL'}")
            connection.execute("BEGIN IMMEDIATE")
            outcomes = [self._apart(connection, tx, request) for request in batch]
            failpoint.reached("before commit")
            connection.execute("COMMIT")
            failpoint.reached("after commit")
        except BaseException as error:  # noqa: BLE001 - the whole batch fails with it
            with suppress(sqlite3.Error):
                connection.execute("ROLLBACK")
            return [(request.done, None, error) for request in batch], error
        return outcomes, None

    def _apart(self, connection: sqlite3.Connection, tx: Tx, request: _Request[Any]) -> _Outcome:
        """Run one request in its savepoint; its outcome is told after the commit."""
        connection.execute("SAVEPOINT one")
        try:
            result = request.work(tx)
        except BaseException as error:
            if trouble_of(error) or getattr(error, "sqlite_errorcode", None) in _BROKEN:
                raise
            connection.execute("ROLLBACK TO one")
            connection.execute("RELEASE one")
            return request.done, None, error
        connection.execute("RELEASE one")
        return request.done, result, None


class Database:
    """Runs transactions on one file; the module says which thread uses which connection."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._writer = _Writer(path, self._tell_of)
        self._listeners: dict[str, list[Callable[[], None]]] = {}
        self._reader: sqlite3.Connection | None = None
        self._snapshots = Snapshots(path)
        self._asked = 0  # requests to the writer's thread without an answer

    async def open(self, *, patient: bool = False) -> None:
        """Start the writer, open the reader; `patient`: wait for what keeps it from writing.

        Raises:
            SetupError: there is no write-ahead log on this file system.
            sqlite3.Error: the file cannot be opened.
        """
        if not patient:
            self.hurry()
        self._writer.start()
        await asyncio.wrap_future(self._writer.opened)
        self._reader = connect(self.path)
        for pragma in ("query_only=ON", "busy_timeout=0"):  # it is on the loop's thread
            self._reader.execute(f"PRAGMA {pragma}")

    @property
    def trouble(self) -> Trouble | None:
        """What the writer waits for, None = it writes; those who `listen` hear of each change."""
        return self._writer.trouble

    def hurry(self) -> None:
        """Wait no longer for a file that cannot be written: from now on a failure is one."""
        self._writer.hurried.set()

    async def transact(
        self, work: Callable[[Tx], _T], *, durable: bool = False, brief: bool = False
    ) -> _T:
        """Run `work` in a transaction and return its result after the commit.

        Once requested it happens: a cancellation of the caller takes effect only after it. `work`
        may run again, after its writes were taken back.
        `durable` waits for the disk: for commits that acknowledge an update or record an effect.
        `brief` says that `work` is a few indexed statements: unless it is durable too, it may run
        on the loop's thread, though never before an older request: order is kept.
        """
        at_once = brief and not durable and not self._asked
        if at_once and (done := self._writer.at_once(work)):
            result, tx = done
            self._tell_of(tx.touched)
            if tx.forgets:
                await self._ask(Tx.forget, durable=False)
            return result
        return await self._ask(work, durable=durable)

    def listen(self, what: str, changed: Callable[[], None]) -> None:
        """Have `changed` called, on the loop, after each commit that touched `what`."""
        self._listeners.setdefault(what, []).append(changed)

    def _tell_of(self, touched: Collection[str]) -> None:
        for what in touched:
            for changed in self._listeners.get(what, ()):
                changed()

    async def _ask(self, work: Callable[[Tx], _T], *, durable: bool) -> _T:
        """Run `work` on the writer's thread, in the context of whoever asks: what it speaks."""
        loop = asyncio.get_running_loop()
        context = copy_context()
        done: asyncio.Future[_T] = loop.create_future()
        self._asked += 1
        done.add_done_callback(self._answered)
        within = partial(context.run, work)
        self._writer.requests.put(_Request(within, durable, loop, done))
        return await finish(done)

    def _answered(self, done: asyncio.Future[Any]) -> None:
        del done
        self._asked -= 1

    async def read(self, work: Callable[[Tx], _T], *, once: bool = False) -> _T:
        """Run `work` on one consistent snapshot; it cannot write.

        `once` says that it is one statement, which is consistent without a transaction.

        It runs on the loop's thread: for indexed reads of a few hundred rows, which take less
        than the way to another thread and back. A reader never waits for the writer.
        """
        assert self._reader is not None
        if once:
            return work(Tx(self._reader))
        self._reader.execute("BEGIN")
        try:
            return work(Tx(self._reader))
        finally:
            self._reader.execute("ROLLBACK")

    def snapshot(self) -> AbstractAsyncContextManager[Snapshot]:
        """Open a snapshot for long reads, which run off the loop: see `store.snapshots`."""
        return self._snapshots.open()

    async def close(self) -> None:
        """Finish the queued work; readers close first, so that the writer checkpoints last."""
        self.hurry()
        await self._snapshots.close()
        if self._reader is not None:
            self._reader.close()
        if self._writer.is_alive():
            self._writer.requests.put(None)
            await asyncio.to_thread(self._writer.join)
