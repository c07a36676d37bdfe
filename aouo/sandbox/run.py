"""Runs an order at the level this machine has, and leaves no process behind."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    asynccontextmanager,
    contextmanager,
    suppress,
)
from pathlib import Path
from typing import Any, TypeAlias, assert_never

from aouo.ids import ulid
from aouo.sandbox import bubblewrap, cgroup, walls
from aouo.sandbox.levels import (
    INSIDE,
    Bubblewrap,
    Landlock,
    Level,
    Refused,
    Unconfined,
    Wish,
    level_of,
)
from aouo.sandbox.order import Command, End, Function, Limits, Order, Ran
from aouo.sandbox.programs import SEARCHED, startable
from aouo.shield import finish

Door: TypeAlias = Callable[[socket.socket], AbstractAsyncContextManager[None]]
"""Serves a listening socket inside a sandbox: all the network that is to be had there."""
_STDERR_BYTES = 4_000
_CHUNK_BYTES = 65_536
_GRACE_S = 2.0
_DOOR_S = 5.0
_LOOK_EVERY_S = 0.5
_DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom")
_JOIN = 'for f in $AOUO_GROUPS; do echo $$ > "$f" || exit 71; done; unset AOUO_GROUPS; exec "$@"'
"""Enters the control groups before anything else can be started."""


class NotConfined(Exception):
    """Nothing ran: this machine cannot confine it; the text says why."""


class Sandbox:
    """Runs orders, a few at a time; finds out at the first one what the machine can do."""

    def __init__(self, wish: Wish, *, at_once: int = 4, level: Level | None = None) -> None:
        self._wish: Wish = wish
        self._level = level
        self._free = asyncio.Semaphore(at_once)

    async def level(self) -> Level:
        """What holds here; found out once."""
        if self._level is None:
            self._level = await asyncio.to_thread(level_of, self._wish)
            if not isinstance(self._level, Refused):
                cgroup.sweep(self._level.groups)
        return self._level

    async def run(
        self, order: Order, door: Door | None = None, is_full: Callable[[], bool] = lambda: False
    ) -> Ran:
        """Run it to its end, or to the end of its time; however this returns, nothing is left.

        With `online`, `door` serves what the run asks of the network. It is also ended once
        `is_full`, which is asked now and then in a thread, says so.

        Raises:
            NotConfined: it was not started.
        """
        level = await self.level()
        if isinstance(level, Refused):
            raise NotConfined(f"{level.why}.")
        if order.online and isinstance(level, Landlock) and not level.namespaces:
            raise NotConfined("without bubblewrap there is no network for tools here.")
        async with self._free, AsyncExitStack() as stack:
            scratch = stack.enter_context(_scratch(level))
            groups = await stack.enter_async_context(
                cgroup.group(level.groups, ulid(), order.limits)
            )
            behind = order.online and not isinstance(level, Unconfined)
            ours, theirs = socket.socketpair() if behind else (None, None)
            try:
                process = await _start(level, order, scratch, groups, theirs)
            finally:
                if theirs is not None:
                    theirs.close()
            try:
                if ours is not None:
                    await stack.enter_async_context(_served(ours, door))
                return await _watched(process, order, is_full)
            finally:
                await finish(_closed(process))


@contextmanager
def _scratch(level: Level) -> Generator[Path]:
    """A folder of its own for what is temporary; bubblewrap brings one itself."""
    if isinstance(level, Bubblewrap):
        yield Path("/tmp")
        return
    with tempfile.TemporaryDirectory(prefix="aouo-tool-", ignore_cleanup_errors=True) as made:
        yield Path(made).resolve()


async def _start(
    level: Bubblewrap | Landlock | Unconfined,
    order: Order,
    scratch: Path,
    groups: Sequence[Path],
    door: socket.socket | None,
) -> asyncio.subprocess.Process:
    words = [str(bubblewrap.python()), "-I", "-S", "-B", str(INSIDE.resolve())]
    words += [_told(level, order, scratch, door.fileno() if door else -1)]
    if isinstance(level, Bubblewrap):
        words = [*bubblewrap.command(level.bwrap, order), *words]
    if groups:
        words = ["/bin/sh", "-c", _JOIN, "sh", *words]
    environ = {"PATH": SEARCHED, "LANG": "C.UTF-8", "TMPDIR": str(scratch), **dict(order.env)}
    if groups:
        environ["AOUO_GROUPS"] = " ".join(map(str, groups))
    return await asyncio.create_subprocess_exec(
        *words,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env=environ,
        cwd="/" if isinstance(level, Bubblewrap) else order.folder,
        pass_fds=(door.fileno(),) if door else (),
        start_new_session=True,
    )


def _told(level: Bubblewrap | Landlock | Unconfined, order: Order, scratch: Path, door: int) -> str:
    """The order as `inside.py` reads it."""
    is_nested = not isinstance(level, Bubblewrap)
    namespaces = isinstance(level, Landlock) and level.namespaces
    calls: dict[str, bool] | None = None
    rules: dict[str, Any] | None = None
    if not isinstance(level, Unconfined):
        version = level.version if isinstance(level, Landlock) else level.landlock
        calls = {
            "network": door >= 0,
            "files": is_nested,
            "signals": is_nested and not namespaces and version < walls.SCOPE_SINCE,
        }
        rules = _rules(order, scratch, version, files=is_nested) if version else None
        if rules is not None and door >= 0:
            rules["network"] = True  # the only one there leads to our door
    return json.dumps(
        {
            "nested": is_nested,
            "namespaces": namespaces,
            "parent": os.getpid(),
            "door": door,
            "limits": _limits(order.limits, processes=namespaces or not is_nested),
            "calls": calls,
            "landlock": rules,
            "run": _run(order.run),
        }
    )


def _rules(order: Order, scratch: Path, version: int, *, files: bool) -> dict[str, Any]:
    named = order.run.program if isinstance(order.run, Command) else None
    programs = startable([*((named,) if named else ()), *order.programs])
    readable = [
        *bubblewrap.system(),
        *map(Path, bubblewrap.ETC),
        *bubblewrap.python_folders(),
        *order.readable,
        *map(Path, _DEVICES),
    ]
    return {
        "version": version,
        "network": False,
        "programs": list(map(str, programs)),
        "readable": list(map(str, readable)) if files else None,
        "writable": list(map(str, [*order.writable, scratch, *map(Path, _DEVICES[:3])])),
    }


def _limits(limits: Limits, *, processes: bool) -> dict[str, int]:
    """By the names of `resource`; processes are counted only where they are not all of a user's."""
    found = {
        "RLIMIT_CPU": limits.cpu_s,
        "RLIMIT_AS": limits.memory_bytes,
        "RLIMIT_FSIZE": limits.file_bytes,
        "RLIMIT_NOFILE": limits.open_files,
        "RLIMIT_CORE": 0,
    }
    return found | ({"RLIMIT_NPROC": limits.processes} if processes else {})


def _run(run: Function | Command) -> dict[str, Any]:
    match run:
        case Function():
            return {
                "file": str(run.file),
                "module": run.file.stem,
                "function": run.name,
                "path": list(map(str, run.path)),
            }
        case Command():
            return {"program": str(run.program), "argv": list(run.words)}
        case _:
            assert_never(run)


@asynccontextmanager
async def _served(ours: socket.socket, door: Door | None) -> AsyncGenerator[None]:
    """Serve the socket that the sandbox hands over; one that ends before has none."""
    ours.setblocking(False)
    ready: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    asyncio.get_running_loop().add_reader(ours, lambda: ready.done() or ready.set_result(None))
    try:
        with suppress(TimeoutError):
            async with asyncio.timeout(_DOOR_S):
                await ready
    finally:
        asyncio.get_running_loop().remove_reader(ours)
    try:
        _, sent, _, _ = socket.recv_fds(ours, 1, 1)
    except OSError:
        sent = []
    finally:
        ours.close()
    if not sent or door is None:
        yield
        return
    with socket.socket(fileno=sent[0]) as listening:
        async with door(listening):
            yield


async def _watched(
    process: asyncio.subprocess.Process, order: Order, is_full: Callable[[], bool]
) -> Ran:
    """Feed it and read it until it ends, takes too long or too much room, or says too much."""
    stdin, stdout, stderr = process.stdin, process.stdout, process.stderr
    assert stdin is not None
    assert stdout is not None
    assert stderr is not None
    out, err = bytearray(), bytearray()
    most = order.limits.output_bytes

    async def feed() -> None:
        with suppress(ConnectionError):  # it ended without reading everything
            stdin.write(order.stdin)
            await stdin.drain()
            stdin.close()

    async def take() -> None:
        while piece := await stdout.read(_CHUNK_BYTES):  # to its end: a full pipe holds it open
            out.extend(piece[: most + 1 - len(out)])
            if len(out) > most:
                _ask_to_end(process)

    async def follow() -> None:
        while piece := await stderr.read(_CHUNK_BYTES):
            err.extend(piece)
            del err[:-_STDERR_BYTES]

    async def look() -> None:
        nonlocal end
        while not await asyncio.to_thread(is_full):
            await asyncio.sleep(_LOOK_EVERY_S)
        end = "room"
        _ask_to_end(process)

    end: End = "exit"
    try:
        async with asyncio.timeout(order.limits.time_s), asyncio.TaskGroup() as group:
            for part in (feed(), take(), follow()):
                group.create_task(part)
            looking = group.create_task(look())
            await process.wait()
            looking.cancel()
    except TimeoutError:
        end = "time"
    said = err.decode("utf-8", "replace").strip()
    if len(out) > most:
        end = "output"
    return Ran(end, process.returncode or 0, bytes(out[:most]), said)


def _ask_to_end(process: asyncio.subprocess.Process) -> None:
    """Bubblewrap takes everything with it; our own watcher kills everything below it first."""
    with suppress(ProcessLookupError):
        process.terminate()


async def _closed(process: asyncio.subprocess.Process) -> None:
    """End it with everything it started, and read what nobody wanted: until then pipes are open."""
    with suppress(TimeoutError):
        async with asyncio.timeout(2 * _GRACE_S), asyncio.TaskGroup() as group:
            for pipe in (process.stdout, process.stderr):
                group.create_task(_drained(pipe))
            await _end(process)


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        _ask_to_end(process)
        with suppress(TimeoutError):
            async with asyncio.timeout(_GRACE_S):
                await process.wait()
    if process.returncode is None:
        with suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        await process.wait()


async def _drained(pipe: asyncio.StreamReader | None) -> None:
    while pipe is not None and await pipe.read(_CHUNK_BYTES):
        pass
