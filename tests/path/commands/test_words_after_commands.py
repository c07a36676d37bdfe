"""One lexer for what follows a command. Source: issue 14, kernel A6."""

from __future__ import annotations

import shutil
from typing import Any

import pytest

from tests.fakes.model_server import text_of
from tests.path.looking import eventually, route, said, settled
from tests.path.world import ADA, ROOT, World


@pytest.mark.parametrize("typed", ["/use 'vocab'", '/use "voc"ab', "/use@aouo_try_bot vocab"])
async def test_quotes_group_what_is_meant_and_the_bot_s_name_is_none_of_it(
    world: World, typed: str
) -> None:
    """The trap of A6: `/cmd@botname` was not stripped."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        told = await bot.ask(typed)

        assert told.text.startswith("“vocab” answers here now.")
        assert (await route(bot))["active_pack"] == "vocab"


@pytest.mark.parametrize(
    "typed", ["/use 'vocab", "/memory empty 'USER.md", '/cron off "x', "/pack \\"]
)
async def test_a_quote_that_is_not_closed_is_told_and_nothing_is_done(
    world: World, typed: str
) -> None:
    world.install("notes", "vocab")
    async with world.running() as bot:
        told = await bot.ask(typed)

    name = typed.split()[0]
    assert told.text.startswith(f"I cannot tell what follows {name}: ")
    assert world.model.requests == []


async def test_free_text_after_a_command_counts_as_it_is_written(world: World) -> None:
    world.install("notes")
    world.model.say("It is.")
    async with world.running() as bot:
        answer = await bot.ask("/otr it's --really \"so")

    assert answer.text == "It is."
    assert "it's --really \"so" in text_of(world.model.requests[-1]["messages"][-1])


async def test_a_command_of_the_owner_s_comes_before_a_skill_of_its_name(world: World) -> None:
    folder = world.home.packs / "notes"
    shutil.copytree(ROOT / "packs" / "notes", folder)
    commands = world.home.path / "commands"
    commands.mkdir()
    (commands / "daily_note.md").write_text("---\ndescription: mine\n---\nMy own words.\n")
    world.model.say("Here it is.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "/daily_note")
        await said(world, "Here it is.")
        await settled(bot)
        rows = await bot.rows("SELECT text FROM messages WHERE role = 'user'")

        async def menu() -> list[Any]:
            calls = await bot.people.calls("setMyCommands")
            lines = [call["params"]["commands"] for call in calls if call["status"] == 200]
            return [one for one in (lines[-1] if lines else []) if one["command"] == "daily_note"]

        (shown,) = await eventually(menu)

    assert [row["text"] for row in rows] == ["My own words."]
    assert shown["description"] == "mine"


async def test_an_edit_before_its_turn_runs_the_command_anew(world: World) -> None:
    """It waits for a pack, and its words are replaced."""
    world.install("notes", "vocab")
    commands = world.home.path / "commands"
    commands.mkdir()
    (commands / "brief.md").write_text("Sum up:\n")
    world.model.say("Here it is.")
    async with world.running() as bot:
        asked = await bot.people.say(ADA, ADA, "/brief the day")
        picker = await bot.people.next_message(ADA, after=asked.id)
        await bot.people.edit(ADA, ADA, asked.id, "/brief the week")
        await settled(bot)
        await bot.people.tap(ADA, ADA, picker.id, "pack:vocab")
        await said(world, "Here it is.\n\n— vocab")
        rows = await bot.rows("SELECT text FROM messages WHERE role = 'user'")

    assert rows[0]["text"].endswith("the week")
