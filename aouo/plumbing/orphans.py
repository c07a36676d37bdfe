"""As the first process of a container: buries what other processes leave behind.

A server for MCP is often a launcher (npx, uvx) whose own children outlive it. They become ours
then, and whoever of them ends would keep its number for ever.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress
from pathlib import Path

from aouo.facts.ports import Clock

EVERY_S = 60.0


async def bury(clock: Clock, *, every_s: float = EVERY_S) -> None:
    """Wait for children that ended and that nobody waited for from one look to the next.

    Whoever started a child of ours waits for it at once, so none of those is ever touched.
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
    """Our children that have ended. Source: proc_pid_stat(5): number (name) state parent."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it is gone by now
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state == b"Z" and int(parent) == os.getpid():
                found.add(int(folder.name))
    return frozenset(found)
