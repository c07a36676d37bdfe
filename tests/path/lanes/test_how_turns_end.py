"""What a turn leaves, however it ends, and what waits behind it. Source: reference C7."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from tests.fakes.model_server import CallPart, Fails, Says
from tests.path.looking import eventually, said, settled
from tests.path.packs.test_extensions import install
from tests.path.world import ADA, World

COUNTING = """
from aouo.agent.pipelines import Settled, Step

outputs = []
settled = []


def add(pipelines):
    step = Step("counting", counting)
    return pipelines.with_step("turn_output", step).with_settled(Settled("count", count))


async def counting(ctx, call_next):
    outputs.append(ctx.facts.id)
    await call_next()


async def count(ctx, status):
    settled.append(status)
"""


@pytest.fixture
def counting(world: World, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    world.install("notes")
    folder = tmp_path / "site"
    folder.mkdir()
    name = f"counting_{tmp_path.name}"
    install(folder, monkeypatch, COUNTING, name)
    return __import__(name)


async def history(world: World) -> list[tuple[str, str]]:
    assert world.bot
    rows = await world.bot.rows("SELECT role, text FROM messages WHERE visible ORDER BY id")
    return [(row["role"], row["text"]) for row in rows]


async def test_a_turn_without_an_answer_has_no_output_is_settled_and_leaves_no_half_message(
    world: World, counting: ModuleType
) -> None:
    world.model.reply(Says("Half of what it ", chunks=2, cut_after=1), Fails(400), Fails(400))
    world.model.reply(Says("Never said to the end.", chunks=4, stall_after=2))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns WHERE status = 'nack'"))
        await settled(bot)
        await bot.people.say(ADA, ADA, "and this")
        await world.model.stalled.wait()
        await bot.ask("/stop")
        await settled(bot)
        told = await history(world)
        await bot.ask("fine")
        await settled(bot)

    assert counting.settled == ["nack", "aborted", "ack"]
    assert len(counting.outputs) == 1
    assert [text for role, text in told if role == "user"] == ["go", "and this"]
    lines = [text for role, text in told if role == "assistant"]
    assert len(lines) == 2
    assert all(
        line.startswith("[") and "Half" not in line and "Never" not in line for line in lines
    )


async def test_a_new_session_that_is_asked_for_during_a_turn_begins_after_it(world: World) -> None:
    world.model.reply(Says("The answer.", chunks=2, stall_after=0))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "/new")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 2"))
        bound = await bot.rows("SELECT session_id FROM conversation_routes")
        world.model.release.set()
        await said(world, "The answer.")
        await settled(bot)
        turn = await bot.rows("SELECT session_id, status FROM turns")
        after = await bot.rows("SELECT session_id FROM conversation_routes")
        await bot.ask("What did you say")
        heard = str(world.model.requests[-1]["messages"])

    assert turn == [{**bound[0], "status": "ack"}]
    assert after != bound
    assert "The answer." not in heard


async def test_what_is_written_to_memory_is_in_the_next_turns_prompt(world: World) -> None:
    world.install("notes")
    fact = "Ada keeps bees on the roof."
    world.model.calls(CallPart("memory", {"target": "user", "action": "append", "content": fact}))
    world.model.say("Noted.")
    async with world.running() as bot:
        await bot.ask("I have bees, you know")
        await settled(bot)
        await bot.ask("/new")
        await bot.ask("Hello")
        prompt = str(world.model.requests[-1]["messages"][0]["content"])

    assert fact not in str(world.model.requests[0]["messages"][0]["content"])
    assert fact in prompt
