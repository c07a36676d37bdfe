"""Defines `.backup.aouo`, and writes what a pack keeps to one, also while the bot runs.

An archive with `backup.json`, `shared.db` or `owners/<owner>.db`, `data/…`: memory files and
artifacts, and `private/…`: memory files of a shared pack. Each file's hash is in `backup.json`,
and so is what the runtime knows of the pack. Locked with a passphrase the whole archive is inside
`sealed`.
"""

from __future__ import annotations

import contextlib
import re
import sqlite3
import tempfile
from collections.abc import Generator, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from aouo.facts.errors import PackError
from aouo.packs.shipping import zipped
from aouo.packs.shipping.sealed import is_sealed, seal, unseal
from aouo.plumbing.home import APART, Home
from aouo.plumbing.trees import TooMuch, discard, walk

BACKUP_SUFFIX = ".backup.aouo"
_FORMAT = 1
_LIMITS = zipped.ArchiveLimits(files=20_000, total_bytes=2 * 1024**3, directory_bytes=16 * 1024**2)
FACTS = "backup.json"
_FACTS_MAX_BYTES = 16 * 1024**2
SHARED = "shared.db"
FOLDERS = ("data/", "private/")
_OWNED = re.compile(r"owners/([A-Za-z0-9_-]{1,200})\.db")


def _of_one_line(text: str) -> str:
    """What a terminal shows as it stands."""
    if not text.isprintable():
        raise ValueError("has letters that nobody sees")
    return text


_Line: TypeAlias = Annotated[str, Field(max_length=64), AfterValidator(_of_one_line)]
_Count: TypeAlias = Annotated[int, Field(ge=0, le=2**31 - 1)]


class _FileFact(BaseModel):
    """What `backup.json` says of one file."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    sha256: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    bytes: Annotated[int, Field(ge=0)]


class Introduction(BaseModel):
    """A first conversation with somebody, as the runtime's table has it."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    owner: Annotated[str, Field(max_length=200)]
    state: Literal["open", "done", "skipped", "given_up"]
    sessions: _Count
    turns: _Count
    offered: _Count
    summary: str
    began_at: str
    ended_at: str


class Known(BaseModel):
    """The runtime's rows about a pack: its schedules, as their caller gave them, and its first
    conversations; None = an older backup, which lacks those."""

    model_config = ConfigDict(extra="ignore", frozen=True)
    schedules: list[dict[str, Any]]
    onboarding: list[Introduction] | None = None


class Facts(Known):
    """The content of `backup.json`."""

    format: Literal[1] = _FORMAT
    pack: _Line
    version: _Line
    made_at: _Line
    files: dict[str, _FileFact]

    @property
    def known(self) -> Known:
        return Known(schedules=self.schedules, onboarding=self.onboarding)

    @property
    def owners(self) -> list[str]:
        """Those with a database of their own, "" = one for all."""
        return [
            owned[1] if (owned := _OWNED.fullmatch(name)) else ""
            for name in self.files
            if not name.startswith(FOLDERS)
        ]

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(fact.bytes for fact in self.files.values())

    def listed(self) -> dict[str, object]:
        """Return what `aouo pack backup --json` says of it."""
        return {
            "pack": self.pack,
            "version": self.version,
            "made_at": self.made_at,
            "owners": self.owners,
            "files": len(self.files),
            "size_bytes": self.size_bytes,
            "schedules": self.schedules,
        }


@contextlib.contextmanager
def opened(backup: Path, work: Path, passphrase: str) -> Generator[tuple[zipped.Archive, Facts]]:
    """The archive of a backup and what it says of itself; unlocked into the folder `work`.

    Raises:
        PackError: it is none, does not hold what it says, or the passphrase is wrong.
    """
    plain = backup
    if is_sealed(backup):
        if not passphrase:
            raise PackError(
                f"{backup} is locked with a passphrase.", fix="Give it with --passphrase-file."
            )
        plain = work / "unlocked"
        with zipped.open_file(backup) as source, plain.open("xb") as out:
            unseal(source, out, passphrase)
    with zipped.Archive(plain, _LIMITS, data=True) as archive:
        yield archive, _facts_read(archive, backup)


def _facts_read(archive: zipped.Archive, backup: Path) -> Facts:
    if FACTS not in archive.files:
        raise PackError(f"{backup} is not a backup.", fix="Use a file of `aouo pack backup`.")
    try:
        facts = Facts.model_validate_json(archive.read(FACTS, _FACTS_MAX_BYTES))
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or FACTS
        problem = f"{backup} cannot be read: {where}: {first['msg'].lower()}."
        raise PackError(problem, fix="Use another copy, or the aouo that made it.") from error
    if {*facts.files, FACTS} != set(archive.files):
        raise PackError(f"{backup} does not hold what it says.", fix="Use another copy.")
    for name in facts.files:
        if name != SHARED and not _OWNED.fullmatch(name) and not name.startswith(FOLDERS):
            raise PackError(f"{backup} holds {zipped.shown(name)}, which no backup does.")
    return facts


@contextlib.contextmanager
def workshop(beside: Path | None) -> Generator[Path]:
    """A folder for our own eyes, gone afterwards; `beside` keeps it on the same disk."""
    folder = new_folder(beside, ".aouo-")
    try:
        yield folder
    finally:
        discard(folder)


def new_folder(beside: Path | None, prefix: str) -> Path:
    """Raises: PackError: it cannot be made there."""
    try:
        return Path(tempfile.mkdtemp(prefix=prefix, dir=beside))
    except OSError as error:
        raise PackError(f"{beside} cannot be written: {error.strerror or error}.") from error


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
        zipped.write(plain, [(FACTS, text), *sorted(members.items())])
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
        if _OWNED.fullmatch(f"owners/{file.name}"):
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
    names = zipped.Names(_LIMITS, data=True)
    for name in members:
        names.take(name)
    hashes = {name: zipped.file_hash(path) for name, path in members.items()}
    if sum(size for _, size in hashes.values()) > _LIMITS.total_bytes:
        raise PackError(f"The pack {pack} keeps more than 2 GB.", fix="Delete some of its files.")
    return Facts(
        pack=pack,
        version=version,
        made_at=now.isoformat(timespec="seconds"),
        files={name: _FileFact(sha256=found, bytes=size) for name, (found, size) in hashes.items()},
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
