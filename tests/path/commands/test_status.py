"""`/status` in the chat: true, without a model, and at once. Source: issue 14, contract."""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY
from tests.fakes.model_server import Says, unavailable
from tests.path.looking import eventually, said, settled
from tests.path.world import ADA, BEN, World


async def test_the_owner_reads_how_the_bot_is(world: World) -> None:
    world.install("notes")
    broken = world.home.packs / "broken"
    broken.mkdir(parents=True)
    (broken / "pack.yml").write_text("name: broken\nversion: x y\n")
    (world.home.path / "commands").mkdir()
    (world.home.path / "commands" / "typo.md").write_text("---\ntype: remote\n---\nText.\n")
    async with world.running() as bot:
        told = await bot.ask("/status")
        lines = told.text.split("\n")

    assert lines[:3] == ["“notes” answers here.", "Here: nothing is at work.", ""]
    assert lines[3].startswith("I have been running since ")
    assert lines[4:7] == [
        "Model: fake (scripted).",
        "Telegram: polling.",
        "All conversations: nothing is at work.",
    ]
    assert any(line.startswith("⚠️ Pack broken: ") for line in lines)
    assert any("commands/typo.md:2: type: must be agent" in line for line in lines)
    assert world.model.requests == []


async def test_anybody_else_reads_what_concerns_them(world: World) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        before = await bot.ask("/status", user=BEN)
        await bot.ask("/use notes", user=BEN)
        after = await bot.ask("/status", user=BEN)
        await bot.ask("/otr", user=BEN)
        off = await bot.ask("/status", user=BEN)

    assert before.text == (
        "No pack is chosen here yet. /pack chooses one.\nHere: nothing is at work."
    )
    assert after.text == "“notes” answers here.\nHere: nothing is at work."
    assert "This is off the record. /otr ends it." in off.text


async def test_in_a_group_the_owner_reads_no_more_than_others(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        told = await bot.ask("/status@aouo_try_bot", chat=FAMILY)

    assert told.text == "“notes” answers here.\nHere: nothing is at work."


async def test_it_does_not_wait_for_the_turn_that_runs_and_counts_it(world: World) -> None:
    world.install("notes")
    world.model.reply(Says("Slowly it comes", chunks=5, stall_after=1))
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hi")
        await eventually(lambda: bot.rows("SELECT 1 FROM turns"))
        await bot.people.say(ADA, ADA, "and this")
        await eventually(lambda: bot.rows("SELECT count(*) FROM jobs HAVING count(*) = 2"))
        await bot.people.say(BEN, BEN, "/status")
        await said(world, "“notes” answers here.\nHere: nothing is at work.", BEN)
        await bot.people.say(ADA, ADA, "/status")

        async def told() -> bool:
            found = [m.text for m in await bot.people.messages(ADA) if m.from_bot]
            return any("Here: something is at work, 1 waiting." in one for one in found) and any(
                "All conversations: something is at work, 1 waiting." in one for one in found
            )

        await eventually(told)
        await bot.people.say(ADA, ADA, "/stop")
        await settled(bot)


@pytest.mark.parametrize("failures", [1, 2])
async def test_it_tells_of_a_model_that_fails(world: World, failures: int) -> None:
    world.install("notes")
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.script = unavailable
    async with world.running() as bot:
        for _ in range(failures):
            await bot.ask("hi")
        told = await bot.ask("/status")

    times = "the last time" if failures == 1 else "2 times in a row"
    assert (
        f"Model: fake (scripted) failed {times} (it is busy or cannot be reached).\n" in told.text
    )
