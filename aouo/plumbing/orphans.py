"""Reaps orphaned processes when we are the first process of a container.

An MCP server is often started by a launcher (npx, uvx) that ends before its children. Those become
ours then, and each would stay a zombie after its end.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from aouo.facts.ports import Clock

_EVERY_S = 60.0


async def bury(clock: Clock, *, every_s: float = _EVERY_S) -> None:
    """Reap, for ever, the children that are still zombies at a second look, `every_s` later.

    The code that starts a child waits for it at once, so those children are never touched.
    """
    ended_before: frozenset[int] = frozenset()
    while True:
        ended = await asyncio.to_thread(_ended)
        await asyncio.to_thread(_wait_for, ended & ended_before)
        ended_before = ended
        await clock.sleep(every_s)


def _wait_for(pids: frozenset[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _ended() -> frozenset[int]:
    """Return our zombie children. Source: proc_pid_stat(5): number (name) state parent."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it is gone by now
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state == b"Z" and int(parent) == os.getpid():
                found.add(int(folder.name))
    return frozenset(found)
