"""What did not change keeps its connection and its process; what did is closed with its last turn.

Source: issue 14, "Reload".
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from tests.fakes.clock import FastClock
from tests.fakes.model_server import CallPart, Says
from tests.path.going_out.test_streaming import ALSO_SLOW, waiting_tool
from tests.path.looking import eventually, said
from tests.path.reloading.following import reload, save, swap
from tests.path.schedules.scheduled import answering, made, run_states
from tests.path.schedules.test_reminders import after_tool, waiting
from tests.path.tools.test_mcp import is_alive, journal, replies, starts, stdio
from tests.path.world import ADA, WAIT_S, Running, World

__all__ = ["journal"]


async def use(world: World, bot: Running) -> None:
    world.model.call("load_tools", {"names": ["mcp:fake"]})
    world.model.call("mcp__fake__add", {"a": 2, "b": 3})
    world.model.say("five")
    assert (await bot.ask("2 + 3?")).text == "five"


async def gone(pid: int) -> None:
    async def look() -> bool:
        return not is_alive(pid)

    await eventually(look)


async def test_a_tool_server_that_did_not_change_keeps_its_process(
    world: World, journal: Path
) -> None:
    replies(world, {"fake": stdio(journal)})
    async with world.running() as bot:
        await use(world, bot)
        async with swap(bot):
            save(world, telegram={"max_parts": 3})
        await use(world, bot)
        (kept,) = starts(journal)

        async with swap(bot):
            save(world, mcp={"servers": {"fake": stdio(journal, OTHER="settings")}})
        await gone(kept)
        await use(world, bot)
        _, other = starts(journal)
        assert is_alive(other)

        async with swap(bot):
            save(world, mcp={"servers": {}})
        await gone(other)

    assert kept != other


async def test_a_turn_that_runs_keeps_its_tool_server_until_it_ends(
    world: World, journal: Path
) -> None:
    begun, release = asyncio.Event(), asyncio.Event()
    world.tools = [waiting_tool(begun, release)]
    replies(world, {"fake": stdio(journal)}, tools="msg, memory, mcp:fake")
    world.config |= ALSO_SLOW
    world.model.call("load_tools", {"names": ["mcp:fake"]})
    world.model.call("mcp__fake__add", {"a": 2, "b": 3})
    world.model.calls(CallPart("skill_slow", {}))
    world.model.call("mcp__fake__add", {"a": 3, "b": 4})
    world.model.say("seven")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "2 + 3 + 4?")
        async with asyncio.timeout(WAIT_S):
            await begun.wait()
        (pid,) = starts(journal)
        async with swap(bot):
            save(world, mcp={"servers": {}})
        alive = is_alive(pid)
        release.set()
        await said(world, "seven")
        await gone(pid)

    assert (alive, starts(journal)) == (True, [pid])


async def test_a_generation_that_cannot_be_built_closes_what_it_had_opened(
    world: World, journal: Path
) -> None:
    """A server is taken before the model, which then has no key."""
    replies(world, {"fake": stdio(journal)})
    async with world.running() as bot:
        await use(world, bot)
        before, things = bot.app.generations.now, len(bot.app.shared.things)
        more = {"fake": stdio(journal), "more": stdio(journal)}
        save(world, mcp={"servers": more}, provider={"backend": "openai"})
        facts = await reload(world)
        await bot.people.next_message(ADA, contains="config.json has a problem")

        async def closed() -> bool:
            """The folder is watched too: its own try may be at work still."""
            return len(bot.app.shared.things) == things

        await eventually(closed)
        await use(world, bot)
        (pid,) = starts(journal)

        assert is_alive(pid)
        assert bot.app.generations.now is before
    assert "There is no key" in facts["config"]["problems"][0]


async def test_a_turn_that_waits_for_a_person_too_long_goes_on_with_the_new_generation(
    world: World,
) -> None:
    """What an old generation holds is not held for ever; the question stays."""
    world.config = {"advanced": {"turn_timeout_s": 0.5}, "telegram": {"streaming": "off"}}
    world.model.call("clarify", {"message": "Which?", "options": ["a", "b"]})
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "choose")
        asked = await bot.people.next_message(ADA, contains="Which?")
        old = bot.app.generations.now.held
        async with swap(bot):
            save(world, advanced={"turn_timeout_s": 600}, provider={"model": "newer"})

        async def ended() -> bool:
            return old not in bot.app.generations._users

        await eventually(ended)
        world.model.say("b it is")
        await bot.people.tap(ADA, ADA, asked.id, asked.buttons[1].data)
        await said(world, "b it is")
        models = [body["model"] for body in world.model.requests if "messages" in body]

    assert models[-1] == "newer"


async def test_a_run_with_a_longer_limit_of_its_own_ends_with_the_generation_it_began_with(
    world: World,
) -> None:
    """Ada's question is given back once the patience with the old generation is over; the run that
    is at work then goes on, and nothing that it does is done again."""
    begun, release, clock = asyncio.Event(), asyncio.Event(), FastClock(speed=1)
    world.tools, world.clock = [waiting(release, begun)], clock
    world.config = {"advanced": {"turn_timeout_s": 2}, "telegram": {"streaming": "off"}}
    world.config |= ALSO_SLOW
    question = CallPart("clarify", {"message": "Which?", "options": ["a", "b"]})
    world.model.script = answering(
        lambda body: "Watered." if after_tool(body) else Says(calls=(CallPart("skill_wait", {}),)),
        lambda body: Says(calls=(question,)),
    )
    async with world.running() as bot, asyncio.timeout(WAIT_S):
        await made(bot, timeout_s=600)
        clock.jump(61)
        await begun.wait()
        await bot.people.say(ADA, ADA, "choose")
        await bot.people.next_message(ADA, contains="Which?")
        async with swap(bot):
            save(world, advanced={"turn_timeout_s": 600})
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE resumes = 1"))
        release.set()
        await said(world, "Watered.\n\n— ⏰ plants")
        runs = await bot.rows(
            "SELECT t.resumes, c.state FROM turns AS t JOIN jobs AS j ON j.id = t.job_id "
            "JOIN tool_calls AS c ON c.turn_id = t.id WHERE j.origin = 'cron'"
        )
        states = await run_states(bot)

    assert (runs, states) == ([{"resumes": 0, "state": "done"}], ["done"])
