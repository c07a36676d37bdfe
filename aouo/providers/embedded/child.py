"""Starts talking to a child process that serves on a loopback port, and notices its end.

The child reads one line from stdin, the key that callers must send, and prints one JSON line,
`{"port": …}` or `{"error": …}`. It ends when its stdin does, so it never outlives the runtime.
"""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

from aouo.facts.errors import ProviderBusy, ProviderTimeout

START_TIMEOUT_S = 60.0
STOP_TIMEOUT_S = 5.0


async def port_of(process: asyncio.subprocess.Process, key: str, who: str = "local") -> int:
    """Give the child its key, and return the port that it listens on once it is ready.

    Raises:
        ProviderBusy: it cannot start, or ended.
        ProviderTimeout: it did not answer within `START_TIMEOUT_S`.
    """
    stdin, stdout = process.stdin, process.stdout
    if stdin is None or stdout is None:
        raise ProviderBusy(f"{who}: the child has no pipes")
    try:
        async with asyncio.timeout(START_TIMEOUT_S):
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


async def has_died(process: asyncio.subprocess.Process) -> bool:
    """Whether the child has ended; waits up to 1 s, since a connection breaks a moment before."""
    with suppress(TimeoutError):
        async with asyncio.timeout(1.0):
            await process.wait()
    return process.returncode is not None
