"""Measures how much a run has taken for temporary files."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aouo.plumbing.trees import TooMuch, walk

_BLOCK_BYTES = 512  # the unit of stat(2), whatever the disk's blocks are


def is_over(scratch: Path, pid: int, most_bytes: int, entries: int) -> bool:
    """Whether the files in `scratch` exceed a limit, with the nameless files that are open.

    Nameless files are those that `pid` and its descendants hold open. It stops at the first excess.
    """
    size = 0
    try:
        for found in walk(scratch, most=entries):
            size += found.facts.st_blocks * _BLOCK_BYTES
            if size > most_bytes:
                return True
    except (TooMuch, OSError):  # too deep, or unreadable for us: no tool needs that
        return True
    nameless = {(one.st_dev, one.st_ino): one.st_blocks for one in _nameless(pid)}
    return size + sum(nameless.values()) * _BLOCK_BYTES > most_bytes


def _nameless(pid: int) -> Iterator[os.stat_result]:
    """Yield open files without a name, which take room until they are closed."""
    waiting = [pid]
    while waiting:
        process = Path("/proc", str(waiting.pop()))
        with suppress(OSError):  # it has ended
            children = (process / "task" / process.name / "children").read_bytes()
            waiting += map(int, children.split())
            for descriptor in (process / "fd").iterdir():
                with suppress(OSError):
                    found = descriptor.stat()
                    if stat.S_ISREG(found.st_mode) and not found.st_nlink:
                        yield found
