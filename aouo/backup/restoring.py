"""Restores a home from a backup: unpacked and checked beside what there is, then exchanged."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from aouo import __version__
from aouo.backup import archive
from aouo.backup.sealed import damaged
from aouo.backup.writing import About
from aouo.config.file import look_at
from aouo.facts.errors import SetupError
from aouo.plumbing import exchange
from aouo.plumbing.home import Home
from aouo.plumbing.trees import discard
from aouo.store.opening import schema_number


@dataclass(frozen=True, slots=True)
class Found:
    """What an unpacked backup holds; `theirs` counts the schedules of others than the owner, which
    come back as proposed. `schedules` and `people` are lines."""

    about: About
    packs: tuple[str, ...]
    people: tuple[str, ...]
    schedules: tuple[str, ...]
    theirs: int


def unpack(home: Home, file: Path, passphrase: str, environ: Mapping[str, str]) -> Found:
    """Unpack a backup beside what is in a home, whose lock the caller holds, and check it; nothing
    of the home is changed.

    Raises:
        SetupError: it cannot be used, or there is no room for it; nothing is left of it.
    """
    forget(home)
    if (size := _size(file)) > (free := shutil.disk_usage(home.path).free):
        raise SetupError(
            f"There is not enough room in {home.path}: {size / 1e6:,.0f} MB are needed, "
            f"{free / 1e6:,.0f} MB are free.",
            exit_code=1,
        )
    fresh = exchange.fresh(home.path)
    try:
        fresh.mkdir(mode=0o700, parents=True)
        about = _about(archive.read(file, passphrase, fresh, _judged))
        return _found(Home(fresh), about, environ)
    except OSError as error:
        forget(home)
        why = error.strerror or error
        raise SetupError(f"{file} cannot be unpacked: {why}.", exit_code=1) from error
    except BaseException:
        forget(home)
        raise


def put_in_place(home: Home, now: datetime) -> Path | None:
    """Let what was unpacked be the home; return the folder with what was there before, None =
    there was nothing.

    Raises:
        SetupError: a part cannot be moved; whoever locks the home next goes on with it.
    """
    try:
        aside = exchange.begin(home.path, f"{now:%Y%m%dT%H%M%S%fZ}")
        exchange.finish(home.path)
    except OSError as error:
        fix = "Mend that (a folder that is a mount cannot be moved), and try again."
        raise SetupError(f"{home.path} is not restored yet: {error}.", fix=fix) from error
    forget(home)
    if any(aside.iterdir()):
        return aside
    aside.rmdir()
    return None


def forget(home: Home) -> None:
    """Remove what was unpacked and not put in place, or is left of what was."""
    discard(home.path / exchange.UNPACKED)


def _size(file: Path) -> int:
    try:
        return file.stat().st_size
    except OSError as error:
        why = error.strerror or error
        raise SetupError(f"{file} cannot be read: {why}.", exit_code=1) from error


def _judged(text: bytes) -> None:
    about = _about(text)
    if about.schema != schema_number():
        raise SetupError(
            f"This backup was made by aouo {about.version}, whose tables are not those of "
            f"{__version__} here; before 0.1.0 nothing is carried over.",
            fix="Restore it with the aouo that made it.",
            exit_code=1,
        )


def _about(text: bytes) -> About:
    try:
        said: dict[str, Any] = json.loads(text)
        return About(
            str(said["version"]), int(said["schema"]), str(said["made_at"]), bool(said["keys"])
        )
    except (ValueError, LookupError, TypeError) as error:
        raise damaged() from error


def _found(fresh: Home, about: About, environ: Mapping[str, str]) -> Found:
    """Look at what was unpacked, and turn off what is not the owner's own."""
    loaded = look_at(fresh.path, environ)
    owner = str(loaded.settings.telegram.owner or "")
    packs = sorted(one.name for one in fresh.packs.iterdir()) if fresh.packs.is_dir() else []
    if not fresh.database.exists():
        return Found(about, tuple(packs), (), (), 0)
    try:
        with contextlib.closing(sqlite3.connect(fresh.database)) as opened:
            return _settled(opened, about, owner, packs)
    except sqlite3.Error as error:
        raise damaged() from error


def _settled(opened: sqlite3.Connection, about: About, owner: str, packs: list[str]) -> Found:
    if opened.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise damaged()
    people = opened.execute("SELECT name, person, role FROM people ORDER BY at").fetchall()
    rows = opened.execute(
        "SELECT pack, CASE WHEN name != '' THEN name WHEN say != '' THEN say"
        " WHEN skill != '' THEN skill ELSE prompt END, text, person, enabled"
        " FROM schedules ORDER BY pack, id"
    ).fetchall()
    theirs = opened.execute(
        "UPDATE schedules SET enabled = 0, paused = 'proposed', next_due = NULL"
        " WHERE enabled = 1 AND person NOT IN (?, '')",
        (owner,),
    ).rowcount
    # What was on its way then may have arrived since: it is told as that, and not sent again.
    opened.execute("UPDATE deliveries SET state = 'sending' WHERE state = 'queued'")
    opened.commit()
    return Found(
        about,
        tuple(packs),
        tuple(f"{name or '(no name)'} ({person}): {role}" for name, person, role in people),
        tuple(
            f"{pack}: {what[:60]}, {when}, of {person}{'' if on else ', off'}"
            for pack, what, when, person, on in rows
        ),
        theirs,
    )
