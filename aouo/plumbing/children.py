"""Starts, ends and reaps child processes; runs calls that may never return apart.

An MCP server is often started by a launcher (npx, uvx) that ends before its children. Those become
ours then, and each would stay a zombie after its end.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from concurrent.futures import Future
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import IO, Any, TypeAlias, TypeVar

from aouo.facts.errors import ProviderBusy, ProviderTimeout
from aouo.facts.ports import Clock

_Pipe: TypeAlias = int | IO[bytes]

PYTHON = (sys.executable, "-P")
"""Our own Python; `-P` keeps modules in its folder from being importable."""
_INHERITED = re.compile(
    r"PATH|HOME|LANG|LC_\w+|TMPDIR|(DY)?LD_LIBRARY_PATH|PYTHON(PATH|HOME)|VIRTUAL_ENV"
    r"|(OMP|GGML)_\w+"
)
_LOOK_EVERY_S = 0.01
_KILLED_S = 5.0
"""A process that left the group may hold a pipe of the dead child open for ever."""


def clean_environment(environ: Mapping[str, str] = os.environ) -> dict[str, str]:
    """Return the part of our environment that a child needs: paths, locale, threads; no keys."""
    return {name: value for name, value in environ.items() if _INHERITED.fullmatch(name)}


async def spawn(
    *command: str,
    env: Mapping[str, str] | None = None,
    stdin: _Pipe = subprocess.PIPE,
    stdout: _Pipe = subprocess.PIPE,
    stderr: _Pipe | None = subprocess.DEVNULL,
    folder: Path | str | None = None,
    handed_on: Sequence[int] = (),
) -> asyncio.subprocess.Process:
    """Start a program in a session of its own, so that a terminal's Ctrl-C reaches only us.

    `env` is its whole environment, by default `clean_environment()`. `handed_on` are file
    descriptors that stay open in it. `end` ends it with every process that it started.
    """
    return await asyncio.create_subprocess_exec(
        *command,
        stdin=stdin,
        stdout=stdout,
        stderr=stderr,
        env=clean_environment() if env is None else env,
        cwd=folder,
        pass_fds=handed_on,
        start_new_session=True,
    )


def _close_stdin(process: asyncio.subprocess.Process) -> None:
    """Close a child's stdin: ask it to end, if it ends at the end of its input."""
    if process.stdin is not None:
        process.stdin.close()


def kill_group(process: asyncio.subprocess.Process) -> None:
    """Kill a child and its whole group, or what is left of the group right after the child ended:
    a child that is ended while it starts another one may leave that behind."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)


async def end(
    process: asyncio.subprocess.Process,
    *,
    patience_s: float = 0.0,
    ask: Callable[[asyncio.subprocess.Process], None] = _close_stdin,
    kill: Callable[[asyncio.subprocess.Process], None] = kill_group,
) -> None:
    """Ask a child to end; then, after `patience_s` or when cancelled, kill what is left of it."""
    if process.returncode is not None:
        return
    ask(process)
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(patience_s):
                await _ended(process)
    finally:
        kill(process)
    with suppress(TimeoutError):
        async with asyncio.timeout(_KILLED_S):
            await process.wait()


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Wait for a child alone; `Process.wait` waits for all that hold its pipes, too."""
    while process.returncode is None:  # noqa: ASYNC110 - nobody tells of it
        await asyncio.sleep(_LOOK_EVERY_S)


_EVERY_S = 60.0


async def bury(clock: Clock, *, every_s: float = _EVERY_S) -> None:
    """Reap, for ever, the children that are still zombies at a second look, `every_s` later.

    The code that starts a child waits for it at once, so those children are never touched.
    """
    ended_before: frozenset[int] = frozenset()
    while True:
        ended = await asyncio.to_thread(_ended_orphans)
        await asyncio.to_thread(_wait_for, ended & ended_before)
        ended_before = ended
        await clock.sleep(every_s)


def _wait_for(pids: frozenset[int]) -> None:
    for pid in pids:
        with suppress(ChildProcessError):
            os.waitpid(pid, os.WNOHANG)


def _ended_orphans() -> frozenset[int]:
    """Return our zombie children. Source: proc_pid_stat(5): number (name) state parent."""
    found: set[int] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):  # it is gone by now
            state, parent = (folder / "stat").read_bytes().rpartition(b")")[2].split()[:2]
            if state == b"Z" and int(parent) == os.getpid():
                found.add(int(folder.name))
    return frozenset(found)


_T = TypeVar("_T")
_MOST = 16


class Apart:
    """Runs each call in a daemon thread of its own, at most `most` of them at a time.

    The loop's own threads are few and shared by everybody, and the process waits for them when it
    ends. One `Apart` lives as long as the process, so it knows what hangs whatever the settings.
    """

    def __init__(self, most: int = _MOST) -> None:
        self._most = most
        self._under_way: set[Hashable] = set()

    async def run(self, key: Hashable, call: Callable[[], _T], within_s: float) -> _T:
        """Return what `call` returns; its own exceptions pass through.

        Raises:
            TimeoutError: it has not returned in time, or the one with this key before has not.
            RuntimeError: so many calls have not returned that this one was not begun.
        """
        if key in self._under_way:
            raise TimeoutError
        if len(self._under_way) >= self._most:
            raise RuntimeError(f"{self._most} others have not been answered either")
        found = Future[_T]()
        found.set_running_or_notify_cancel()  # whoever waits may go, and it is settled all the same
        found.add_done_callback(lambda _: self._under_way.discard(key))
        self._under_way.add(key)
        try:
            Thread(target=_work, args=(call, found), name="apart", daemon=True).start()
        except RuntimeError as error:
            found.set_exception(error)
        async with asyncio.timeout(within_s):
            return await asyncio.wrap_future(found)


def _work(call: Callable[[], _T], found: Future[_T]) -> None:
    try:
        result = call()
    except BaseException as error:  # noqa: BLE001 - whoever waits is told, whatever it is
        found.set_exception(error)
    else:
        found.set_result(result)


_START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0


async def port_of(process: asyncio.subprocess.Process, key: str, who: str) -> int:
    """Give a child that serves on this machine its key, and return its port once it is ready.

    The child reads the key, which callers must send, as one line of stdin, and prints one JSON
    line, `{"port": …}` or `{"error": …}`. `who` stands before what failed.

    Raises:
        ProviderBusy: it cannot start, or ended.
        ProviderTimeout: it did not answer within `_START_TIMEOUT_S`.
    """
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ProviderBusy(f"{who}: the child has no pipes")
    try:
        async with asyncio.timeout(_START_TIMEOUT_S):
            stdin.write(key.encode() + b"\n")
            await stdin.drain()
            said: Any = json.loads(await stdout.readline() or b"{}")
    except TimeoutError as error:
        raise ProviderTimeout(f"{who}: the child did not start in time") from error
    except (OSError, ValueError) as error:
        raise ProviderBusy(f"{who}: the child ended before it was ready") from error
    if not said.get("port"):
        raise ProviderBusy(f"{who}: the child cannot start: {said.get('error', 'it ended')}")
    return int(said["port"])
