"""The server of `run/control.sock`: how other processes of the owner talk to the running one.

One JSON object a line there, one or more back; see `client` for who asks.
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
"""The address is short-lived where the home's path is long: at the end Python would find something
else under it, and say so. We take the socket away ourselves."""


class Control:
    """Answers verbs: each with one object, or with a stream of them."""

    def __init__(self, verbs: Verbs) -> None:
        self._verbs = verbs

    @asynccontextmanager
    async def listening(
        self, home: Home, failed: Callable[[OSError], None]
    ) -> AsyncGenerator[None]:
        """Listen, readable and writable for the owner only, until the block ends.

        Where there is no listening, `failed` is told why and the block runs all the same.
        """
        try:
            remove(home.control_socket)  # whatever a former process or another hand left there
            with reachable(home.control_socket) as address:
                # Served below: cancelled while it begins, `start_unix_server` leaves its socket
                # open.
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
        except Exception as error:  # noqa: BLE001 - who asked hears it, and the bot goes on
            if writer.is_closing():  # who asked has gone
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
