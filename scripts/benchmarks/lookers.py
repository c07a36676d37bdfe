"""Looks at the local page as open windows do, until it is told to end.

`python -m scripts.benchmarks.lookers ADDRESS TOKEN FILE`: five windows read each second what the
views Usage and Turns ask for, one asks for changes and for the longest answer and never reads
either. At the end FILE has how many milliseconds each answer took, by path, as JSON.
"""

from __future__ import annotations

import asyncio
import json
import signal
import sys
import time
from pathlib import Path
from urllib.parse import urlsplit

import aiohttp

WINDOWS = 5
_EVERY_S = 1.0
_PATHS = (
    "/api/usage?days=30",
    "/api/usage/prices?days=30",
    "/api/usage/left",
    "/api/usage/turns?days=30",
    "/api/turns",
    "/api/approvals/number",
    "/healthz",
)


async def look(address: str, token: str, file: Path) -> None:
    took_ms: dict[str, list[float]] = {}
    told = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, told.set)
    headers = {"X-Aouo-Token": token}
    deaf = [await _deaf(address, token, path) for path in ("/api/live", _PATHS[0])]
    async with (
        aiohttp.ClientSession(address, headers=headers) as session,
        asyncio.TaskGroup() as group,
    ):
        paths = [path for path in _PATHS if await _is_there(session, path)]
        windows = [
            group.create_task(_window(session, paths, number / WINDOWS, took_ms))
            for number in range(WINDOWS)
        ]
        print(json.dumps({"paths": paths}), flush=True)
        await told.wait()
        for window in windows:
            window.cancel()
    for writer in deaf:
        writer.close()
    await asyncio.to_thread(file.write_text, json.dumps(took_ms))


async def _window(
    session: aiohttp.ClientSession,
    paths: list[str],
    after_s: float,
    took_ms: dict[str, list[float]],
) -> None:
    await asyncio.sleep(after_s)
    while True:
        for path in paths:
            began_s = time.perf_counter()
            async with session.get(path) as answer:
                await answer.read()
            took_ms.setdefault(path, []).append((time.perf_counter() - began_s) * 1000)
        await asyncio.sleep(_EVERY_S)


async def _is_there(session: aiohttp.ClientSession, path: str) -> bool:
    async with session.get(path) as answer:
        return answer.status == 200


async def _deaf(address: str, token: str, path: str) -> asyncio.StreamWriter:
    where = urlsplit(address)
    _, writer = await asyncio.open_connection(where.hostname, where.port, limit=1)
    head = f"GET {path} HTTP/1.1\r\nHost: {where.netloc}\r\nX-Aouo-Token: {token}\r\n\r\n"
    writer.write(head.encode())
    return writer


if __name__ == "__main__":
    asyncio.run(look(sys.argv[1], sys.argv[2], Path(sys.argv[3])))
