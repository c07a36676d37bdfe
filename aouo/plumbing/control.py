"""Serves `run/control.sock`: the verbs by which other processes of the owner control this one.

Each request is one line with a JSON object, each answer one or more; `client` is the client. A
line of HTTP gets one page and ends the connection: `curl --unix-socket`, and what watches services.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping
from contextlib import aclosing, asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from typing import Any, TypeAlias, cast

from aouo.facts.errors import SetupError, TurnFailed
from aouo.plumbing.home import Home, reachable
from aouo.plumbing.logs import log
from aouo.plumbing.trees import discard, remove

Facts: TypeAlias = dict[str, Any]
_Verb: TypeAlias = Callable[..., Awaitable[Facts] | AsyncGenerator[Facts]]
"""Takes the fields of its request by name. Gives one answer, or many until it ends or the client
has gone."""
Verbs: TypeAlias = Mapping[str, _Verb]
_KINDS: dict[str, type] = {"str": str, "bool": bool, "int": int, "dict": dict}
_IN_WORDS = {str: "a text", bool: "true or false", int: "a whole number", dict: "an object"}


class BadRequest(SetupError):
    """A request lacks a field, or a field has another type."""


def fields_of(
    handler: Callable[..., Any], besides: Collection[str] = ()
) -> dict[str, tuple[type, bool]]:
    """Return what a handler takes, but for `besides`: name → (type, whether it is required).

    Types are texts, whole numbers, booleans and objects.
    """
    return {
        one.name: (_KINDS[str(one.annotation).partition("[")[0]], one.default is one.empty)
        for one in inspect.signature(handler).parameters.values()
        if one.name not in besides
    }


def arguments(
    handler: Callable[..., Any], raw: Mapping[str, Any], besides: Collection[str] = ()
) -> dict[str, Any]:
    """Return what a handler takes from `raw`, see `fields_of`; unknown keys are ignored, and what
    is in an object is not looked at.

    Raises:
        BadRequest: a field is missing or of another type; it says which, and quotes no value.
    """
    values: dict[str, Any] = {}
    for name, (kind, is_required) in fields_of(handler, besides).items():
        if name in raw:
            if type(raw[name]) is not kind:
                raise BadRequest(f"{name!r} has to be {_IN_WORDS[kind]}.")
            values[name] = raw[name]
        elif is_required:
            raise BadRequest(f"The request lacks {name!r}.")
    return values


_KEPT: dict[str, Any] = {"cleanup_socket": False} if sys.version_info >= (3, 13) else {}
"""We remove the socket ourselves: where the home's path is long, its short address is gone at the
end, and Python would warn about that."""


_Page: TypeAlias = Callable[[], Awaitable[tuple[int, Facts]]]
"""Returns a status of HTTP and what is shown with it, as JSON."""
_HTTP = re.compile(rb"([A-Z]+) ([!-~]+) HTTP/1\.[01]\r?\n")
_HEADERS_MAX = 100


@asynccontextmanager
async def listening(
    home: Home,
    failed: Callable[[OSError], None],
    verbs: Verbs,
    pages: Mapping[str, _Page] | None = None,
) -> AsyncGenerator[None]:
    """Listen, readable and writable for the owner only, until the block ends.

    Requests are answered by their verb: with one object, or with a stream of them; and `GET` by
    its path, with one of `pages`.

    If that is impossible, `failed` is called with the reason, and the block still runs.
    """
    try:
        remove(home.control_socket)  # what an earlier process left there
        with reachable(home.control_socket) as address:
            # `start_unix_server` leaks its socket if it is cancelled while it starts serving,
            # so serving starts below.
            server = await asyncio.start_unix_server(
                partial(_serve, verbs, pages or {}), address, start_serving=False, **_KEPT
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


async def _serve(
    verbs: Verbs,
    pages: Mapping[str, _Page],
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
) -> None:
    try:
        while line := await reader.readline():
            if asked := _HTTP.fullmatch(line):
                await _headers(reader)
                await _show(pages.get(asked[2].decode()), asked, writer)
                return
            await _answer(verbs, line, writer)
    except (ConnectionError, asyncio.LimitOverrunError, ValueError):
        log.debug("control_connection_broke")
    finally:
        writer.close()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _show(page: _Page | None, asked: re.Match[bytes], writer: asyncio.StreamWriter) -> None:
    """Send a page; whatever else HTTP may want of us is refused."""
    method = asked[1].decode()
    try:
        if page is None:
            status, facts = 404, {"error": "There is no such page."}
        elif method not in ("GET", "HEAD"):
            status, facts = 405, {"error": "That can only be read."}
        else:
            status, facts = await page()
    except Exception as error:  # noqa: BLE001 - the client gets the error, and the bot goes on
        status, facts = 500, _failure(asked[2].decode(), error)
    body = json.dumps(facts, default=str).encode() + b"\n"
    writer.write(
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\nContent-Type: application/json\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
    )
    writer.write(b"" if method == "HEAD" else body)
    await writer.drain()


async def _answer(verbs: Verbs, line: bytes, writer: asyncio.StreamWriter) -> None:
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
    verb = verbs.get(name)
    try:
        if verb is None:
            last: Facts = {"ok": False, "error": f"There is no verb {name!r}."}
        elif isinstance(answer := verb(**arguments(verb, known)), AsyncGenerator):
            async with aclosing(answer) as items:
                async for item in items:
                    await _send(writer, item)
            last = {"done": True}
        else:
            last = {"ok": True, **await answer}
    except Exception as error:  # noqa: BLE001 - the client gets the error, and the bot goes on
        if writer.is_closing():  # the client has gone
            return
        last = _failure(name, error)
    await _send(writer, last)


async def _headers(reader: asyncio.StreamReader) -> None:
    """Read past what comes before the body of a request, which nobody here wants."""
    for _ in range(_HEADERS_MAX):
        if not (await reader.readline()).strip():
            return


def _failure(verb: str, error: Exception) -> Facts:
    if isinstance(error, SetupError):
        answer = {"ok": False, "error": error.problem, "fix": error.fix}
        return {**answer, "exit_code": error.exit_code}
    if not isinstance(error, TurnFailed):  # else it says what the conversation was told
        log.error("control_failed", verb=verb, error=repr(error))
    return {"ok": False, "error": f"That cannot be done: {str(error) or type(error).__name__}."}


async def _send(writer: asyncio.StreamWriter, answer: dict[str, Any]) -> None:
    line = json.dumps(answer, ensure_ascii=False, default=str)
    writer.write(line.encode(errors="backslashreplace") + b"\n")  # names of files are any bytes
    await writer.drain()
