"""Restores a home from a backup: unpacked and checked beside what there is, then exchanged."""

from __future__ import annotations

import contextlib
import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, LiteralString

from aouo import __version__
from aouo.backup import archive
from aouo.backup.sealed import damaged
from aouo.backup.writing import About
from aouo.config.file import look_at
from aouo.config.keys import differing, get, plain
from aouo.config.settings import Settings
from aouo.facts.errors import SetupError
from aouo.plumbing import exchange
from aouo.plumbing.home import Home
from aouo.plumbing.trees import discard, walk
from aouo.store.opening import is_as_made, schema_number


@dataclass(frozen=True, slots=True)
class Found:
    """What an unpacked backup holds: by kind, whole lines that may have any character; `theirs`
    counts the schedules of others than the owner, which come back as proposed."""

    about: About
    packs: tuple[str, ...]
    lists: Mapping[str, Sequence[str]]
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
    stamp = f"{now:%Y%m%dT%H%M%S%fZ}"
    try:
        aside = exchange.begin(home.path, stamp)
        exchange.finish(home.path)
    except OSError as error:
        fix = "Mend that (a folder that is a mount cannot be moved), and try again."
        old = f"{home.path / exchange.BEFORE}{stamp}"
        why = f"{error}. What was there before lies in {old}, or still at its place"
        raise SetupError(f"{home.path} is not restored yet: {why}.", fix=fix) from error
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
    except (ValueError, LookupError, TypeError, RecursionError) as error:
        raise damaged() from error


def _found(fresh: Home, about: About, environ: Mapping[str, str]) -> Found:
    """Look at what was unpacked, and turn off what is not the owner's own."""
    loaded = look_at(fresh.path, environ)
    owner = str(loaded.settings.telegram.owner or "")
    packs = tuple(sorted(one.name for one in fresh.packs.iterdir())) if fresh.packs.is_dir() else ()
    masked = plain(loaded.settings, masked=True)
    lists = {
        "Settings": [
            f"{key}: {json.dumps(get(masked, key), ensure_ascii=False)}"
            for key in differing(Settings(), loaded.settings)
        ],
        "Texts": _texts(fresh),
    }
    if not fresh.database.exists():
        return Found(about, packs, lists, 0)
    try:
        with contextlib.closing(sqlite3.connect(fresh.database)) as opened:
            opened.execute("PRAGMA trusted_schema=OFF")
            rows, theirs = _settled(opened, owner)
            return Found(about, packs, {**rows, **lists}, theirs)
    except (sqlite3.Error, UnicodeDecodeError) as error:
        raise damaged() from error


def _texts(fresh: Home) -> list[str]:
    """Each file that a model is told, or that a command starts, with its content."""
    folders = [fresh.path / name for name in ("commands", "skills")]
    files = [file for file in (fresh.soul, fresh.rules, fresh.heartbeat) if file.is_file()]
    files += sorted(top / one.path for top in folders for one in walk(top) if one.is_file)
    words = ((file, file.read_bytes().decode(errors="backslashreplace")) for file in files)
    return [f"{file.relative_to(fresh.path)}: {text}" for file, text in words]


_LISTS: Final[Mapping[str, LiteralString]] = {
    "People": "SELECT CASE name WHEN '' THEN '(no name)' ELSE name END || ' (' || person || '): '"
    " || role FROM people ORDER BY at",
    "Schedules": "SELECT pack || ': ' || name || ', ' || text || ', of ' || person"
    " || CASE enabled WHEN 0 THEN ', off' ELSE '' END"
    " || CASE skill WHEN '' THEN '' ELSE ', does ' || skill END"
    " || CASE act WHEN '' THEN '' ELSE ', does ' || act END"
    " || CASE prompt || say WHEN '' THEN '' ELSE ': ' || prompt || say END"
    " FROM schedules ORDER BY pack, id",
    "Always allowed": "SELECT pack || ': ' || tool || ', ' || kind || ' ' || target || ', for '"
    " || person FROM grants",
    "Trusted tools": "SELECT server || ': ' || tool FROM server_tools",
}


def _settled(opened: sqlite3.Connection, owner: str) -> tuple[dict[str, list[str]], int]:
    """Switch off what is not the owner's own; return what was there, and how many that were."""
    if not is_as_made(opened) or opened.execute("PRAGMA quick_check(1)").fetchone() != ("ok",):
        raise damaged()
    lists = {kind: [row[0] for row in opened.execute(sql)] for kind, sql in _LISTS.items()}
    others = " FROM schedules WHERE enabled <> 0 AND person NOT IN (?, '')"
    (theirs,) = opened.execute(f"SELECT count(*){others}", (owner,)).fetchone()
    opened.execute(
        "UPDATE schedules SET paused = CASE enabled WHEN 0 THEN paused ELSE 'proposed' END,"
        " enabled = 0, next_due = NULL WHERE person NOT IN (?, '')",
        (owner,),
    )
    # What was on its way then may have arrived since: it is told as that, and not sent again.
    opened.execute("UPDATE deliveries SET state = 'sending' WHERE state = 'queued'")
    opened.commit()
    if opened.execute(f"SELECT count(*){others}", (owner,)).fetchone() != (0,):
        raise damaged()
    return lists, theirs
