"""Names the files of the media folder, and removes the old ones.

media/<platform>_<chat>[_<thread>]/<job>_<position>_<name>
"""

from __future__ import annotations

import stat
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from aouo.facts.events import Album, Attached, Inbound
from aouo.plumbing.trees import remove as removed

QUOTA_BYTES = 2_000_000_000
"""All files together; above it the oldest go, whatever their age."""


def remove(media: Path, job_id: int, inbound: Inbound) -> None:
    """Remove the files of one job, what is left of a download that was cut off, and what was
    uploaded on the page for it."""
    if inbound.address.platform == "web" and isinstance(inbound.content, Attached | Album):
        for item in inbound.content.items:
            removed(media / item.file_id)
    for pattern in (f"*/{job_id}_*", f"*/.{job_id}_*"):
        for file in media.glob(pattern):
            removed(file)


def prune(media: Path, before_s: float, *, quota_bytes: int = QUOTA_BYTES) -> list[str]:
    """Remove what was written before `before_s` (Unix time), and the oldest above the quota.

    Returns the paths that are gone, below `media`. Folders stay: a download may be on its way.
    """
    files = sorted(_files(media))
    total = sum(size for _, size, _ in files)
    gone: list[str] = []
    for written_s, size, file in files:
        if written_s >= before_s and total <= quota_bytes:
            break
        file.unlink(missing_ok=True)
        total -= size
        gone.append(str(file.relative_to(media)))
    return gone


def _files(media: Path) -> Iterator[tuple[float, int, Path]]:
    """(when it was written, bytes, path)."""
    for file in media.glob("*/*"):
        with suppress(FileNotFoundError):  # removed meanwhile
            facts = file.lstat()
            if stat.S_ISREG(facts.st_mode):
                yield facts.st_mtime, facts.st_size, file
