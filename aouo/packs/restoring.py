"""What a pack keeps, put back from a `.backup.aouo`: checked first, then exchanged."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from aouo.errors import PackError
from aouo.home import Home
from aouo.packs.backup_file import (
    FACTS,
    FOLDERS,
    SHARED,
    SUFFIX,
    Facts,
    Kept,
    file_hash,
    kept,
    opened,
    workshop,
)
from aouo.packs.export import export_data, keeps_anything
from aouo.packs.zipped import Archive, shown

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")


@dataclass(frozen=True, slots=True)
class Restored:
    """What was put back; `before` is what was there, None = nothing: a backup, or,
    where it was too damaged for one, a folder with its files."""

    kept: Kept
    before: Path | None


def inspect(backup: Path, passphrase: str = "") -> Kept:
    """Say what a backup holds, without restoring it.

    Raises:
        PackError: it is none, is damaged, or the passphrase is wrong.
    """
    with workshop(None) as work, opened(backup, work, passphrase) as (_, facts):
        return kept(facts)


def restore(
    backup: Path,
    home: Home,
    name: str,
    *,
    now: datetime,
    passphrase: str = "",
    schedules: Sequence[Mapping[str, object]] = (),
) -> Restored:
    """Make what the pack `name` keeps what the backup holds. Nobody may have it open.

    Everything is unpacked beside and checked first, and what is there is backed up under
    `data/backups/<name>/`; then folders and databases are exchanged. If that fails, the old ones
    are put back; killed in between, both backups are whole and it can be done again. `schedules`
    are those of now, for the backup of what is there; those of `backup` are for the caller.

    Raises:
        PackError: another pack's, damaged, hostile, a wrong passphrase; nothing was changed.
    """
    if not _NAME.fullmatch(name):
        raise PackError(f"{shown(name)} is not the name of a pack.")
    home.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    with workshop(home.data) as work:
        with opened(backup, work, passphrase) as (archive, facts):
            if facts.pack != name:
                raise PackError(
                    f"{backup} is a backup of {shown(facts.pack)}, not of {name}.",
                    fix="Name the pack that it belongs to.",
                )
            fresh = work / "fresh"
            _unpack(archive, facts, fresh, backup)
        stamp = f"{now:%Y%m%dT%H%M%S%f}Z-before-restore"
        is_kept = keeps_anything(home, name)
        target = home.backups / name / f"{stamp}{SUFFIX}"
        before = _back_up(home, name, now, target, schedules)
        _exchange(home, name, fresh, work / "old")
        if is_kept and before is None:
            before = home.backups / name / stamp
            (work / "old").rename(before)
    return Restored(kept(facts), before)


def _unpack(archive: Archive, facts: Facts, fresh: Path, backup: Path) -> None:
    """Unpack into `fresh` and check each file; databases have to be sound ones."""
    fresh.mkdir(mode=0o700)
    wanted = {name: name for name in archive.files if name != FACTS}
    try:
        archive.extract(fresh, wanted)
    except OSError as error:
        raise PackError(f"{backup} cannot be unpacked: {error.strerror or error}.") from error
    for name in wanted:
        if file_hash(fresh / name)[0] != facts.files[name].sha256:
            raise PackError(f"{shown(name)} in {backup} is damaged.", fix="Use another copy.")
        (fresh / name).chmod(0o600)
        if not name.startswith(FOLDERS):
            _check_database(fresh / name, backup)
    for folder in fresh.rglob("*"):
        if folder.is_dir():
            folder.chmod(0o700)


def _check_database(file: Path, backup: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as opened:
            opened.execute("PRAGMA trusted_schema=OFF").fetchall()
            sound = opened.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise PackError(f"A database in {backup} cannot be used: {error}.") from error
    if sound != ("ok",):
        raise PackError(f"A database in {backup} is damaged.", fix="Use another copy.")


def _back_up(
    home: Home, name: str, now: datetime, target: Path, schedules: Sequence[Mapping[str, object]]
) -> Path | None:
    """Back up what is there; None = there is nothing, or it is too damaged to be copied."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(PackError):
        export_data(home, name, target, version="", now=now, schedules=schedules)
    return target if target.exists() else None


def _exchange(home: Home, name: str, fresh: Path, old: Path) -> None:
    """Put the fresh files where the old ones were, which end up in `old`; or change nothing."""
    old.mkdir(mode=0o700)
    database, owned = home.pack_database(name), home.store / name
    data, private = home.pack_folder(name), home.private_folder(name)
    moves = [
        *((Path(f"{database}{end}"), old / f"{SHARED}{end}") for end in ("", "-wal", "-shm")),
        (owned, old / "owners"),
        (data, old / "data"),
        (private, old / "private"),
        (fresh / SHARED, database),
        (fresh / "owners", owned),
        (fresh / "data", data),
        (fresh / "private", private),
    ]
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in moves:
            if os.path.lexists(source):
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                source.rename(target)
                done.append((source, target))
    except OSError as error:
        for source, target in reversed(done):
            target.rename(source)
        raise PackError(f"{name} was not restored: {error.strerror or error}.") from error
