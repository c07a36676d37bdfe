"""Writes what a pack keeps to one file, `.backup.aouo`, also while the bot runs."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.packs.shipping.backup_file import (
    FACTS,
    LIMITS,
    OWNED,
    SHARED,
    Facts,
    FileFact,
    Known,
    workshop,
)
from aouo.packs.shipping.sealed import seal
from aouo.packs.shipping.zipped import Names, file_hash, write
from aouo.plumbing.home import APART, Home
from aouo.plumbing.trees import TooMuch, walk

_TIDY = "Remove those below data/packs/{}, or purge the pack."


def export_data(
    home: Home,
    pack: str,
    target: Path,
    *,
    version: str,
    now: datetime,
    known: Known | None = None,
    passphrase: str = "",
) -> Facts:
    """Write all that `pack` keeps to the file `target`, and return what is said in it.

    Each database is copied as of one moment. `passphrase` locks it, "" = readable by anybody.

    Raises:
        PackError: nothing is kept, or it cannot be written; an earlier `target` stays.
    """
    with workshop(target.parent.resolve()) as work:
        try:
            members = dict(_members(home, pack, work))
            facts = _facts(members, pack, version, now, known or Known(schedules=[]))
        except TooMuch as error:
            raise PackError(f"What {pack} keeps {error}.", fix=_TIDY.format(pack)) from error
        except OSError as error:
            raise PackError(f"{error.filename} cannot be read: {error.strerror}.") from error
        plain = work / "plain.zip"
        text = facts.model_dump_json(indent=1).encode()
        write(plain, [(FACTS, text), *sorted(members.items())])
        _put(plain, target, passphrase)
    return facts


def keeps_anything(home: Home, pack: str) -> bool:
    """Whether there is anything to back up."""
    database, owned = home.pack_database(pack), home.store / pack
    return (
        database.is_file()
        or any(owned.glob("*.db"))
        or _holds_any(home.pack_folder(pack))
        or _holds_any(home.private_folder(pack))
    )


def _holds_any(folder: Path) -> bool:
    return folder.is_dir() and any(path.name != APART for path in folder.iterdir())


def _members(home: Home, pack: str, work: Path) -> Iterator[tuple[str, Path]]:
    """What there is, by its place in the archive; databases as copies in `work`."""
    shared = home.pack_database(pack)
    if shared.is_file():
        yield SHARED, _copy_database(shared, work / SHARED)
    for file in sorted((home.store / pack).glob("*.db")):
        if OWNED.fullmatch(f"owners/{file.name}"):
            yield f"owners/{file.name}", _copy_database(file, work / f"owner-{file.name}")
    yield from _files_in(home.pack_folder(pack), "data")
    yield from _files_in(home.private_folder(pack), "private")


def _files_in(root: Path, place: str) -> Iterator[tuple[str, Path]]:
    """Where each file belongs, and its path, in which no link is left."""
    root = root.resolve()
    for found in walk(root):
        if found.is_file:
            yield f"{place}/{found.path}", root / found.path


def _copy_database(source: Path, target: Path) -> Path:
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{source.as_uri()}?mode=rw", uri=True)) as opened,
            contextlib.closing(sqlite3.connect(target)) as copy,
        ):
            opened.backup(copy)
            copy.execute("PRAGMA journal_mode=DELETE").fetchall()  # one file, no log beside it
    except sqlite3.Error as error:
        raise PackError(f"{source} cannot be copied: {error}.") from error
    return target


def _facts(
    members: Mapping[str, Path],
    pack: str,
    version: str,
    now: datetime,
    known: Known,
) -> Facts:
    if not members.keys() - {f"private/{APART}"}:
        raise PackError(f"The pack {pack} keeps nothing yet.", fix="There is nothing to back up.")
    names = Names(LIMITS, data=True)
    for name in members:
        names.take(name)
    hashes = {name: file_hash(path) for name, path in members.items()}
    if sum(size for _, size in hashes.values()) > LIMITS.total_bytes:
        raise PackError(f"The pack {pack} keeps more than 2 GB.", fix="Delete some of its files.")
    return Facts(
        pack=pack,
        version=version,
        made_at=now.isoformat(timespec="seconds"),
        files={name: FileFact(sha256=found, bytes=size) for name, (found, size) in hashes.items()},
        schedules=known.schedules,
        onboarding=known.onboarding,
    )


def _put(plain: Path, target: Path, passphrase: str) -> None:
    """Move the archive to where it was wished, locked if there is a passphrase."""
    ready = plain
    if passphrase:
        ready = plain.with_name("sealed")
        with plain.open("rb") as source, ready.open("xb") as out:
            seal(source, out, passphrase)
    try:
        ready.chmod(0o600)
        ready.replace(target)
    except OSError as error:
        raise PackError(f"{target} cannot be written: {error.strerror or error}.") from error
