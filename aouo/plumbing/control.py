"""Serves `run/control.sock`, by which other processes of the owner control the running one.

Each request is one line with a JSON object, each answer one or more; `client` is the client.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing, asynccontextmanager, suppress
from typing import Any, cast

import structlog

from aouo.facts.errors import SetupError
from aouo.plumbing.home import Home, reachable
from aouo.plumbing.trees import discard, remove
from aouo.plumbing.verbs import Facts, Stream, Verb, Verbs

log = structlog.get_logger()

_KEPT: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""We remove the socket ourselves: where the home's path is long, its short address is gone at the
end, and Python would warn about that."""


class Control:
    """Answers requests by their verb: with one object, or with a stream of them."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    @asynccontextmanager
    async def listening(
        self, home: Home, failed: Callable[[OSError], None]
    ) -> AsyncGenerator[None]:
        """Listen, readable and writable for the owner only, until the block ends.

        If that is impossible, `failed` is called with the reason, and the block still runs.
        """
        try:
            remove(home.control_socket)  # what an earlier process left there
            with reachable(home.control_socket) as address:
                # `start_unix_server` leaks its socket if it is cancelled while it starts serving,
                # so serving starts below.
                server = await asyncio.start_unix_server(
                    self._serve, address, start_serving=False, **_KEPT
                )
        except OSError as error:
            failed(error)
            yield
            return
        try:
            home.control_socket.chmod(0o600)
            await server.start_serving()
            yield
        finally:
            server.close()
            discard(home.control_socket)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while line := await reader.readline():
                await self._answer(line, writer)
        except (ConnectionError, asyncio.LimitOverrunError, ValueError):
            log.debug("control_connection_broke")
        finally:
            writer.close()
            with suppress(ConnectionError):
                await writer.wait_closed()

    async def _answer(self, line: bytes, writer: asyncio.StreamWriter) -> None:
        try:
            request = json.loads(line)
        except (ValueError, RecursionError):
            await _send(writer, {"ok": False, "error": "That is not a line of JSON."})
            return
        if not isinstance(request, dict):
            await _send(writer, {"ok": False, "error": "That is not a JSON object."})
            return
        known = cast("dict[str, Any]", request)
        name = str(known.get("verb", ""))
        verb = self._verbs.get(name)
        try:
            match verb:
                case None:
                    last: Facts = {"ok": False, "error": f"There is no verb {name!r}."}
                case Verb():
                    last = {"ok": True, **await verb(known)}
                case Stream():
                    async with aclosing(verb(known)) as items:
                        async for item in items:
                            await _send(writer, item)
                    last = {"done": True}
        except Exception as error:  # noqa: BLE001 - the client gets the error, and the bot goes on
            if writer.is_closing():  # the client has gone
                return
            last = _failure(name, error)
        await _send(writer, last)


def _failure(verb: str, error: Exception) -> Facts:
    if isinstance(error, SetupError):
        answer = {"ok": False, "error": error.problem, "fix": error.fix}
        return {**answer, "exit_code": error.exit_code}
    log.error("control_failed", verb=verb, error=repr(error))
    return {"ok": False, "error": f"That cannot be done: {str(error) or type(error).__name__}."}


async def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    line = json.dumps(answer, ensure_ascii=False, default=str)
    writer.write(line.encode(errors="backslashreplace") + b"\n")  # names of files are any bytes
    await writer.drain()
