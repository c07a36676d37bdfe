"""Runs `aouo doctor` in a process of its own, so that no turn is slowed; one at a time."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping
from typing import cast

from aouo.facts.errors import SetupError
from aouo.plumbing import children
from aouo.plumbing.home import Home
from aouo.plumbing.verbs import Facts

LIMIT_S = 180.0
_SAID_MAX = 1_000_000
"""Bytes of an answer."""


async def examine(
    home: Home, environ: Mapping[str, str], *, fast: bool, limit_s: float = LIMIT_S
) -> Facts:
    """Return what `aouo doctor --json` says; a cancellation ends it.

    Raises:
        SetupError: it said nothing that can be read, or did not end within `limit_s`.
    """
    process = await children.spawn(
        *(*children.PYTHON, "-m", "aouo", "--home", str(home.path), "doctor", "--json"),
        *(["--fast"] if fast else []),
        env=environ,
        stdin=asyncio.subprocess.DEVNULL,
    )
    try:
        async with asyncio.timeout(limit_s):
            said = await _read(process)
    except TimeoutError:
        raise SetupError(f"The checks did not end within {limit_s:g} s.") from None
    finally:
        await children.end(process)
    try:
        facts = json.loads(said)
    except ValueError:
        raise SetupError("The checks could not be run.", fix="Run `aouo doctor`.") from None
    return cast("Facts", facts)


async def _read(process: asyncio.subprocess.Process) -> bytes:
    assert process.stdout
    said = await process.stdout.read(_SAID_MAX)
    while more := await process.stdout.read(_SAID_MAX):
        said = (said + more)[:_SAID_MAX]
    await process.wait()
    return said
