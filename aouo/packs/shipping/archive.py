"""Fetches, packs and unpacks an app, computes the hash that pins it, and puts it in place.

Each move is one rename, and all of them together are idempotent, so that a change that is half
done after a kill can be carried out again.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import shutil
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from yarl import URL

from aouo.facts.errors import PackError, ToolFailed
from aouo.packs.format.manifest import FILE
from aouo.packs.shipping import zipped
from aouo.plumbing import failpoint, trees
from aouo.plumbing.home import sync_folder
from aouo.plumbing.trees import Found, TooMuch, discard, remove, walk
from aouo.plumbing.web.addresses import Permits
from aouo.plumbing.web.client import Web

SUFFIX = ".aouo"
SIGNATURE_FILE = "aouo.sig"
_CHUNK_BYTES = 256 * 1024


def app_files(folder: Path, limits: zipped.ArchiveLimits = zipped.APP) -> dict[str, Path]:
    """The files of an app, by their path in it, sorted: regular and visible ones.

    Hidden files, links, `__pycache__` and special files are no part of an app.

    Raises:
        PackError: no pack.yml, more than the limits allow, or names that an archive cannot hold.
    """
    root = folder.resolve()
    names, found, left = zipped.Names(limits), dict[str, Path](), limits.total_bytes
    for file in _visible(root, folder):
        names.take(file.path)
        left -= file.facts.st_size
        if left < 0:
            raise PackError(
                f"{folder} holds more than {limits.total_bytes // 1024 // 1024} MB.",
                fix="Leave large files out.",
            )
        found[file.path] = root / file.path
    if FILE not in found:
        raise PackError(f"{folder} is not a pack: there is no {FILE} in it.")
    return dict(sorted(found.items()))


def _visible(root: Path, folder: Path) -> Iterator[Found]:
    try:
        for found in walk(root, enter=_belongs, closed=lambda path: None):
            if found.is_file and _belongs(found):
                yield found
    except TooMuch as error:
        raise PackError(f"{folder} {error}.", fix="Leave those out.") from error
    except OSError as error:
        raise PackError(f"{folder} cannot be read: {error.strerror or error}.") from error


def _belongs(found: Found) -> bool:
    name = found.path.rpartition("/")[2]
    return not name.startswith(".") and name != "__pycache__"


def content_hash(folder: Path) -> str:
    """The hash of an app: the same in a folder and unpacked from its archive.

    SHA-256 over one line a file, sorted by path: path, SHA-256 and size in bytes, between NUL
    and newline. The signature is left out, since it signs this.

    Raises:
        PackError: `folder` is not a pack that could be packed.
    """
    total = hashlib.sha256()
    for relative, path in app_files(folder).items():
        if relative != SIGNATURE_FILE:
            digest, size = _file_hash(path)
            total.update(f"{relative}\0{digest}\0{size}\n".encode())
    return total.hexdigest()


def pack_archive(
    folder: Path, target: Path, *, extra: Mapping[str, bytes] | None = None
) -> tuple[str, str, int, int]:
    """Write the app in `folder` to the file `target`; the same app gives the same bytes.

    `extra` is put in besides or instead of what is there, such as a signature.

    Returns:
        The SHA-256 of the file, the hash of the app in it, how many files that has, their bytes.

    Raises:
        PackError: no pack, or it cannot be packed; an earlier `target` stays.
    """
    files = app_files(folder)
    members: dict[str, Path | bytes] = {**files, **(extra or {})}
    zipped.write(target, sorted(members.items()))
    sizes = [path.stat().st_size for path in files.values()]
    return _file_hash(target.resolve())[0], content_hash(folder), len(members), sum(sizes)


def unpack(archive: Path, into: Path, limits: zipped.ArchiveLimits = zipped.APP) -> Path:
    """Unpack an app into the new folder `into`, and return that.

    A single folder around everything, as archives of repositories have it, is taken off.

    Raises:
        PackError: it is no app, or tries something; nothing is left of `into`.
    """
    with zipped.Archive(archive, limits) as opened:
        top = _top(opened.files, archive)
        wanted = {name: name.removeprefix(top) for name in opened.files}
        with _new_folder(into):
            opened.extract(into, wanted)
    return into


def _copy_app(folder: Path, into: Path) -> Path:
    """Copy an app's files into the new folder `into`, and return that.

    Raises:
        PackError: no pack, or it cannot be copied; nothing is left of `into`.
    """
    files = app_files(folder)
    with _new_folder(into):
        for relative, path in files.items():
            target = into / relative
            target.parent.mkdir(parents=True, exist_ok=True)
            with trees.open_file(path) as source, target.open("xb") as out:
                shutil.copyfileobj(source, out, _CHUNK_BYTES)
    return into


@contextlib.contextmanager
def _new_folder(into: Path) -> Generator[None]:
    """Make the folder, and take it away again if the block fails."""
    try:
        into.mkdir(parents=True)
    except FileExistsError as error:
        raise PackError(f"{into} is there already.", fix="Name a folder that is new.") from error
    try:
        yield
    except OSError as error:
        discard(into)
        raise PackError(f"{into} cannot be written: {error.strerror or error}.") from error
    except BaseException:
        discard(into)
        raise


def _top(files: Mapping[str, object], archive: Path) -> str:
    """What precedes every path, "" or one folder with a slash."""
    if FILE in files:
        return ""
    tops = {PurePosixPath(name).parts[0] for name in files}
    if len(tops) == 1 and f"{(top := tops.pop())}/{FILE}" in files:
        return f"{top}/"
    if any(name.endswith(f"/{FILE}") for name in files):
        problem = f"{archive} has its {FILE} in a folder among others."
        raise PackError(problem, fix="Pack one folder alone, with `aouo pack export`.")
    names = ", ".join(zipped.shown(name) for name in list(files)[:3]) or "nothing"
    raise PackError(f"{archive} is not a pack: no {FILE} in it, but {names}.", fix=zipped.REMAKE)


def _file_hash(path: Path) -> tuple[str, int]:
    """Return what `zipped.file_hash` does. Raises: PackError: it cannot be read."""
    try:
        return zipped.file_hash(path)
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error


_MAX_ARCHIVE_BYTES = 32 * 1024 * 1024
_MINISIG = ".minisig"
_MINISIG_MAX_BYTES = 8 * 1024
_ANYWHERE = Permits("install", ("*",))
"""Any public host on the usual port."""


async def fetch_source(
    text: str,
    into: Path,
    *,
    web: Web | None = None,
    permits: Permits = _ANYWHERE,
    https: bool = True,
) -> Path:
    """Bring an app into the folder `into`, and return the new folder of the app in it.

    `text` is a folder, an `.aouo` file or an https address. What came as an archive stays as
    `<app>.aouo` beside the folder, with its `.minisig` if there is one, for `signing.verify`.
    `web`, `permits` and `https` exist for tests, whose internet is on loopback.

    Raises:
        PackError: there is nothing, it is too large, or it is no app; `into` may hold remains.
    """
    app = into / "app"
    archive = into / f"app{SUFFIX}"
    try:
        await asyncio.to_thread(into.mkdir, 0o700, parents=True, exist_ok=True)
        if "://" in text:
            await _download(text, archive, web or Web(), permits, https)
            return await asyncio.to_thread(unpack, archive, app)
        return await asyncio.to_thread(_take, text, archive, app)
    except PackError as error:  # of our copy, which nobody knows
        raise PackError(error.problem.replace(str(archive), text), fix=error.fix) from error
    except OSError as error:
        raise PackError(f"{text} cannot be read: {error.strerror or error}.") from error


def _take(text: str, archive: Path, app: Path) -> Path:
    source = Path(text).expanduser()
    if source.is_dir():
        return _copy_app(source, app)
    if not source.exists():
        raise PackError(
            f"There is no {source}.", fix=f"Name a folder, an {SUFFIX} file or an https address."
        )
    _copy(source, archive, _MAX_ARCHIVE_BYTES)
    detached = source.with_name(source.name + _MINISIG)
    if detached.is_file():
        _copy(detached, archive.with_name(archive.name + _MINISIG), _MINISIG_MAX_BYTES)
    return unpack(archive, app)


def _copy(source: Path, target: Path, max_bytes: int) -> None:
    if source.stat().st_size > max_bytes:
        raise PackError(f"{source} is larger than {max_bytes // 1024} kB.")
    with zipped.open_file(source) as file, target.open("xb") as out:
        shutil.copyfileobj(file, out)


async def _download(text: str, archive: Path, web: Web, permits: Permits, https: bool) -> None:
    try:
        with archive.open("xb") as out:
            found = await web.download(
                text, permits, out, max_bytes=_MAX_ARCHIVE_BYTES, https=https
            )
    except ToolFailed as error:
        raise PackError(f"The pack was not fetched: {error}") from error
    url = URL(found)
    detached = archive.with_name(archive.name + _MINISIG)
    try:
        with detached.open("xb") as out:
            beside = str(url.with_path(url.path + _MINISIG, keep_query=True))
            await web.download(beside, permits, out, max_bytes=_MINISIG_MAX_BYTES, https=https)
    except ToolFailed:  # most apps have none
        detached.unlink()


_WAITING = ".waiting-"
_BEFORE = ".before-"


@dataclass(frozen=True, slots=True)
class Places:
    """The three places of one change: `waiting` holds the new pack as `sources.fetch_source`
    brought it, `before` the old one, `installed` is where it is used."""

    waiting: Path
    before: Path
    installed: Path

    @classmethod
    def of(cls, packs: Path, change_id: str, pack: str) -> Places:
        return cls(packs / f"{_WAITING}{change_id}", packs / f"{_BEFORE}{change_id}", packs / pack)

    @property
    def app(self) -> Path:
        """The folder of the new pack itself."""
        return self.waiting / "app"

    @property
    def _placed(self) -> Path:
        """Is there once the new pack may have left `app`."""
        return self.waiting / "placed"

    @property
    def _backups(self) -> Path:
        return self.waiting / "backups"

    def put(self) -> None:
        """Put the new pack in its place; the old one stays aside."""
        if self.app.is_dir():
            self._placed.touch()
            sync_folder(self.waiting)
            self.take_away()
            _move(self.app, self.installed, "a new pack takes its place")

    def take_away(self) -> None:
        """Move the installed pack aside."""
        if os.path.lexists(self.installed) and not os.path.lexists(self.before):
            _move(self.installed, self.before, "an old pack goes aside")

    def put_back(self) -> None:
        """Undo `put` or `take_away`; the new pack waits again."""
        if self._placed.exists() and not self.app.exists() and os.path.lexists(self.installed):
            _move(self.installed, self.app, "a new pack goes back")
        if os.path.lexists(self.before):
            if os.path.lexists(self.installed):
                remove(self.installed)
            _move(self.before, self.installed, "an old pack comes back")

    def note(self, database: Path, backup: Path) -> None:
        """Remember the backup of a database that is about to change, on disk."""
        self.waiting.mkdir(parents=True, exist_ok=True, mode=0o700)
        with self._backups.open("a", encoding="utf-8") as file:
            file.write(f"{json.dumps([str(database), str(backup)])}\n")
            file.flush()
            os.fsync(file.fileno())
        sync_folder(self.waiting)

    def noted(self) -> dict[Path, Path]:
        """Return the first backup of each database that may have changed."""
        if not self._backups.is_file():
            return {}
        first: dict[Path, Path] = {}
        for line in self._backups.read_text(encoding="utf-8").splitlines(keepends=True):
            if line.endswith("\n"):  # else a kill cut it off, and its database did not change
                database, backup = json.loads(line)
                first.setdefault(Path(database), Path(backup))
        return first

    def clear(self) -> None:
        """Remove the folders of the change, but not the installed pack."""
        remove(self.waiting)
        remove(self.before)


def leftovers(packs: Path, kept: frozenset[str]) -> tuple[Path, ...]:
    """Return the folders of changes whose id is not in `kept`."""
    return tuple(
        child
        for child in sorted(packs.iterdir())
        if child.name.startswith((_WAITING, _BEFORE)) and child.name.partition("-")[2] not in kept
    )


def _move(old: Path, new: Path, what: str) -> None:
    """One rename, on disk when this returns."""
    failpoint.reached(f"before {what}")
    old.rename(new)
    failpoint.reached(f"after {what}")
    sync_folder(new.parent)
    if old.parent != new.parent:
        sync_folder(old.parent)
