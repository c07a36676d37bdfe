"""USER.md and MEMORY.md of one pack: small files that the model writes and the owner can edit."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import tempfile
from collections.abc import Generator, Mapping
from pathlib import Path

from aouo.errors import ToolFailed

MAX_BYTES = 16 * 1024
_MAX_READ_BYTES = 4 * MAX_BYTES
"""Other hands may write the file too, and every prompt holds it."""
_FILES = {"user": "USER.md", "memory": "MEMORY.md"}
_EMPTY_LINE = re.compile(r"\s*(#{1,6}(\s.*)?|\(empty\))?\s*", re.IGNORECASE)
_PLACEHOLDER = re.compile(r"^[ \t]*\(empty\)[ \t]*\n?", re.IGNORECASE | re.MULTILINE)


class MemoryFiles:
    """The memory files in one folder; names are `user`/`memory` or `USER.md`/`MEMORY.md`.

    Each change is whole or not there at all, also after a power cut, and changes from
    several turns or processes follow one another.
    """

    def __init__(self, folder: Path, templates: Mapping[str, str] | None = None) -> None:
        """`templates` is keyed by file name: what a file holds until somebody changes one."""
        self._folder = folder
        self._templates = dict(templates or {})
        self._seen: dict[str, tuple[tuple[int, int, int], str]] = {}

    def read(self, name: str) -> str:
        """Return a file's text, "" when it holds nothing but headings and `(empty)`."""
        file = self._file(name)
        text = self._text(file)
        return "" if all(_EMPTY_LINE.fullmatch(line) for line in text.splitlines()) else text

    def append(self, name: str, content: str) -> str:
        """Add an entry at the end and return the text; the last entry again changes nothing.

        Raises:
            ToolFailed: no content, or the file would be too long; it stays as it was.
        """
        file, entry = self._file(name), _entry(content)
        with self._alone() as folder:
            before = _PLACEHOLDER.sub("", self._text(file)).rstrip()
            if before == entry or before.endswith(f"\n{entry}"):
                return self.read(file)
            text = f"{before}{_gap(before)}{entry}\n"
            self._check_size(file, text)
            self._change(folder, file, text)
        return text

    def replace(self, name: str, content: str) -> str:
        """Put `content` in place of the whole file and return it.

        Raises:
            ToolFailed: the file would be too long; it stays as it was.
        """
        file, text = self._file(name), content.strip() + "\n"
        self._check_size(file, text)
        with self._alone() as folder:
            if self._read_raw(file) != text:
                self._change(folder, file, text)
        return text

    def _file(self, name: str) -> str:
        file = _FILES.get(name.lower().removesuffix(".md"))
        if file is None:
            raise ToolFailed(f"There is no memory {name!r}: use user or memory.")
        return file

    def _check_size(self, file: str, text: str) -> None:
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise ToolFailed(f"This text cannot be stored: {error.reason}.") from error
        if size > MAX_BYTES:
            target = file.removesuffix(".md").lower()
            raise ToolFailed(
                f"{file} would hold {size:,} bytes; at most {MAX_BYTES:,} fit. Shorten it: "
                f'memory(target="{target}", action="read"), then memory(target="{target}", '
                'action="replace", content=…) with what still matters, in fewer words.'
            )

    def _text(self, file: str) -> str:
        """What the file holds, or what its template says while nobody has changed anything."""
        text = self._read_raw(file)
        return self._templates.get(file, "") if text is None else text

    def _change(self, folder: int, file: str, text: str) -> None:
        """Write a file; with the first change the others are laid beside it for the owner."""
        self._write(folder, file, text)
        for other, template in self._templates.items():
            if self._read_raw(other) is None:
                self._write(folder, other, template)

    def _read_raw(self, file: str) -> str | None:
        """Return the text as it lies on disk, read again only when the file changed."""
        try:
            descriptor = os.open(self._folder / file, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
        except FileNotFoundError:
            self._seen.pop(file, None)
            return None
        except OSError as error:
            raise ToolFailed(f"{file} cannot be read: {error.strerror}.") from error
        with os.fdopen(descriptor, "rb") as opened:
            found = os.fstat(opened.fileno())
            version = (found.st_mtime_ns, found.st_size, found.st_ino)
            known = self._seen.get(file)
            if known is None or known[0] != version:
                raw = opened.read(_MAX_READ_BYTES)
                text = raw.decode("utf-8-sig", "replace").replace("\r\n", "\n")
                known = self._seen[file] = (version, text)
        return known[1]

    @contextlib.contextmanager
    def _alone(self) -> Generator[int]:
        """Hold the folder's lock, which other processes respect too; gives its descriptor."""
        self._folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        descriptor = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield descriptor
        finally:
            os.close(descriptor)

    def _write(self, folder: int, file: str, text: str) -> None:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{file}.", dir=self._folder)
        try:
            with os.fdopen(descriptor, "w", encoding="utf-8", newline="\n") as opened:
                opened.write(text)
                opened.flush()
                os.fsync(opened.fileno())
            Path(temporary).replace(self._folder / file)
        except BaseException:
            Path(temporary).unlink(missing_ok=True)
            raise
        os.fsync(folder)
        self._seen.pop(file, None)


def _gap(before: str) -> str:
    """Return what stands between the text and a new entry."""
    if not before:
        return ""
    return "\n\n" if before.rpartition("\n")[2].startswith("#") else "\n"


def _entry(content: str) -> str:
    entry = content.strip()
    if not entry:
        raise ToolFailed("append needs content: one line that is worth remembering.")
    return entry
