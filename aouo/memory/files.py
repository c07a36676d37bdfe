"""Reads and writes a pack's memory files for one tenant, which people can edit, too."""

from __future__ import annotations

import contextlib
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Generator, Mapping, Sequence
from pathlib import Path

from aouo.facts.errors import ToolFailed
from aouo.plumbing import failpoint

_MAX_BYTES = 16 * 1024
_MAX_READ_BYTES = 4 * _MAX_BYTES
"""No more is read of a file that was edited by hand, since every prompt holds it."""
ALWAYS = ("user", "memory")
NAMES = {"user": "USER.md", "memory": "MEMORY.md", "soul": "SOUL.md", "state": "STATE.md"}
_EMPTY_LINE = re.compile(r"\s*(#{1,6}(\s.*)?|\(empty\))?\s*", re.IGNORECASE)
_LINE_END = re.compile(r"\r+\n")
_PLACEHOLDER = re.compile(r"^[ \t]*\(empty\)[ \t]*\n?", re.IGNORECASE | re.MULTILINE)


def holds_nothing(text: str) -> bool:
    """Whether there are only headings, blank lines and `(empty)`."""
    return all(_EMPTY_LINE.fullmatch(line) for line in text.splitlines())


class MemoryFiles:
    """The memory files in one folder; they are named `user`, `memory` or `USER.md`, `MEMORY.md`.

    Each change is atomic and durable, and changes by several turns or processes are serialised.
    """

    def __init__(
        self,
        folder: Path,
        templates: Mapping[str, str] | None = None,
        *,
        targets: Sequence[str] = ALWAYS,
        max_bytes: int = _MAX_BYTES,
    ) -> None:
        """`templates`: file name → what the file holds until one of them is changed.

        `targets` are the keys of `NAMES` for the files that exist here.
        """
        self._folder = folder
        self._targets = tuple(targets)
        self.max_bytes = max_bytes
        first = templates or {}
        self._templates = {file: first[file] for file in self.names if file in first}

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the files, whether they are on disk or not."""
        return tuple(NAMES[target] for target in self._targets)

    def read(self, name: str) -> str:
        """Return a file's text, "" when it holds nothing but headings and `(empty)`."""
        text = self.text(name)
        return "" if holds_nothing(text) else text

    def text(self, name: str) -> str:
        """Return the file's text, or its template's while there is no file."""
        file = self.file(name)
        found = self._on_disk(file)
        return self._templates.get(file, "") if found is None else found

    def shown(self, name: str) -> str:
        """Return what `read` returns, or a sentence that says why the file cannot be read."""
        try:
            return self.read(name)
        except ToolFailed as error:
            return f"({error})"

    def is_readable(self, name: str) -> bool:
        """Whether the file can be read; one that does not exist can."""
        try:
            self.text(name)
        except ToolFailed:
            return False
        return True

    def append(self, name: str, content: str) -> str:
        """Add an entry at the end and return the text; see `appended`."""
        return self._changed(name, lambda before: self.appended(name, before, content))

    def replace(self, name: str, content: str) -> str:
        """Put `content` in place of the whole file and return it; see `replaced`."""
        return self._changed(name, lambda before: self.replaced(name, content))

    def appended(self, name: str, before: str, content: str) -> str:
        """Return `before` with one more entry; idempotent if it is the last entry already.

        Raises:
            ToolFailed: no content, or the file would be too long.
        """
        entry = content.strip()
        if not entry:
            raise ToolFailed("append needs content: one line that is worth remembering.")
        kept = _PLACEHOLDER.sub("", before).rstrip()
        if kept == entry or kept.endswith(f"\n{entry}"):
            return before
        return self._fitting(name, f"{kept}{_gap(kept)}{entry}\n")

    def replaced(self, name: str, content: str) -> str:
        """Return what the file holds once `content` replaces everything, "" if that is blank.

        Raises:
            ToolFailed: it would be too long.
        """
        text = content.strip()
        return self._fitting(name, f"{text}\n" if text else "")

    def swap(self, name: str, before: str, after: str) -> bool:
        """Replace the text `before` by `after`; False = the file holds another text by now.

        With the first change the templates of the other files are written, too.

        Raises:
            ToolFailed: the file holds more than we read, or cannot be read; it stays as it is.
        """
        file = self.file(name)
        with self._alone() as folder:
            if self.text(file) != before:
                return False
            self._check_whole(file)
            failpoint.reached("before a memory file")
            self._write(folder, file, after)
            failpoint.reached("after a memory file")
            for other, template in self._templates.items():
                if not os.path.lexists(self._folder / other):
                    self._write(folder, other, template)
        return True

    def file(self, name: str) -> str:
        """Return the file name that a name means.

        Raises:
            ToolFailed: there is no such file here; names those that there are.
        """
        target = name.lower().removesuffix(".md")
        if target not in self._targets:
            raise ToolFailed(f"There is no memory {name!r}: use {' or '.join(self._targets)}.")
        return NAMES[target]

    def _changed(self, name: str, change: Callable[[str], str]) -> str:
        while True:
            before = self.text(name)
            after = change(before)
            if after == before or self.swap(name, before, after):
                return after

    def _fitting(self, name: str, text: str) -> str:
        file, text = self.file(name), _as_read(text)
        try:
            size = len(text.encode())
        except UnicodeEncodeError as error:
            raise ToolFailed(f"This text cannot be stored: {error.reason}.") from error
        if size > self.max_bytes:
            target = file.removesuffix(".md").lower()
            raise ToolFailed(
                f"{file} would hold {size:,} bytes; at most {self.max_bytes:,} fit. Shorten it: "
                f'memory(target="{target}", action="read"), then memory(target="{target}", '
                'action="replace", content=…) with what still matters, in fewer words.'
            )
        return text

    def _check_whole(self, file: str) -> None:
        """Refuse to change a file that is too long to read: its version would not be whole."""
        path = self._folder / file
        size = path.lstat().st_size if path.exists() else 0
        if size > _MAX_READ_BYTES:
            raise ToolFailed(
                f"{file} was filled by other hands: {size:,} bytes, and I keep versions of up to "
                f"{_MAX_READ_BYTES:,}. It stays as it is; tell the person to shorten it."
            )

    def _on_disk(self, file: str) -> str | None:
        """The text as it lies on disk, None = there is no file."""
        path = self._folder / file
        try:
            descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise _unreadable(path, str(error.strerror)) from error
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise _unreadable(path, "it is no file")
            with os.fdopen(descriptor, "rb", closefd=False) as opened:
                raw = opened.read(_MAX_READ_BYTES)
        finally:
            os.close(descriptor)
        return _as_read(raw.decode("utf-8", "replace"))

    @contextlib.contextmanager
    def _alone(self) -> Generator[int]:
        """Hold the folder's lock, also against other processes; yield the folder's descriptor."""
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


def _unreadable(path: Path, why: str) -> ToolFailed:
    """Say what lies in a memory file's place; a pack's tools may put anything there."""
    kinds = (Path.is_symlink, "a link"), (Path.is_dir, "a folder")
    what = next((f"{kind} lies in its place" for lies, kind in kinds if lies(path)), why)
    return ToolFailed(
        f"{path.name} cannot be read: {what}. Nothing can be remembered there. Tell the person: "
        "the bot's owner has to take that away."
    )


def _as_read(text: str) -> str:
    """Return a text as it is read from a file, whatever an editor puts around its lines."""
    return _LINE_END.sub("\n", text.lstrip("\ufeff"))


def _gap(before: str) -> str:
    """Return what stands between the text and a new entry."""
    if not before:
        return ""
    return "\n\n" if before.rpartition("\n")[2].startswith("#") else "\n"
