"""Reads the log in pieces: back from its end through the rotated files, and on from where one was.

Nothing is read whole: a piece looks through so many bytes, and of a long line the beginning is
kept. A place in the log stays the same place when its file is rotated.
"""

from __future__ import annotations

import os
import re
import zlib
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TypeAlias

from aouo.plumbing.logs import files_of

_LOOKED_BYTES = 2_000_000
"""What one piece looks through."""
_KEPT_BYTES = 16_000
"""What is kept of a line."""
_TOLD_BYTES = 500_000
"""What the lines of one piece may have together."""
_FIRST, _LARGEST = 1_024, 1_048_576
_LONGEST_BYTES = 64_000_000
"""A longer line is taken for several."""
_MARK = 64
_WRITTEN = re.compile(r"([0-9a-f]{1,16})-([0-9]{1,15})-([0-9a-f]{1,8})")


@dataclass(frozen=True, slots=True)
class Spot:
    """A place between two lines: the file by its inode, the `offset` in bytes, and a checksum of
    what stands before it, since the inode of a removed file is given to another one."""

    inode: int
    offset: int
    mark: int

    def __str__(self) -> str:
        return f"{self.inode:x}-{self.offset}-{self.mark:x}"

    @staticmethod
    def read(written: str) -> Spot | None:
        """Return the spot that was written so, None = it is none."""
        if found := _WRITTEN.fullmatch(written):
            return Spot(int(found[1], 16), int(found[2]), int(found[3], 16))
        return None


@dataclass(frozen=True, slots=True)
class Line:
    """One line, or its first `KEPT_BYTES`; `size` is that of all of it in bytes."""

    text: str
    size: int

    @property
    def is_cut(self) -> bool:
        """Whether there was more of it."""
        return self.size > _KEPT_BYTES


_Wanted: TypeAlias = Callable[[Line], bool]


@dataclass(frozen=True, slots=True)
class Piece:
    """Lines in their order, and the spots around what was looked through.

    `before` None = the log begins there; `after` None = there is no log. `is_all`: after a reading
    on, that there is no more now. `lost`: the spot to read on from is not in the log any more, so
    that this is its end.
    """

    lines: tuple[Line, ...] = ()
    before: Spot | None = None
    after: Spot | None = None
    is_all: bool = True
    lost: bool = False


def older(log: Path, spot: Spot | None, wanted: _Wanted, most: int) -> Piece:
    """Read the lines before a spot, None = the newest: at most so many that are wanted."""
    with _Files(log) as files:
        at = files.end() if spot is None else files.find(spot)
        if at is None:
            return Piece(lost=spot is not None)
        after = files.spot(*at)
        found, at = _looked_through(files, at, wanted, most, on=False)
        before = files.spot(*at) if files.line_before(*at) else None
        return Piece(tuple(reversed(found)), before, after)


def newer(log: Path, spot: Spot, wanted: _Wanted, most: int) -> Piece:
    """Read the lines after a spot: at most so many that are wanted. A line that is not yet written
    to its end is left for later. If the spot is gone, read the newest."""
    with _Files(log) as files:
        at = files.find(spot)
        if at is None:
            newest = older(log, None, wanted, most)
            return Piece(newest.lines, newest.before, newest.after, lost=True)
        found, at = _looked_through(files, at, wanted, most, on=True)
        return Piece(tuple(found), spot, files.spot(*at), is_all=files.line_after(*at) is None)


def _looked_through(
    files: _Files, at: tuple[int, int], wanted: _Wanted, most: int, *, on: bool
) -> tuple[list[Line], tuple[int, int]]:
    """Return the lines that are wanted, `on` from a place or back from it, and where they end."""
    step = files.line_after if on else files.line_before
    found, looked, told = list[Line](), 0, 0
    while (following := step(*at)) and looked < _LOOKED_BYTES:
        index, start, end = following
        line = files.line(index, start, end)
        looked += line.size
        at = (index, end if on else start)
        if wanted(line):
            found.append(line)
            told += len(line.text)
        if len(found) == most or told > _TOLD_BYTES:
            break
    return found, at


class _Files:
    """The files of the log, open: 0 is the newest. They stay what they are while they are rotated;
    a rotation in between two openings shows one of them twice, which is left out."""

    def __init__(self, log: Path) -> None:
        self._stack = ExitStack()
        self._files: list[IO[bytes]] = []
        inodes = set[int]()
        for path in files_of(log):
            try:
                file = self._stack.enter_context(path.open("rb"))
            except FileNotFoundError:
                continue
            if (inode := os.fstat(file.fileno()).st_ino) not in inodes:
                inodes.add(inode)
                self._files.append(file)

    def __enter__(self) -> _Files:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def end(self) -> tuple[int, int] | None:
        """Return the end of the newest file's last whole line, None = there is no log."""
        if not self._files:
            return None
        size = self._size(0)
        return 0, self._start_of_line(0, size)

    def find(self, spot: Spot) -> tuple[int, int] | None:
        """Return where a spot is, None = not here any more."""
        for index, file in enumerate(self._files):
            same = os.fstat(file.fileno()).st_ino == spot.inode
            if same and spot.offset <= self._size(index) and self.spot(index, spot.offset) == spot:
                return index, spot.offset
        return None

    def spot(self, index: int, offset: int) -> Spot:
        """Return a place in a file as a spot."""
        start = max(0, offset - _MARK)
        mark = zlib.crc32(self._bytes(index, start, offset))
        return Spot(os.fstat(self._files[index].fileno()).st_ino, offset, mark)

    def line_before(self, index: int, offset: int) -> tuple[int, int, int] | None:
        """Return the file, start and end of the line that ends at a place, if need be in the file
        before; None = the log begins there."""
        while offset == 0:
            index += 1
            if index == len(self._files):
                return None
            offset = self._size(index)
        return index, self._start_of_line(index, offset - 1), offset

    def line_after(self, index: int, offset: int) -> tuple[int, int, int] | None:
        """Return the file, start and end of the line that begins at a place, if need be in the file
        after; None = none has been written to its end."""
        while offset == self._size(index):
            if index == 0:
                return None
            index, offset = index - 1, 0
        end = self._end_of_line(index, offset)
        if end is None:
            return None if index == 0 else (index, offset, self._size(index))
        return index, offset, end

    def line(self, index: int, start: int, end: int) -> Line:
        """Read a line, or its beginning."""
        text = self._bytes(index, start, min(end, start + _KEPT_BYTES)).decode("utf-8", "replace")
        return Line(text.rstrip("\r\n"), end - start)

    def _size(self, index: int) -> int:
        return os.fstat(self._files[index].fileno()).st_size

    def _bytes(self, index: int, start: int, end: int) -> bytes:
        return os.pread(self._files[index].fileno(), end - start, start)

    def _start_of_line(self, index: int, end: int) -> int:
        """Return where the line begins that goes on until `end`."""
        at, least, step = end, max(0, end - _LONGEST_BYTES), _FIRST
        while at > least:
            start = max(least, at - step)
            if (found := self._bytes(index, start, at).rfind(b"\n")) >= 0:
                return start + found + 1
            at, step = start, min(2 * step, _LARGEST)
        return least

    def _end_of_line(self, index: int, start: int) -> int | None:
        """Return where a line ends, its newline included; None = it is not whole."""
        at, longest, step = start, start + _LONGEST_BYTES, _FIRST
        most = min(self._size(index), longest)
        while at < most:
            end = min(most, at + step)
            if (found := self._bytes(index, at, end).find(b"\n")) >= 0:
                return at + found + 1
            at, step = end, min(2 * step, _LARGEST)
        return longest if most == longest else None
