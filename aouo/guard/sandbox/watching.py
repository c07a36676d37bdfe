"""Feeds and reads one process in a sandbox, and ends it when it exceeds a limit."""

from __future__ import annotations

import asyncio
import os
import stat
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

from aouo.guard.sandbox.order import End, Order, Ran
from aouo.plumbing import children
from aouo.plumbing.trees import TooMuch, walk

Kill: TypeAlias = Callable[[asyncio.subprocess.Process], None]
_STDERR_BYTES = 4_000
_CHUNK_BYTES = 65_536
_GRACE_S = 2.0
_LOOK_EVERY_S = 0.05
_LOOK_SHARE = 10
"""The pause after a look, in multiples of the look's duration."""
_BLOCK_BYTES = 512  # as stat(2) counts, whatever the disk's are


@dataclass(eq=False)
class Watch:
    """Watches one run; `is_full` is called now and then, in a thread, and true ends the run.

    `kill` kills what is left of a run that was asked to end."""

    process: asyncio.subprocess.Process
    order: Order
    scratch: Path
    is_full: Callable[[], bool]
    kill: Kill

    def __post_init__(self) -> None:
        self._out, self._err = bytearray(), bytearray()
        self._end: End = "exit"

    async def ran(self) -> Ran:
        """Return the result, once the process has ended or was asked to; then call `closed`."""
        try:
            async with asyncio.timeout(self.order.limits.time_s), asyncio.TaskGroup() as group:
                for part in (self._feed(), self._take(), self._follow()):
                    group.create_task(part)
                looking = group.create_task(self._look())
                await self.process.wait()
                looking.cancel()
        except TimeoutError:
            self._end = "time"
        said = self._err.decode("utf-8", "replace").strip()
        out = bytes(self._out[: self.order.limits.output_bytes])
        return Ran(self._end, self.process.returncode or 0, out, said)

    async def _feed(self) -> None:
        stdin = self.process.stdin
        assert stdin is not None
        with suppress(ConnectionError):  # it ended without reading everything
            stdin.write(self.order.stdin)
            await stdin.drain()
            stdin.close()

    async def _take(self) -> None:
        stdout, most = self.process.stdout, self.order.limits.output_bytes
        assert stdout is not None
        while piece := await stdout.read(_CHUNK_BYTES):  # to its end: a full pipe holds it open
            self._out.extend(piece[: most + 1 - len(self._out)])
            if len(self._out) > most:
                self._end = "output"
                _ask_to_end(self.process)

    async def _follow(self) -> None:
        stderr = self.process.stderr
        assert stderr is not None
        while piece := await stderr.read(_CHUNK_BYTES):
            self._err.extend(piece)
            del self._err[:-_STDERR_BYTES]

    async def _look(self) -> None:
        while True:
            begun_s = time.perf_counter()
            if excess := await asyncio.to_thread(self._excess):
                break
            took_s = time.perf_counter() - begun_s
            await asyncio.sleep(max(_LOOK_EVERY_S, _LOOK_SHARE * took_s))
        self._end = excess
        await _end(self.process, self.kill)

    def _excess(self) -> End | None:
        limits = self.order.limits
        if _is_over(self.scratch, self.process.pid, limits.scratch_bytes, limits.scratch_entries):
            return "scratch"
        return "room" if self.is_full() else None


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Ask a run to end: bubblewrap ends all of it, our own parent process its descendants first."""
    with suppress(ProcessLookupError):
        process.terminate()


async def closed(process: asyncio.subprocess.Process, kill: Kill) -> None:
    """End the process with all its descendants, and read its pipes to their end to close them."""
    with suppress(TimeoutError):
        async with asyncio.timeout(2 * _GRACE_S), asyncio.TaskGroup() as group:
            for pipe in (process.stdout, process.stderr):
                group.create_task(_drained(pipe))
            group.create_task(_end(process, kill))


async def _end(process: asyncio.subprocess.Process, kill: Kill) -> None:
    await children.end(process, patience_s=_GRACE_S, ask=_ask_to_end, kill=kill)


async def _drained(pipe: asyncio.StreamReader | None) -> None:
    while pipe is not None and await pipe.read(_CHUNK_BYTES):
        pass


def _is_over(scratch: Path, pid: int, most_bytes: int, entries: int) -> bool:
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
