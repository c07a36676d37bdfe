"""Answers what a run in the sandbox asks over the one descriptor that it inherits.

A question and its answer are each four bytes of length, the larger first, then JSON:
`{ask, given}`; `{value}` or `{error}`. Whatever a hostile run sends, it gets errors, or its end of
the line is closed.
"""

from __future__ import annotations

import asyncio
import json
import math
import re
import socket
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeAlias, cast

from aouo.facts.errors import ToolFailed
from aouo.plumbing.logs import log

Answer: TypeAlias = Callable[[str, Mapping[str, Any]], Awaitable[object]]
"""Answers one question; `ToolFailed` says why not."""
GIVEN = Path(__file__).parent.resolve() / "given"
"""The folder with the module that a tool imports."""
_ASKED_BYTES, _ANSWER_BYTES = 1_000_000, 4_000_000
_MOST = 5_000
_DEPTH_MAX, _INTEGER_BITS = 64, 63
_HALF = re.compile("[\ud800-\udfff]")


@asynccontextmanager
async def answering(ours: socket.socket, answer: Answer) -> AsyncGenerator[None]:
    """Answer questions, one by one, during the block."""
    try:
        async with asyncio.TaskGroup() as group:
            task = group.create_task(_serve(ours, answer))
            try:
                yield
            finally:
                task.cancel()
    finally:
        ours.close()


async def _serve(ours: socket.socket, answer: Answer) -> None:
    ours.setblocking(False)
    reader, writer = await asyncio.open_unix_connection(sock=ours, limit=_ASKED_BYTES)
    try:
        with suppress(asyncio.IncompleteReadError, ConnectionError):
            for _ in range(_MOST):
                size = int.from_bytes(await reader.readexactly(4), "big")
                if size > _ASKED_BYTES:
                    return
                told = await _answered(await reader.readexactly(size), answer)
                writer.write(len(told).to_bytes(4, "big") + told)
                await writer.drain()
    finally:
        writer.transport.abort()
        with suppress(ConnectionError):
            await writer.wait_closed()


async def _answered(asked: bytes, answer: Answer) -> bytes:
    try:
        wish: Any = json.loads(asked)
        what, given = wish["ask"], wish["given"]
        if not isinstance(what, str) or not isinstance(given, dict):
            raise TypeError
    except (ValueError, RecursionError, LookupError, TypeError):
        return _dumped({"error": "That is no question, or nested too deep: see aouo_pack."})
    try:
        _check(what[:40], cast("dict[str, Any]", given))
        return _dumped({"value": await answer(what, cast("dict[str, Any]", given))})
    except ToolFailed as error:
        return _dumped({"error": str(error)})
    except Exception as error:
        log.exception("tool_question_failed", what=what[:40], error=repr(error))
        return _dumped({"error": f"{what[:40]} takes no such value ({type(error).__name__})."})


def _check(name: str, value: Any, room: int = _DEPTH_MAX) -> None:
    """Raises: ToolFailed: no answer can use the value, or one in it; names it."""
    if isinstance(value, dict | list):
        inside = cast("Any", value)
        for key, item in enumerate(inside) if isinstance(value, list) else inside.items():
            if not room:
                raise ToolFailed(f"{name!a:.80} is nested too deep; send something flatter.")
            _check(f"{name}.{key}", item, room - 1)
    elif _HALF.search(f"{name}{value}"):
        raise ToolFailed(f"{name!a:.80} holds half of a character; send it whole, as UTF-8.")
    elif isinstance(value, float) and not math.isfinite(value):
        raise ToolFailed(f"{name:.80} is {value}; send a number or None.")
    elif isinstance(value, int) and value.bit_length() > _INTEGER_BITS:
        raise ToolFailed(f"{name:.80} has more than {_INTEGER_BITS} bits; send it as text.")


def _dumped(answer: Mapping[str, object]) -> bytes:
    told = json.dumps(answer, ensure_ascii=False, default=str).encode("utf-8", "replace")
    if len(told) <= _ANSWER_BYTES:
        return told
    return _dumped({"error": f"The answer has more than {_ANSWER_BYTES:,} bytes: ask for less."})
