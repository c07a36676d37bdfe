"""Packs an app into one file, `.aouo`, unpacks it, and computes the hash that pins it."""

from __future__ import annotations

import contextlib
import hashlib
import shutil
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path, PurePosixPath

from aouo.facts.errors import PackError
from aouo.packs.format.manifest import FILE
from aouo.packs.shipping.zipped import (
    APP,
    REMAKE,
    Archive,
    ArchiveLimits,
    Names,
    file_hash,
    shown,
    write,
)
from aouo.plumbing import trees
from aouo.plumbing.trees import Found, TooMuch, discard, walk

SUFFIX = ".aouo"
SIGNATURE_FILE = "aouo.sig"
_CHUNK_BYTES = 256 * 1024


def app_files(folder: Path, limits: ArchiveLimits = APP) -> dict[str, Path]:
    """The files of an app, by their path in it, sorted: regular and visible ones.

    Hidden files, links, `__pycache__` and special files are no part of an app.

    Raises:
        PackError: no pack.yml, more than the limits allow, or names that an archive cannot hold.
    """
    root = folder.resolve()
    names, found, left = Names(limits), dict[str, Path](), limits.total_bytes
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
    write(target, sorted(members.items()))
    sizes = [path.stat().st_size for path in files.values()]
    return _file_hash(target.resolve())[0], content_hash(folder), len(members), sum(sizes)


def unpack(archive: Path, into: Path, limits: ArchiveLimits = APP) -> Path:
    """Unpack an app into the new folder `into`, and return that.

    A single folder around everything, as archives of repositories have it, is taken off.

    Raises:
        PackError: it is no app, or tries something; nothing is left of `into`.
    """
    with Archive(archive, limits) as opened:
        top = _top(opened.files, archive)
        wanted = {name: name.removeprefix(top) for name in opened.files}
        with _new_folder(into):
            opened.extract(into, wanted)
    return into


def copy_app(folder: Path, into: Path) -> Path:
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
    names = ", ".join(shown(name) for name in list(files)[:3]) or "nothing"
    raise PackError(f"{archive} is not a pack: no {FILE} in it, but {names}.", fix=REMAKE)


def _file_hash(path: Path) -> tuple[str, int]:
    """Return what `zipped.file_hash` does. Raises: PackError: it cannot be read."""
    try:
        return file_hash(path)
    except OSError as error:
        raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
