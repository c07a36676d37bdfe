"""A schedule comes due: an isolated turn, whose result enters its conversation between turns.

Source: issue 14 "Isolated turns", design §3.3.
"""

from __future__ import annotations

from datetime import timedelta

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import iso
from aouo.facts.work import Scheduled
from aouo.store import schedules
from tests.fakes.clock import FastClock
from tests.path.world import ADA, Running, World


async def made(bot: Running, text: str = "1m", **more: object) -> Scheduled:
    """A reminder that Ada made, due in a minute."""
    now = bot.app.shared.clock.now()
    fields: dict[str, object] = {
        "id": schedules.new_id(),
        "pack": "",
        "key": "",
        "origin": "person",
        "address": ConversationAddress("tg", str(ADA)),
        "chat_kind": "private",
        "person": str(ADA),
        "skill": "",
        "prompt": "Remind me to water the plants",
        "text": text,
        "zone": "UTC",
        "since": iso(now),
        "enabled": True,
        "paused": "",
        "next_due": iso(now + timedelta(minutes=1)),
        "name": "plants",
        **more,
    }
    row = Scheduled(**fields)  # pyright: ignore[reportArgumentType]
    await bot.app.shared.database.transact(lambda tx: schedules.add(tx, row, iso(now)))
    return row


async def test_a_reminder_comes_when_it_is_due_and_can_be_answered(world: World) -> None:
    world.clock = clock = FastClock(speed=1)
    world.model.say("Water the plants!")
    world.model.say("You are welcome.")
    async with world.running() as bot:
        await made(bot)
        clock.jump(61)
        shown = await bot.people.next_message(ADA, contains="Water")
        answer = await bot.ask("Thanks, done")
        runs = await bot.rows("SELECT state FROM schedule_runs")

    assert shown.text == "Water the plants!\n\n— ⏰ plants"
    assert answer.text == "You are welcome."
    history = [m["content"] for m in world.model.requests[-1]["messages"][1:]]
    assert "Water the plants!" in str(history)
    assert runs == [{"state": "done"}]
