"""Makes control groups where we may: the only limit on processes that holds for root."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from aouo.sandbox.order import RunLimits

_ROOT = Path("/sys/fs/cgroup")
_PREFIX = "aouo-tool-"
_NEW_S = 60.0
_TRIES, _AGAIN_S = 50, 0.01
_TREE_FACTOR = 2  # the memory of all processes together, in that of one


def parents() -> tuple[Path, ...]:
    """Return the folders in which we can make groups with limits; () = none, or not needed.

    They are needed for root only: the kernel's own limit holds for all other users.
    """
    return () if os.geteuid() else tuple(_usable(Path("/proc/self/cgroup").read_text()))


def limits_processes(groups: tuple[Path, ...]) -> bool:
    """Whether one of these groups limits the number of processes."""
    return any(_has(folder, "pids") for folder in groups)


@asynccontextmanager
async def group(
    within: tuple[Path, ...], name: str, limits: RunLimits
) -> AsyncGenerator[tuple[Path, ...]]:
    """Make groups with these limits; they are removed after the block, once they are empty.

    Yields the files to which a process writes its pid to join; () = there are no limits.
    """
    made: list[Path] = []
    try:
        for parent in within:
            with suppress(OSError):
                folder = parent / f"{_PREFIX}{name}"
                folder.mkdir()
                made.append(folder)
                _limit(folder, limits)
        yield tuple(folder / "cgroup.procs" for folder in made)
    finally:
        for folder in made:
            await _end(folder)


def _usable(ours: str) -> Iterator[Path]:
    for line in ours.splitlines():
        _, kinds, path = line.split(":", 2)
        for kind in ("pids", "memory") if kinds else ("",):
            if kind and kind not in kinds.split(","):
                continue
            folder = _ROOT / kind if kind else _ROOT
            folder = folder / path.lstrip("/") if (folder / path.lstrip("/")).is_dir() else folder
            wanted = ("pids", "memory") if not kind else (kind,)
            if any(_has(folder, one) for one in wanted) and os.access(folder, os.W_OK):
                yield folder


def _has(folder: Path, kind: str) -> bool:
    """Whether a group made in `folder` could limit `kind`; works for both versions of cgroups."""
    if (folder / "cgroup.subtree_control").exists():
        return kind in (folder / "cgroup.subtree_control").read_text().split()
    return (folder.parent == _ROOT and folder.name == kind) or folder.is_relative_to(_ROOT / kind)


def _limit(folder: Path, limits: RunLimits) -> None:
    memory = limits.memory_bytes * _TREE_FACTOR
    for file, value in (
        ("pids.max", limits.processes),
        ("memory.max", memory),
        ("memory.limit_in_bytes", memory),
    ):
        if (folder / file).exists():
            (folder / file).write_text(str(value))


async def _end(folder: Path) -> None:
    """Remove a group; killed processes may take a moment to leave it."""
    for _ in range(_TRIES):
        if _removed(folder):
            return
        await asyncio.sleep(_AGAIN_S)


def _removed(folder: Path) -> bool:
    try:
        folder.rmdir()
    except OSError:
        return not folder.exists()
    return True


def sweep(within: tuple[Path, ...]) -> None:
    """Remove groups that a killed runtime left.

    Groups with processes stay, and so do new ones, which another runtime may have just made.
    """
    for parent in within:
        for folder in parent.glob(f"{_PREFIX}*"):
            with suppress(OSError):
                if time.time() - folder.stat().st_mtime > _NEW_S:
                    folder.rmdir()
