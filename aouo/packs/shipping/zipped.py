"""Writes zip files reproducibly, and reads untrusted ones.

What a header claims about sizes is never used: bytes are counted as they come.
"""

from __future__ import annotations

import hashlib
import os
import stat
import unicodedata
import zipfile
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from aouo.facts.errors import PackError
from aouo.plumbing import trees

_CHUNK_BYTES = 64 * 1024
_END_BYTES = 22  # of the record at the end, when there is no comment
_BEGINNINGS = (b"PK\x03\x04", b"PK\x05\x06")  # an entry, or the end where there is none
_EARLIEST = (1980, 1, 1, 0, 0, 0)  # the first date that a zip file can hold
_DEEPEST = 200  # folders are made and removed one in the other
_UTF8 = 0x800
_ENCRYPTED = 0x1
_METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
REMAKE = "Make it again, with `aouo pack export`."


@dataclass(frozen=True, slots=True)
class ArchiveLimits:
    """What may come out of an archive, and how long its names may be."""

    files: int = 2_000
    total_bytes: int = 64 * 1024 * 1024
    path_bytes: int = 512
    name_bytes: int = 200
    directory_bytes: int = 2 * 1024 * 1024


APP = ArchiveLimits()


class Names:
    """The paths of one archive; each is checked by itself and against those before it.

    `data`: any name will do; only paths that lead out or come twice are refused.
    """

    def __init__(self, limits: ArchiveLimits = APP, *, data: bool = False) -> None:
        self._limits = limits
        self._data = data
        self._spelled: dict[str, str] = {}
        self._files: set[str] = set()
        self._folders: set[str] = set()

    def take(self, path: str) -> None:
        """Accept the path of one file.

        Raises:
            PackError: it leads out, is hidden, is there already, or could be taken for another.
        """
        parts = path.split("/")
        if len(parts) > _DEEPEST:
            problem = f"{shown(path)} lies deeper than {_DEEPEST} folders."
            raise PackError(problem, fix="Leave it out or put it higher.")
        for part in parts:
            self._look_at(part, path)
        if not self._data and len(path.encode()) > self._limits.path_bytes:
            raise PackError(f"{shown(path)} has too long a path.", fix="Use shorter names.")
        for count in range(1, len(parts) + 1):
            self._compare("/".join(parts[:count]), is_file=count == len(parts))
        if len(self._files) > self._limits.files:
            raise PackError(
                f"There are more than {self._limits.files} files.", fix="Leave some of them out."
            )

    def _look_at(self, part: str, path: str) -> None:
        why = ""
        if part in ("", ".", "..") or "\0" in part:
            why = "does not stay inside the folder"
        elif not _is_utf8(part):
            why = "is not named in UTF-8"
        elif self._data:
            return
        elif any(c in "\\:" for c in part):
            why = "has a backslash or a colon in it"
        elif any(unicodedata.category(c) in ("Cc", "Cf", "Co", "Zl", "Zp") for c in part):
            why = "has letters in its name that nobody sees"
        elif part.startswith("."):
            why = "is hidden: names that begin with a dot are not taken"
        elif part == "__pycache__":
            why = "is a left-over of Python and no source"
        elif len(part.encode()) > self._limits.name_bytes:
            why = "has too long a name"
        if why:
            raise PackError(f"{shown(path)} {why}.", fix="Leave it out or rename it.")

    def _compare(self, path: str, *, is_file: bool) -> None:
        key = path if self._data else unicodedata.normalize("NFC", path).casefold()
        before = self._spelled.setdefault(key, path)
        if before != path:
            problem = f"{shown(before)} and {shown(path)} have the same name on some systems."
            raise PackError(problem, fix="Rename one of them.")
        if key in self._files or (is_file and key in self._folders):
            raise PackError(f"{shown(path)} is there twice, or is a file and a folder.", fix=REMAKE)
        (self._files if is_file else self._folders).add(key)


def _is_utf8(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def shown(path: str) -> str:
    """Quote an untrusted path as one short, printable line."""
    line = "".join(c if c.isprintable() else "?" for c in path)
    return f'"{line[:120]}{"…" if len(line) > 120 else ""}"'


def write(target: Path, members: Iterable[tuple[str, Path | bytes]]) -> None:
    """Write an archive whose bytes depend on nothing but `members`, in the order given.

    Each is a file to read or its content. An earlier `target` is replaced when all is written.
    """
    draft = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with (
            os.fdopen(descriptor, "wb") as out,
            zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive,
        ):
            for name, content in members:
                entry = zipfile.ZipInfo(name, _EARLIEST)
                entry.compress_type = zipfile.ZIP_DEFLATED
                entry.create_system = 3  # Unix, wherever it is made
                entry.external_attr = (stat.S_IFREG | 0o644) << 16
                with archive.open(entry, "w", force_zip64=False) as member:
                    _pour(content, member)
        draft.replace(target)
    except OSError as error:
        problem = f"{target} cannot be written: {error.strerror or error}."
        raise PackError(problem, fix="Name another file.") from error
    finally:
        draft.unlink(missing_ok=True)


def _pour(content: Path | bytes, member: IO[bytes]) -> None:
    if isinstance(content, bytes):
        member.write(content)
        return
    with trees.open_file(content) as source:
        while chunk := source.read(_CHUNK_BYTES):
            member.write(chunk)


def open_file(path: Path) -> IO[bytes]:
    """Open a regular file for reading; the last step of `path` is not followed if it is a link."""
    flags = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    descriptor = os.open(path, flags)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(0, "not a regular file", str(path))
    return os.fdopen(descriptor, "rb")


def file_hash(path: Path) -> tuple[str, int]:
    """The SHA-256 of a file in hex, and its size in bytes; `path` as for `trees.open_file`."""
    digest, size = hashlib.sha256(), 0
    with trees.open_file(path) as file:
        while chunk := file.read(_CHUNK_BYTES):
            digest.update(chunk)
            size += len(chunk)
    return digest.hexdigest(), size


class Archive:
    """An archive opened for reading; every name in it has been looked at. Close it."""

    def __init__(self, path: Path, limits: ArchiveLimits = APP) -> None:
        """Open `path` and check its directory.

        Raises:
            PackError: no such file, no zip file, or one that tries something.
        """
        self._path = path
        self._limits = limits
        try:
            self._file = open_file(path)
        except OSError as error:
            raise PackError(f"{path} cannot be read: {error.strerror or error}.") from error
        try:
            _refuse_odd_ends(self._file, path, limits)
            self._zip = zipfile.ZipFile(self._file)
            _refuse_gaps(self._zip, path)
            self.files = self._entries(Names(limits))
        except (zipfile.BadZipFile, ValueError, OSError, NotImplementedError) as error:
            self._file.close()
            problem = f"{path} is not an archive that can be read: {error}."
            raise PackError(problem, fix="Get it again.") from error
        except PackError:
            self._file.close()
            raise

    files: Mapping[str, zipfile.ZipInfo]
    """What is in it: path → entry; folders are left out."""

    def close(self) -> None:
        self._file.close()

    def __enter__(self) -> Archive:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def read(self, name: str, max_bytes: int) -> bytes:
        """The content of one small file.

        Raises:
            PackError: it is not there, too large or damaged.
        """
        if name not in self.files:
            raise PackError(f"{self._path} has no {name}.", fix=REMAKE)
        content = bytearray()
        for chunk in self._chunks(name):
            content += chunk
            if len(content) > max_bytes:
                raise PackError(f"{name} in {self._path} is too large.", fix=REMAKE)
        return bytes(content)

    def extract(self, into: Path, wanted: Mapping[str, str]) -> None:
        """Write files below the folder `into`, new ones only: entry → path there.

        Raises:
            PackError: damaged, or more bytes than the limit; what was written stays.
        """
        left = self._limits.total_bytes
        for name, path in wanted.items():
            target = into / path
            target.parent.mkdir(parents=True, exist_ok=True)
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
            with os.fdopen(os.open(target, flags, 0o644), "wb") as out:
                for chunk in self._chunks(name):
                    left -= len(chunk)
                    if left < 0:
                        raise PackError(
                            f"{self._path} unpacks to more than "
                            f"{self._limits.total_bytes // 1024 // 1024} MB.",
                            fix="Nothing of it was installed.",
                        )
                    out.write(chunk)

    def _chunks(self, name: str) -> Iterable[bytes]:
        try:
            with self._zip.open(self.files[name]) as member:
                while chunk := member.read(_CHUNK_BYTES):
                    yield chunk
        except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, NotImplementedError) as error:
            problem = f"{shown(name)} in {self._path} is damaged: {error}."
            raise PackError(problem, fix="Get it again.") from error

    def _entries(self, names: Names) -> dict[str, zipfile.ZipInfo]:
        found: dict[str, zipfile.ZipInfo] = {}
        for entry in self._zip.infolist():
            name = entry.orig_filename
            kind = stat.S_IFMT(entry.external_attr >> 16)
            if not entry.flag_bits & _UTF8 and not name.isascii():
                raise PackError(f"{shown(name)} is not named in UTF-8.", fix=REMAKE)
            if entry.flag_bits & _ENCRYPTED:
                raise PackError(f"{shown(name)} is locked with a password.", fix=REMAKE)
            if name.endswith("/") and kind in (0, stat.S_IFDIR):
                Names(self._limits, data=True).take(name.rstrip("/") or "/")
                continue
            if kind not in (0, stat.S_IFREG):
                raise PackError(f"{shown(name)} is a link or no regular file.", fix=REMAKE)
            if entry.compress_type not in _METHODS:
                raise PackError(f"{shown(name)} is packed in an unusual way.", fix=REMAKE)
            names.take(name)
            found[name] = entry
        return found


def _refuse_odd_ends(file: IO[bytes], path: Path, limits: ArchiveLimits) -> None:
    """Refuse what would make the directory long, before it is read into memory."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - _END_BYTES - 20))
    tail = file.read()
    end = tail[-_END_BYTES:]
    if len(end) < _END_BYTES or end[:4] != b"PK\x05\x06" or end[-2:] != b"\0\0":
        raise PackError(f"{path} is not a zip file, or has something after its end.", fix=REMAKE)
    length = int.from_bytes(end[12:16], "little")
    if tail[:4] == b"PK\x06\x07" or length > limits.directory_bytes:
        raise PackError(f"{path} lists too many files.", fix=REMAKE)
    file.seek(0)
    begins = file.read(4) in _BEGINNINGS
    if not begins or int.from_bytes(end[16:20], "little") + length + _END_BYTES != size:
        # `zipfile` would take it that the zip begins later in the file.
        raise PackError(f"{path} has something before its zip.", fix=REMAKE)


def _refuse_gaps(archive: zipfile.ZipFile, path: Path) -> None:
    """Refuse bytes at the beginning that are no entry: the whole file is the archive."""
    starts = [entry.header_offset for entry in archive.infolist()]
    if min(starts, default=archive.start_dir) != 0:
        raise PackError(f"{path} has something before its zip.", fix=REMAKE)
