"""Copies packs' databases before a change, keeps the newest few copies, and puts them back."""

from __future__ import annotations

import contextlib
import filecmp
import os
import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

from aouo.facts.errors import PackError

KEPT = 5
_STAMP = "%Y%m%dT%H%M%S%fZ"
_STAMP_CHARS = 22


def back_up(connection: sqlite3.Connection, folder: Path, tenant: str, now: datetime) -> Path:
    """Copy an open database to `<folder>/<utc stamp>[-<tenant>].db` and return that file.

    `tenant` "" = everybody's. Of each the newest `KEPT` stay. The file is whole or not there. Where
    the newest holds the same, that one is returned: a change that fails again and again pushes none
    out.

    Raises:
        PackError: the copy cannot be written.
    """
    file = _free_name(folder, tenant, now)
    draft = file.with_name(f".{file.name}.{os.getpid()}.new")
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        os.close(os.open(draft, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, 0o600))
        with contextlib.closing(sqlite3.connect(draft)) as copy:
            connection.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # one file, without a log beside
        _synced(draft)
        if newest := _newest_if_the_same(folder, tenant, draft):
            draft.unlink()
            return newest
        draft.replace(file)
        _synced(folder)
    except (OSError, sqlite3.Error) as error:
        with contextlib.suppress(OSError):
            draft.unlink(missing_ok=True)
        raise PackError(f"No backup can be written into {folder}: {error}.") from error
    for old in backups(folder, tenant)[:-KEPT]:
        old.unlink(missing_ok=True)
    return file


def backups(folder: Path, tenant: str) -> list[Path]:
    """Return a tenant's backups of a pack, the oldest first; "" = of the shared database."""
    end = f"-{tenant}.db" if tenant else ".db"
    files = folder.glob(f"[0-9]*Z{end}") if folder.is_dir() else ()
    return sorted(file for file in files if file.name[_STAMP_CHARS:] == end)


def restore_database(backup: Path, target: Path) -> None:
    """Make the database at `target` what `backup` holds, all of it or nothing.

    Close what has `target` open first: it would go on with what it knows of the old one.

    Raises:
        PackError: one of them cannot be used; the target is as it was.
    """
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(target, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
        source_uri = f"{backup.absolute().as_uri()}?mode=ro"
        with (
            contextlib.closing(sqlite3.connect(source_uri, uri=True)) as source,
            contextlib.closing(sqlite3.connect(target, isolation_level=None)) as copy,
        ):
            copy.execute("PRAGMA synchronous=FULL").fetchall()
            source.backup(copy)  # one transaction of the target
    except (OSError, sqlite3.Error) as error:
        raise PackError(f"{backup.name} cannot be put back: {error}.") from error


def _newest_if_the_same(folder: Path, tenant: str, draft: Path) -> Path | None:
    newest = backups(folder, tenant)[-1:]
    return next((file for file in newest if filecmp.cmp(file, draft, shallow=False)), None)


def _free_name(folder: Path, tenant: str, now: datetime) -> Path:
    moment = now.astimezone(UTC)
    while True:
        stamped = moment.strftime(_STAMP)
        file = folder / (f"{stamped}-{tenant}.db" if tenant else f"{stamped}.db")
        if not file.exists():
            return file
        moment += timedelta(microseconds=1)


def _synced(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
