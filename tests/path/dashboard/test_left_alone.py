"""A page that goes away while it waits leaves no work behind that the bot would wait for."""

from __future__ import annotations

import asyncio
import sqlite3
import sys
from contextlib import closing

from aouo.dashboard.rooms.storage import LOOKS
from tests.path.dashboard.looking import dashboard, resting
from tests.path.looking import eventually, settled
from tests.path.world import ADA, World


def looking() -> int:
    """How many threads look into a pack's database."""
    frames = sys._current_frames().values()
    found = 0
    for frame in frames:
        at = frame
        while at:
            found += at.f_code.co_name == "browsing"
            at = at.f_back
    return found


async def test_looks_that_are_given_up_take_no_more_threads(world: World) -> None:
    world.install("notes")
    async with dashboard(world) as shown:
        await shown.bot.ask("hi")
        await settled(shown.bot)
    file = world.home.pack_database("notes", f"tg_{ADA}")
    file.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(file)) as locking:
        locking.execute("PRAGMA locking_mode=EXCLUSIVE")
        locking.execute("CREATE TABLE IF NOT EXISTS much (a)")
        locking.execute("BEGIN EXCLUSIVE")
        async with resting(world) as shown:
            line = f"GET /api/packs/notes/storage/tables?tenant=tg_{ADA} HTTP/1.1\r\n"
            raw = f"{line}Host: 127.0.0.1\r\nX-Aouo-Token: {shown.token}\r\n\r\n".encode()
            most = 0
            for _ in range(3 * LOOKS):
                _, writer = await asyncio.open_connection("127.0.0.1", shown.link.port)
                writer.write(raw)

                async def busy() -> int:
                    return looking()

                await eventually(busy)
                writer.close()
                await writer.wait_closed()
                await shown.get("/api/turns")  # what has gone is noticed
                most = max(most, looking())

    assert most <= LOOKS
