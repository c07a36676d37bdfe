"""Writes the whole home to one file, also while the bot runs, and reads it once more to be sure.

The runtime's database is copied first: a tool call that it shows as begun finds in the later copy
of a pack's database that it was done, so that a restored bot does not do it twice.
"""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import sqlite3
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Any, cast

from aouo import __version__
from aouo.backup import archive
from aouo.config.file import dump, parse, parse_json, read_text
from aouo.config.keys import overriding
from aouo.facts.errors import SetupError
from aouo.facts.ids import ulid
from aouo.plumbing.home import Home, sync_folder
from aouo.plumbing.trees import Found, TooMuch, discard, walk
from aouo.store import audit
from aouo.store.database import copy_of
from aouo.store.opening import FULL, reading, schema_number
from aouo.store.opening import copy as database_copy

_FILES = ("SOUL.md", "RULES.md", "HEARTBEAT.md", "trial.json")
_FOLDERS = ("skills", "commands", "data", "media")
_CONFIGS = ("config.json", "config.last-good.json")
_WORK = ".backup-"
_NOTE = "part"
_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_MOST = 10_000_000
_BESIDE = ("-wal", "-shm", "-journal")
"""Endings of the files that SQLite keeps beside a database, whose rows are in its copy."""


@dataclass(frozen=True, slots=True)
class About:
    """What a backup says of itself; `schema` is the number of the database's tables."""

    version: str
    schema: int
    made_at: str
    keys: bool
    """Whether it holds the home's keys, if there are any."""
    audit: str = ""
    """The newest row of the audit then, and its link: `ID:LINK`."""


def _head(home: Home) -> str:
    if not home.database.exists():
        return ""
    with suppress(SetupError), reading(home.database) as tx:
        return ":".join(map(str, audit.head(tx)))
    return ""


def keys_in(home: Home, environ: Mapping[str, str]) -> list[str]:
    """Return where keys are in a home, by file: what an open backup may not hold. A configuration
    that cannot be read may hold some."""
    configs = [home.path / name for name in _CONFIGS if (home.path / name).exists()]
    found = [file.name for file in configs if _keyless(file, environ) != _tree(file)]
    packs = sorted(home.settings.glob("*.json"))
    return [
        *found,
        *(f"the secrets of {file.stem}" for file in packs if _json(file).get("secrets")),
    ]


def write(
    home: Home,
    target: Path,
    environ: Mapping[str, str],
    now: datetime,
    *,
    passphrase: str = "",
    keys: bool = True,
) -> int:
    """Write the home to a new file; return its size in bytes.

    Raises:
        SetupError: there is such a file, the disk is full, or something cannot be read; nothing is
            left of it.
    """
    if os.path.lexists(target):
        raise SetupError(f"{target} is there already.", fix="Name another file.", exit_code=2)
    if not home.path.is_dir():
        raise SetupError(f"{home.path} is not there.", fix="Name another with --home.")
    made_at = now.isoformat(timespec="seconds")
    about = About(__version__, schema_number(), made_at, keys, _head(home))
    part: Path | None = None
    try:
        home.data.mkdir(mode=0o700, exist_ok=True)
        sweep(home)
        work = Path(tempfile.mkdtemp(prefix=_WORK, dir=home.data))
        held = os.open(work, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX)
            members = _members(home, work, environ, keys=keys)
            # A name that nobody can know, so that nothing is there: no link, no file of others.
            part = target.with_name(f".{target.name}.{ulid()}.part")
            (work / _NOTE).write_bytes(os.fsencode(part))
            with os.fdopen(os.open(part, _NEW, 0o600), "wb") as out:
                first = (archive.FACTS, json.dumps(asdict(about)).encode())
                archive.write(out, chain([first], members), passphrase)
                out.flush()
                os.fsync(out.fileno())
            archive.read(part, passphrase, None)
            _name(part, target)
            sync_folder(target.parent)
            return target.stat().st_size
        finally:
            if part:
                discard(part)
            discard(work)
            os.close(held)
    except TooMuch as error:
        raise SetupError(f"The home {error}.", fix="Remove them there.", exit_code=1) from error
    except (OSError, sqlite3.Error) as error:
        raise _failed(target, error) from error


def _name(part: Path, target: Path) -> None:
    """Give a file its name, unless somebody made such a file meanwhile."""
    try:
        os.link(part, target)
    except FileExistsError:
        raise
    except OSError:  # a disk without links, such as most sticks
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        part.replace(target)


def sweep(home: Home) -> None:
    """Remove what a killed backup left, also the begun file; one at work holds its folder."""
    for folder in home.data.glob(f"{_WORK}*"):
        held = os.open(folder, os.O_RDONLY | os.O_CLOEXEC)
        try:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):
                discard(Path(os.fsdecode((folder / _NOTE).read_bytes())))
            discard(folder)
        except BlockingIOError:
            continue
        finally:
            os.close(held)


def _failed(target: Path, error: Exception) -> SetupError:
    if isinstance(error, OSError) and error.errno in FULL:
        free = shutil.disk_usage(target.parent).free if target.parent.is_dir() else 0
        return SetupError(
            f"There is not enough room for {target}: {free / 1e6:,.0f} MB are free.",
            fix="Nothing is left of it; name a file on a larger disk.",
            exit_code=1,
        )
    why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
    return SetupError(f"{target} cannot be written: {why}.", fix="Try again.", exit_code=1)


def _members(
    home: Home, work: Path, environ: Mapping[str, str], *, keys: bool
) -> Iterator[tuple[str, Path | bytes]]:
    """Each file of the home by its place in it."""
    for name in _CONFIGS:
        file = home.path / name
        if keys and file.exists():
            yield name, file
        elif not keys and (tree := _keyless(file, environ)) is not None:
            yield name, dump(tree).encode()
    if home.database.exists():
        yield from _copied(home, work, home.database)
    for name in _FILES:
        if (home.path / name).is_file():
            yield name, home.path / name
    for folder in _FOLDERS:
        yield from _below(home, work, home.path / folder, folder, keys=keys)
    if home.packs.is_dir():
        for pack in sorted(home.packs.iterdir()):  # a linked one becomes a folder
            yield from _below(home, work, pack, f"packs/{pack.name}", keys=keys)


def _below(
    home: Home, work: Path, root: Path, place: str, *, keys: bool
) -> Iterator[tuple[str, Path | bytes]]:
    def enter(one: Found) -> bool:
        return root / one.path != home.backups and not one.path.startswith(_WORK)

    found = walk(root, most=_MOST, enter=enter)
    for one in found:
        file = root / one.path
        if not one.is_file or file in (home.database, copy_of(home.database)):
            continue
        if file.suffix == ".db" and home.data in file.parents:
            yield from _copied(home, work, file)
        elif home.data in file.parents and file.name.endswith(tuple(f".db{e}" for e in _BESIDE)):
            continue
        elif file.parent != home.settings or keys:
            yield f"{place}/{one.path}", file
        elif file.suffix == ".json":
            yield f"{place}/{one.path}", json.dumps({**_json(file), "secrets": {}}).encode()


def _copied(home: Home, work: Path, file: Path) -> Iterator[tuple[str, Path]]:
    copy, place = work / "copy.db", str(file.relative_to(home.path))
    try:
        database_copy(file, copy)
    except sqlite3.OperationalError:
        raise
    except sqlite3.DatabaseError:  # it is none, or damaged: it goes along as it is
        copy.unlink(missing_ok=True)
        yield place, file
        return

    yield place, copy
    copy.unlink()


def _keyless(file: Path, environ: Mapping[str, str]) -> dict[str, Any] | None:
    """Return what a configuration says without its keys, None = there is none, or nobody can tell
    what in it is a key. Each file has its own: what is laid over it by the environment is not."""
    laid_over = overriding(environ).values()
    own = {name: value for name, value in environ.items() if name not in laid_over}
    try:
        secrets = parse(read_text(file), own, file).settings.secrets() if file.exists() else ()
    except SetupError:
        return None
    tree = _tree(file)
    return None if tree is None else cast("dict[str, Any]", _without(tree, secrets))


def _tree(file: Path) -> object:
    """Return what a configuration says, None where it says nothing that can be read."""
    try:
        return parse_json(read_text(file)) if file.exists() else None
    except (ValueError, SetupError):
        return None


def _json(file: Path) -> dict[str, Any]:
    try:
        return json.loads(file.read_text())
    except (OSError, ValueError):
        return {}


def _without(value: object, secrets: Sequence[str]) -> object:
    """Return a value of JSON whose texts with a secret in them are empty."""
    each: Callable[[object], object] = lambda one: _without(one, secrets)  # noqa: E731
    match value:
        case dict():
            return {key: each(one) for key, one in cast("dict[str, object]", value).items()}
        case list():
            return [each(one) for one in cast("list[object]", value)]
        case str() if any(secret in value for secret in secrets):
            return ""
        case _:
            return value
