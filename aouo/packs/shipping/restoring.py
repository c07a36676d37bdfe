"""Restores what a pack keeps from a `.backup.aouo`: checks it first, then exchanges the files.

One rename says that it is meant: a process that is killed before it leaves what there was, one
that is killed after it leaves the rest to the next start. Doing all of it again changes nothing.
"""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from aouo.facts.errors import PackError
from aouo.packs.shipping.export import (
    BACKUP_SUFFIX,
    FACTS,
    FOLDERS,
    SHARED,
    Facts,
    Known,
    export_data,
    keeps_anything,
    new_folder,
    opened,
    workshop,
)
from aouo.packs.shipping.zipped import Archive, file_hash, shown
from aouo.plumbing import failpoint
from aouo.plumbing.home import Home, sync_folder, write_atomically
from aouo.plumbing.trees import discard, walk

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,31}")
_UNPACKED = ".unpacked-"
_RESTORING = ".restoring-"
_FRESH, _READY, _OLD, _PLAN = "fresh", "ready", "old", "plan.json"


@dataclass(frozen=True, slots=True)
class Unpacked:
    """A backup that was checked, unpacked into `folder`, which is its holder's to remove."""

    folder: Path
    facts: Facts

    @property
    def databases(self) -> list[Path]:
        fresh = self.folder / _FRESH
        return [*fresh.glob(SHARED), *sorted(fresh.glob("owners/*.db"))]


class Plan(BaseModel):
    """What is left to do once the files are exchanged: `known` comes back, and the old files are
    kept in the folder `keep_old` where they were too damaged for a backup ("" = they are not)."""

    model_config = ConfigDict(frozen=True)
    known: Known
    keep_old: str


def inspect(backup: Path, passphrase: str = "") -> Facts:
    """Return what a backup says of itself, without restoring it.

    Raises:
        PackError: it is none, is damaged, or the passphrase is wrong.
    """
    with workshop(None) as work, opened(backup, work, passphrase) as (_, facts):
        return facts


def unpack(backup: Path, home: Home, name: str, *, passphrase: str = "") -> Unpacked:
    """Unpack what the pack `name` shall keep beside what it keeps, and check it.

    Raises:
        PackError: another pack's, damaged, hostile, a wrong passphrase; nothing is left of it.
    """
    if not _NAME.fullmatch(name):
        raise PackError(f"{shown(name)} is not the name of a pack.")
    home.data.mkdir(parents=True, exist_ok=True, mode=0o700)
    work = new_folder(home.data.resolve(), _UNPACKED)
    try:
        with opened(backup, work, passphrase) as (archive, facts):
            if facts.pack != name:
                raise PackError(
                    f"{backup} is a backup of {shown(facts.pack)}, not of {name}.",
                    fix="Name the pack that it belongs to.",
                )
            _unpack(archive, facts, work / _FRESH, backup)
    except BaseException:
        discard(work)
        raise
    return Unpacked(work, facts)


def begin(unpacked: Unpacked, home: Home, *, now: datetime, known: Known) -> Path | None:
    """Back up what is there, and write down that it shall be exchanged; nobody may have it open.

    `known` is what the runtime knows now, for that backup. Returns what holds what was there: a
    backup, a folder where that was too damaged for one, or None = there was nothing.

    Raises:
        PackError: it cannot be written down; nothing was changed.
    """
    name = unpacked.facts.pack
    stamp = f"{now:%Y%m%dT%H%M%S%f}Z-before-restore"
    before = _back_up(home, name, now, home.backups / name / f"{stamp}{BACKUP_SUFFIX}", known)
    aside = home.backups / name / stamp
    damaged = before is None and keeps_anything(home, name)
    plan = Plan(known=unpacked.facts.known, keep_old=str(aside) if damaged else "")
    try:
        write_atomically(unpacked.folder / _PLAN, plan.model_dump_json())
        os.sync()  # what is unpacked is on disk before it counts
        failpoint.reached("before a pack's data is to be exchanged")
        unpacked.folder.rename(_place(home, name))
        failpoint.reached("after a pack's data is to be exchanged")
        sync_folder(home.data)
    except OSError as error:
        raise _not_restored(name, error) from error
    return aside if damaged else before


def exchange(home: Home, name: str) -> Plan:
    """Put the fresh files where the old ones were, or all that is left of it after a kill.

    Raises:
        PackError: it cannot be done; what this call did is undone.
    """
    done: list[tuple[Path, Path]] = []
    try:
        for source, target in _moves(home, name):
            if os.path.lexists(source):
                target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                failpoint.reached("before a part of a pack's data moves")
                source.rename(target)
                done.append((source, target))
        os.sync()
        return Plan.model_validate_json((_place(home, name) / _PLAN).read_bytes())
    except (OSError, ValueError) as error:
        for source, target in reversed(done):
            target.rename(source)
        raise _not_restored(name, error) from error


def conclude(home: Home, name: str, plan: Plan) -> None:
    """Nothing of it stays but what it restored, and old files that no backup holds."""
    old = _place(home, name) / _OLD
    if plan.keep_old and old.exists():
        old.rename(plan.keep_old)
    forsake(home, name)


def forsake(home: Home, name: str) -> None:
    """It is over, or was not exchanged after all."""
    over = home.data / f"{_UNPACKED}{name}"
    discard(over)
    _place(home, name).rename(over)
    discard(over)


def begun(home: Home) -> list[str]:
    """The packs whose data is to be exchanged still."""
    found = (folder.name.removeprefix(_RESTORING) for folder in home.data.glob(f"{_RESTORING}*"))
    return sorted(name for name in found if _NAME.fullmatch(name))


def sweep(home: Home) -> None:
    """Remove what a killed process had unpacked and never meant."""
    for folder in home.data.glob(f"{_UNPACKED}*"):
        discard(folder)


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
    for found in walk(fresh):
        if found.is_folder:
            (fresh / found.path).chmod(0o700)


def _check_database(file: Path, backup: Path) -> None:
    try:
        with contextlib.closing(sqlite3.connect(f"{file.as_uri()}?mode=ro", uri=True)) as opened:
            opened.execute("PRAGMA trusted_schema=OFF").fetchall()
            sound = opened.execute("PRAGMA quick_check(1)").fetchone()
    except sqlite3.Error as error:
        raise PackError(f"A database in {backup} cannot be used: {error}.") from error
    if sound != ("ok",):
        raise PackError(f"A database in {backup} is damaged.", fix="Use another copy.")


def _back_up(home: Home, name: str, now: datetime, target: Path, known: Known) -> Path | None:
    """Back up what is there; None = there is nothing, or it is too damaged to be copied."""
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with contextlib.suppress(PackError):
        export_data(home, name, target, version="", now=now, known=known)
    return target if target.exists() else None


def _moves(home: Home, name: str) -> Iterator[tuple[Path, Path]]:
    """Each rename, in order; with the one in the middle all old files are aside."""
    place, database = _place(home, name), home.pack_database(name)
    fresh, ready, old = place / _FRESH, place / _READY, place / _OLD
    parts = (
        (SHARED, database),
        *((f"{SHARED}{end}", Path(f"{database}{end}")) for end in ("-wal", "-shm")),
        ("owners", home.store / name),
        ("data", home.pack_folder(name)),
        ("private", home.private_folder(name)),
    )
    if fresh.exists():
        yield from ((there, old / part) for part, there in parts)
        yield fresh, ready
    for part, there in parts:
        if os.path.lexists(ready / part):
            yield there, old / f"{part}.late"  # made by whoever looked while it was aside
            yield ready / part, there


def _place(home: Home, name: str) -> Path:
    return home.data / f"{_RESTORING}{name}"


def _not_restored(name: str, error: Exception) -> PackError:
    why = (error.strerror if isinstance(error, OSError) else "") or error
    return PackError(f"{name} was not restored: {why}.", fix="What it keeps is as it was.")
