"""Runs an order at this machine's level, and leaves no process behind."""

from __future__ import annotations

import asyncio
import os
import socket
import tempfile
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import TypeAlias

from aouo.facts.ids import ulid
from aouo.guard.sandbox import bubblewrap, levels
from aouo.guard.sandbox.asking import Answer, answering
from aouo.guard.sandbox.bubblewrap import SEARCHED
from aouo.guard.sandbox.order import Order, Ran
from aouo.guard.sandbox.watching import Watch, closed
from aouo.plumbing import children
from aouo.plumbing.trees import remove
from aouo.plumbing.waiting import finish

_Egress: TypeAlias = Callable[[socket.socket], AbstractAsyncContextManager[None]]
"""Serves a listening socket inside a sandbox, which is the only network there."""
_DOOR_S = 5.0
_JOIN = 'for f in $AOUO_GROUPS; do echo $$ > "$f" || exit 71; done; unset AOUO_GROUPS; exec "$@"'
"""Enters the control groups before the first program of the run starts."""


class NotConfined(Exception):
    """The run was not started, because this machine cannot confine it; the text says why."""


class Sandbox:
    """Runs orders, a few at a time; the first one finds out the machine's level."""

    def __init__(
        self,
        wish: levels.Wish,
        *,
        home: Path | None = None,
        at_once: int = 4,
        level: levels.Level | None = None,
    ) -> None:
        self._wish: levels.Wish = wish
        self._home = home
        self._level = level
        self._free = asyncio.Semaphore(at_once)

    async def level(self) -> levels.Level:
        """Return the level of this machine, which is found out once."""
        if self._level is None:
            self._level = await asyncio.to_thread(levels.level_of, self._wish, self._home)
            if not isinstance(self._level, levels.Refused):
                levels.sweep(self._level.groups)
        return self._level

    async def run(
        self,
        order: Order,
        egress: _Egress | None = None,
        is_full: Callable[[], bool] = lambda: False,
        answer: Answer | None = None,
    ) -> Ran:
        """Run an order to its end, or until it exceeds a limit; no process is left afterwards.

        If the order is `online`, `egress` serves its network. `is_full`, called now and then in a
        thread, ends the run when it returns true. `answer` answers what the run asks meanwhile.

        Raises:
            NotConfined: the run was not started.
        """
        level = await self.level()
        if isinstance(level, levels.Refused):
            raise NotConfined(f"{level.why}.")
        if order.online and isinstance(level, levels.Landlock) and not level.namespaces:
            raise NotConfined("without bubblewrap there is no network for tools here.")
        async with self._free, AsyncExitStack() as stack:
            scratch = await stack.enter_async_context(_scratch())
            groups = await stack.enter_async_context(
                levels.group(level.groups, ulid(), order.limits)
            )
            behind = order.online and not isinstance(level, levels.Unconfined)
            ours, theirs = socket.socketpair() if behind else (None, None)
            line, asks = socket.socketpair() if answer else (None, None)
            told, kill = stack.enter_context(bubblewrap.pipe_of_inner())
            try:
                process = await _start(level, order, scratch, groups, theirs, asks, told)
            finally:
                os.close(told)
                for end in filter(None, (theirs, asks)):
                    end.close()
            try:
                if ours is not None:
                    await stack.enter_async_context(_served(ours, egress))
                if line is not None and answer:
                    await stack.enter_async_context(answering(line, answer))
                return await Watch(process, order, scratch, is_full, kill).ran()
            finally:
                await finish(closed(process, kill))


@asynccontextmanager
async def _scratch() -> AsyncGenerator[Path]:
    """Yield a folder for the run's temporary files."""
    made = await asyncio.to_thread(_made)
    try:
        yield made
    finally:
        await finish(asyncio.to_thread(_discard, made))


def _made() -> Path:
    return Path(tempfile.mkdtemp(prefix="aouo-tool-")).resolve()


def _discard(made: Path) -> None:
    with suppress(OSError):  # the system's folder of temporary files; nothing of ours depends on it
        remove(made)


async def _start(
    level: levels.Bubblewrap | levels.Landlock | levels.Unconfined,
    order: Order,
    scratch: Path,
    groups: Sequence[Path],
    egress: socket.socket | None,
    asks: socket.socket | None,
    told: int,
) -> asyncio.subprocess.Process:
    words = [str(bubblewrap.python()), "-I", "-S", "-B", str(levels.INSIDE.resolve())]
    egress_fd, asks_fd = (one.fileno() if one else -1 for one in (egress, asks))
    words += [bubblewrap.told(level, order, scratch, egress_fd, asks_fd)]
    if isinstance(level, levels.Bubblewrap):
        words = [*bubblewrap.command(level, order, scratch, told), *words]
        scratch = Path(bubblewrap.SCRATCH[0])
    if not isinstance(level, levels.Unconfined) and level.lowered:
        words = [*levels.lowering(), *words]
    if groups:
        words = ["/bin/sh", "-c", _JOIN, "sh", *words]
    environ = {"PATH": SEARCHED, "LANG": "C.UTF-8", "TMPDIR": str(scratch), **dict(order.env)}
    if groups:
        environ["AOUO_GROUPS"] = " ".join(map(str, groups))
    return await children.spawn(
        *words,
        env=environ,
        stderr=asyncio.subprocess.PIPE,
        folder="/" if isinstance(level, levels.Bubblewrap) else order.folder,
        handed_on=(told, *(one.fileno() for one in (egress, asks) if one)),
    )


@asynccontextmanager
async def _served(ours: socket.socket, egress: _Egress | None) -> AsyncGenerator[None]:
    """Serve the socket that the sandbox hands over; a run that ends sooner hands over none."""
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
    if not sent or egress is None:
        yield
        return
    with socket.socket(fileno=sent[0]) as listening:
        async with egress(listening):
            yield
