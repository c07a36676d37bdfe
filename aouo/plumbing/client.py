"""Asks the running bot through `run/control.sock`: a line of JSON there, lines of JSON back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import cast

from aouo.facts.errors import SetupError
from aouo.plumbing.control import Facts
from aouo.plumbing.home import Home, is_locked, reachable

_BEGINS_S = 5.0
"""How long a bot that has its home's lock is given to listen: it takes the lock first."""
_EVERY_S = 0.02
_LINE_BYTES = 64 * 2**20


class NoAnswer(SetupError):
    """The bot says no, or says nothing."""

    exit_code = 1


class NotRunning(NoAnswer):
    """No bot answers at this home."""


def ask(
    home: Home,
    verb: str,
    *,
    timeout_s: float = 10,
    begins_s: float | None = None,
    **arguments: object,
) -> Facts:
    """Send one request from a thread without an event loop and return its answer, without `ok`.

    Raises as `answers` does.
    """

    async def first() -> Facts:
        found = answers(home, verb, timeout_s=timeout_s, begins_s=begins_s, **arguments)
        async with aclosing(found):
            if (answer := await anext(found, None)) is None:
                raise NoAnswer("The running aouo ended without an answer.")
            return answer

    return asyncio.run(first())


async def answers(
    home: Home,
    verb: str,
    *,
    timeout_s: float | None = 10,
    begins_s: float | None = None,
    **arguments: object,
) -> AsyncGenerator[Facts]:
    """Send one request and yield its answers until the last; one that has a single answer ends
    with whoever asked.

    `timeout_s` is the longest wait for one of them, None = for ever.

    Raises:
        NotRunning: nobody listens, nor begins to within `begins_s` (None: `_BEGINS_S`).
        NoAnswer: refused, silent for `timeout_s`, or gone in the middle.
    """
    reader, writer = await _connected(home, _BEGINS_S if begins_s is None else begins_s)
    try:
        writer.write(json.dumps({"verb": verb, **arguments}).encode() + b"\n")
        while not (answer := await _read(reader, timeout_s)).get("done"):
            yield _checked(answer) if "ok" in answer else answer
    finally:
        writer.close()


async def _connected(
    home: Home, begins_s: float
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection to the bot; one that holds the lock and does not listen yet is waited for."""
    loop = asyncio.get_running_loop()
    until_s = loop.time() + begins_s
    while True:
        try:
            with reachable(home.control_socket) as address:
                return await asyncio.open_unix_connection(address, limit=_LINE_BYTES)
        except (FileNotFoundError, ConnectionRefusedError, NotADirectoryError):
            if loop.time() >= until_s or not is_locked(home):
                raise NotRunning(
                    f"aouo is not running at {home.path}.", fix="Start it with `aouo start`."
                ) from None
        except OSError as error:
            raise NoAnswer(f"The running aouo cannot be reached: {error}.") from error
        await asyncio.sleep(_EVERY_S)


async def _read(reader: asyncio.StreamReader, timeout_s: float | None) -> Facts:
    try:
        async with asyncio.timeout(timeout_s):
            line = await reader.readline()
        answer = json.loads(line) if line else None
    except TimeoutError:
        raise NoAnswer(
            f"The running aouo did not answer within {timeout_s:g} s.", fix="See `aouo logs`."
        ) from None
    except (OSError, ValueError) as error:
        raise NoAnswer(f"The running aouo broke off: {error}.") from error
    if not line:
        raise NoAnswer("The running aouo closed the connection without an answer.")
    if not isinstance(answer, dict):
        raise NoAnswer("The running aouo answered with something else than an object.")
    return cast("Facts", answer)


def _checked(answer: Facts) -> Facts:
    if not answer.pop("ok"):
        raise NoAnswer(
            str(answer.get("error", "refused")),
            fix=str(answer.get("fix", "")),
            exit_code=int(answer.get("exit_code", 1)),
        )
    return answer
