"""A hundred rotations later a session's id still reads back, and is no longer than the first.

Source: issue 14 "Done when", reference C7, 4.
"""

from __future__ import annotations

from collections import Counter

from aouo.facts.ids import SessionId
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body
from tests.path.looking import eventually, settled
from tests.path.schedules.scheduled import made
from tests.path.world import ADA, World

ROTATIONS = 100


def short(body: Body) -> str:
    del body
    return "Short."


async def test_ids_of_all_sessions_read_back_after_a_hundred_rotations(world: World) -> None:
    world.clock = clock = FastClock()
    world.model.script = short
    async with world.running() as bot:
        await bot.ask("Hello")
        for number in range(ROTATIONS):
            if number % 10:
                await bot.ask("/new")
            else:
                for _ in range(3):
                    await bot.ask("What was said? " * 20)
                assert "are a summary now" in (await bot.ask("/compact")).text
        await settled(bot)
        await made(bot)
        clock.jump(61)
        await eventually(lambda: bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'"))
        await settled(bot)
        rows = await bot.rows("SELECT id, session_key FROM sessions ORDER BY created_at")
        bound = await bot.rows("SELECT session_id FROM conversation_routes")
    found = [SessionId.parse(row["id"]) for row in rows]
    kinds = Counter(one.kind for one in found)

    assert [str(one) for one in found] == [row["id"] for row in rows]
    assert kinds["chat"] == ROTATIONS + 1
    assert kinds["cron"] == 1
    assert {one.conversation for one in found} == {f"tg:{ADA}"}
    assert {len(row["id"]) for row in rows if row["id"].startswith("chat")} == {len(rows[0]["id"])}
    assert bound == [{"session_id": str(next(o for o in reversed(found) if o.kind == "chat"))}]
