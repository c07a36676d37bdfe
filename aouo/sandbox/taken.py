"""How much of a disk, or of memory for files, a run has taken for what is temporary."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aouo.plumbing.trees import TooMuch, walk

_BLOCK_BYTES = 512  # as stat(2) counts, whatever the disk's are


def is_over(scratch: Path, pid: int, most_bytes: int, entries: int) -> bool:
    """Whether the folder `scratch`, and files without a name that `pid` and what it started hold
    open, are more than that; stops looking at the first excess."""
    size = 0
    try:
        for found in walk(scratch, most=entries):
            size += found.facts.st_blocks * _BLOCK_BYTES
            if size > most_bytes:
                return True
    except (TooMuch, OSError):  # deeper than we look, or closed to us: nobody needs that
        return True
    nameless = {(one.st_dev, one.st_ino): one.st_blocks for one in _nameless(pid)}
    return size + sum(nameless.values()) * _BLOCK_BYTES > most_bytes


def _nameless(pid: int) -> Iterator[os.stat_result]:
    """Files that were removed, or never had a name, and are there as long as they are open."""
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
