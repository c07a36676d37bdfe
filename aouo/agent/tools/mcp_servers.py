"""Connects to MCP servers when they are needed, again after they died; no failure spreads."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from contextvars import Context
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import aiohttp
import structlog

from aouo.agent.tools.mcp import Answer, Offered, prefix, tools_of
from aouo.agent.tools.registry import Tool
from aouo.config.sections import McpServer
from aouo.facts.errors import OutcomeUnknown, SetupError, ToolFailed
from aouo.facts.ports import Clock
from aouo.plumbing import waiting
from aouo.plumbing.logs import log
from aouo.plumbing.web.certificates import cure_of

if TYPE_CHECKING:
    from aouo.agent.tools.mcp_link import Link

CONNECT_S = 8.0
_BACKOFF = partial(waiting.pause_s, first_s=1, factor=2, most_s=60)
_STDERR_LINES = 5
_QUOTING = ("MCPError", "ValidationError")
_OURS = ("Connection closed",)
"""The SDK's own text in errors that otherwise hold the server's words."""


Pinned: TypeAlias = Callable[[str, str, Mapping[str, str]], Awaitable[frozenset[str]]]
"""Takes a server's name, a digest of its settings, and tool → digest of what it says of it; returns
the tools that say something else than when the server was first seen, or trusted last."""


async def _nothing_pinned(name: str, settings: str, said: Mapping[str, str]) -> frozenset[str]:
    del name, settings, said
    return frozenset()


@dataclass(slots=True, eq=False)
class Server:
    """One server and the tools it offers; a `tools.registry.Source`.

    A connection has a task of its own, since the SDK's contexts must be exited in the same task.
    """

    name: str
    settings: McpServer
    clock: Clock
    tasks: asyncio.TaskGroup
    session: aiohttp.ClientSession
    pinned: Pinned = _nothing_pinned
    changed: frozenset[str] = field(init=False, default=frozenset())
    """The tools that say something else of themselves than when the server was first seen."""
    _offered: Sequence[Offered] = field(init=False, default=())
    _attempt: asyncio.Future[Link | None] | None = field(init=False, default=None)
    _end: asyncio.Event = field(init=False, default_factory=asyncio.Event)
    _serving: asyncio.Task[None] | None = field(init=False, default=None)
    _closed: bool = field(init=False, default=False)
    _tools: tuple[Tool, ...] = field(init=False, default=())
    _failures: int = field(init=False, default=0)
    _heard_off_record: bool = field(init=False, default=False)
    _not_before_s: float = field(init=False, default=0.0)
    _why: str = field(init=False, default="")

    @property
    def group(self) -> str:
        return f"mcp:{self.name}"

    @property
    def summary(self) -> str:
        """The names of the tools once they are known, before that only the server's name."""
        if self._tools:
            start = prefix(self.name)
            return ", ".join(tool.name.removeprefix(start) for tool in self._tools)[:300]
        return f"tools of the server {self.name!r}"

    def owns(self, name: str) -> bool:
        return name.startswith(prefix(self.name))

    async def tools(self) -> Sequence[Tool]:
        """Return the server's tools, connecting if needed.

        Raises:
            ToolFailed: the server is down; says why.
        """
        await self._link()
        if self.changed:  # perhaps the owner trusts it by now
            await self._make()
        return self._tools

    def facts(self) -> dict[str, Any]:
        """Return the server's state for `aouo status`."""
        link = self._open_link()
        state = "up" if link else "down" if self._failures else "not connected"
        return {"state": state, "tools": len(self._tools), "why": "" if link else self._why}

    def close(self) -> None:
        """End the connection; none will be made after it."""
        self._closed = True
        self._end.set()

    async def aclose(self) -> None:
        """End the connection, and wait until it is closed and its child is gone."""
        self.close()
        if self._serving is None or self._attempt is None:
            return
        if not self._attempt.done():
            self._serving.cancel()  # it only connects
        await asyncio.wait([self._serving])
        if not self._attempt.done():  # it had not even begun to
            self._attempt.set_result(None)

    async def _call(self, name: str, arguments: Mapping[str, Any]) -> Answer:
        link = await self._link()
        if structlog.contextvars.get_contextvars().get("off_record"):
            self._heard_off_record = True
        from aouo.agent.tools.mcp_link import LinkLost

        try:
            answer = await link.call(name, arguments)
        except LinkLost as error:
            link.lost.set()
            raise OutcomeUnknown(f"The server {self.name!r} went away while this ran.") from error
        self._failures = 0
        return answer

    async def _make(self) -> None:
        """Make the tools that the server lists. Nothing is believed of one that says something else
        than when its server was first seen."""
        said = {item.name: item.digest for item in self._offered}
        self.changed = await self.pinned(self.name, self._settled(), said)
        believes = self.settings.hints == "use"
        offered = [
            item if believes and item.name not in self.changed else item.unhinted
            for item in self._offered
        ]
        if self.changed:
            log.warning("mcp_tools_changed", server=self.name, tools=sorted(self.changed))
        self._tools = tools_of(self.name, offered, self._call, words=self.settings.words)

    def _settled(self) -> str:
        """What the owner has set of it: with other settings it is another server."""
        set_by = self.settings.model_dump(include={"command", "args", "url"})
        return hashlib.sha256(json.dumps(set_by, default=str).encode()).hexdigest()

    async def _link(self) -> Link:
        """The open connection, or a new one.

        Raises:
            ToolFailed: it is down, or was a moment ago; says why.
        """
        if link := self._open_link():
            return link
        if self._closed:
            raise ToolFailed("aouo is stopping.")
        if self._attempt is None or self._attempt.done():
            left_s = self._not_before_s - self.clock.monotonic_s()
            if left_s > 0:
                raise ToolFailed(f"{self._down()} It is tried again in {left_s:.0f} s.")
            self._attempt = asyncio.get_running_loop().create_future()
            # In a context of its own: it is no part of the turn that happened to need it first.
            self._serving = self.tasks.create_task(
                self._serve(self._attempt), name=self.group, context=Context()
            )
        if link := await asyncio.shield(self._attempt):
            return link
        raise ToolFailed(self._down())

    def _open_link(self) -> Link | None:
        if self._attempt is None or not self._attempt.done():
            return None
        link = self._attempt.result()
        return None if link is None or link.lost.is_set() else link

    async def _serve(self, attempt: asyncio.Future[Link | None]) -> None:
        """Connect, tell `attempt`, and hold the connection until it is lost or not needed."""
        stderr: deque[str] = deque(maxlen=_STDERR_LINES)
        over = False
        self._heard_off_record = False
        if not self._closed:
            self._end = asyncio.Event()
        try:
            await asyncio.to_thread(import_module, "aouo.agent.tools.mcp_link")
            from aouo.agent.tools.mcp_link import connected  # heavy: imported by the thread

            async with (
                asyncio.timeout(CONNECT_S) as limit,
                connected(self.settings, stderr, self.session) as link,
            ):
                self._offered = await link.tools()
                await self._make()
                limit.reschedule(None)
                self._why = ""
                attempt.set_result(link)
                log.info("mcp_connected", server=self.name, tools=len(self._tools))
                await self._until_over(link)
                self._count("it ended")
                over = True
        except TimeoutError:
            self._count(f"it did not answer in {CONNECT_S:g} s")
        except SetupError as error:
            self._count(str(error))
        except ImportError:
            self._count(_NO_SDK)
        except Exception as error:  # noqa: BLE001 - a part of its own, that nothing else depends on
            if not over:  # later it is only how a lost connection closes
                self._count(_innermost(error))
        finally:
            if not self._closed:
                log.warning(
                    "mcp_down", server=self.name, why=self._why, stderr=self._quotable(stderr)
                )
            if not attempt.done():
                attempt.set_result(None)

    def _quotable(self, stderr: Sequence[str]) -> list[str]:
        """Return a server's last lines, unless they may repeat what was off the record."""
        return ["off the record"] if self._heard_off_record else list(stderr)

    async def _until_over(self, link: Link) -> None:
        async with asyncio.TaskGroup() as group:
            waits = [group.create_task(link.lost.wait()), group.create_task(self._end.wait())]
            await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
            for wait in waits:
                wait.cancel()

    def _count(self, why: str) -> None:
        """Note a failure: the first is forgiven, then each doubles the pause."""
        if self._closed:
            return
        self._failures += 1
        pause_s = _BACKOFF(self._failures - 1)
        self._not_before_s = self.clock.monotonic_s() + pause_s
        self._why = why

    def _down(self) -> str:
        return f"The server {self.name!r} is down: {self._why or 'it ended'}."


_NO_SDK = "tool servers need the MCP SDK: `scripts/setup mcp`, or `pip install 'aouo[mcp]'`"


@asynccontextmanager
async def supervised(
    settings: Mapping[str, McpServer], clock: Clock, session: aiohttp.ClientSession
) -> AsyncGenerator[Sequence[Server]]:
    """Yield the servers; at the end every connection is closed and every child is gone."""
    async with asyncio.TaskGroup() as group:
        servers = [Server(name, one, clock, group, session) for name, one in settings.items()]
        try:
            yield servers
        finally:
            for server in servers:
                server.close()


def _innermost(error: BaseException) -> str:
    """Say what went wrong, without the exception groups that the SDK puts around it.

    A model reads it, so the server's own words go to the log only.
    """
    while isinstance(error, BaseExceptionGroup):
        error = cast("BaseExceptionGroup[BaseException]", error).exceptions[0]
    if cure := cure_of(error):
        return cure
    name, text = type(error).__name__, str(error)
    if name in _QUOTING and text not in _OURS:
        log.info("mcp_refused", error=f"{name}: {text}"[:500])
        return f"it answered with {name}"
    return f"{name}: {text}"[:300] if text else name
