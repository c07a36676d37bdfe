"""/cron and `aouo cron`: what begins by itself, switched on and off. Source: issue 5."""

from __future__ import annotations

import asyncio
import json

import pytest
from click.testing import CliRunner, Result

from aouo.cli.main import aouo
from aouo.emulator import HOUSEHOLD, VOCAB, ChatMessage
from tests.fakes.clock import FastClock
from tests.path.looking import settled
from tests.path.world import ADA, BEN, World

DRILL = """\
name: drill
version: 1.0.0
display_name: Drill
provided_skills: [go]
cron_defaults: [{id: daily-study, schedule: "0 8 * * *", skill: go, enabled_by_default: false}]
permissions: {tools: [msg], cron: true}
"""
EMPTY = "There are no schedules here. Ask for one in your own words"


@pytest.fixture(autouse=True)
async def fast(world: World) -> None:
    """It is Monday 2 March 2026, a little after noon."""
    world.clock = FastClock()
    world.config = {"cron": {"timezone": "Europe/Berlin"}}


def install(world: World, name: str, manifest: str) -> None:
    folder = world.home.packs / name
    (folder / "skills" / "go").mkdir(parents=True)
    (folder / "skills" / "go" / "SKILL.md").write_text("---\nname: go\ndescription: d\n---\nGo.")
    (folder / "pack.yml").write_text(manifest)


def labels(message: ChatMessage) -> list[str]:
    return [button.text for button in message.buttons]


async def edited(world: World, message: ChatMessage, text: str) -> ChatMessage:
    async def look() -> ChatMessage | None:
        found = await world.people.messages(message.chat_id)
        return next((m for m in found if m.id == message.id and text in m.text), None)

    return await world.people.until(look)


async def test_what_a_pack_proposes_is_listed_and_switched_on_and_off(world: World) -> None:
    install(world, "drill", DRILL)
    async with world.running() as bot:
        await bot.ask("Hello")
        listed = await bot.ask("/cron")
        await bot.people.tap(ADA, ADA, listed.id, listed.buttons[0].data)
        on = await edited(world, listed, "on, next")
        await bot.people.tap(ADA, ADA, on.id, on.buttons[0].data)
        off = await edited(world, listed, ": off")
        asked = len(world.model.requests)

    assert listed.text.splitlines() == [
        "Schedules here:",
        "1. daily study, every day at 08:00: off, as its pack proposes it",
    ]
    assert labels(listed) == ["1: Switch on", "1: Run now", "1: History"]
    assert "every day at 08:00: on, next Tuesday 3 March 2026 at 08:00" in on.text
    assert labels(on)[0] == "1: Switch off"
    assert labels(off)[0] == "1: Switch on"
    assert asked == 1  # only "Hello" needed a model


async def test_the_only_pack_is_the_one_that_is_meant_before_anything_was_said(
    world: World,
) -> None:
    install(world, "drill", DRILL)
    async with world.running() as bot:
        listed = await bot.ask("/cron")

    assert labels(listed)[0] == "1: Switch on"


async def test_where_nothing_is_scheduled_it_says_so(world: World) -> None:
    async with world.running() as bot:
        said = await bot.ask("/cron")

    assert said.text.startswith(EMPTY)
    assert said.buttons == ()


async def test_a_pack_that_may_not_schedule_is_named(world: World) -> None:
    quiet = DRILL.replace("drill", "quiet").replace("Drill", "Quiet")
    install(world, "quiet", quiet.replace(", cron: true", ""))
    async with world.running() as bot:
        await bot.ask("Hello")
        said = await bot.ask("/cron")

    assert said.text.startswith("“Quiet” has schedules and may not use them")


async def test_a_conversation_neither_sees_nor_switches_those_of_another_one(
    world: World,
) -> None:
    install(world, "drill", DRILL)
    world.install("notes")
    async with world.running() as bot:
        await bot.ask("/use drill", chat=HOUSEHOLD, thread=VOCAB)
        here = await bot.ask("/cron", chat=HOUSEHOLD, thread=VOCAB)
        foreign = here.buttons[0].data.removeprefix("nav:cron_on_")
        there = await bot.ask(f"/cron on {foreign}", user=BEN)
        rows = await bot.rows("SELECT thread_id, enabled FROM schedules")

    assert labels(here)[0] == "1: Switch on"
    assert there.text == f"There is no schedule “{foreign}” here. /cron lists what there is."
    assert rows == [{"thread_id": str(VOCAB), "enabled": 0}]


async def test_a_button_of_a_model_switches_nothing(world: World) -> None:
    install(world, "drill", DRILL)
    async with world.running() as bot:
        await bot.ask("Hello")
        listed = await bot.ask("/cron")
        forged = f"Tap me|{listed.buttons[0].data}"
        arguments = {"type": "keyboard", "text": "Look", "buttons": [[forged]]}
        world.model.call("msg", arguments)
        world.model.say("Shown.")
        await bot.people.say(ADA, ADA, "show")
        shown = await bot.people.next_message(ADA, after=listed.id, contains="Look")
        await settled(bot)
        await bot.people.tap(ADA, ADA, shown.id, shown.buttons[0].data)
        await settled(bot)
        rows = await bot.rows("SELECT enabled FROM schedules")

    assert rows == [{"enabled": 0}]


async def test_the_owner_switches_them_from_outside_while_it_runs_and_while_it_rests(
    world: World,
) -> None:
    install(world, "drill", DRILL)
    runner = CliRunner(env={"AOUO_HOME": str(world.home.path)})

    async def cli(*words: str) -> Result:
        return await asyncio.to_thread(runner.invoke, aouo, ["cron", *words])

    async with world.running() as bot:
        await bot.ask("Hello")
        await bot.ask("/cron")
        listed = json.loads((await cli("list", "--json")).output)
        wanted = listed["schedules"][0]["id"]
        with world.home.lock():  # as `aouo start` holds it
            on = await cli("resume", wanted)
        unknown = await cli("pause", "nothing")
    off = await cli("pause", wanted, "--json")
    at_rest = await cli("list")

    assert listed["running"] is False  # nothing holds the home's lock
    assert on.output == (
        "daily study, every day at 08:00: on, next Tuesday 3 March 2026 at 08:00.\n"
    )
    assert unknown.exit_code == 1
    assert json.loads(off.output)["paused"] == "person"
    assert at_rest.output.splitlines()[0].split()[:5] == [
        wanted,
        "drill",
        "daily",
        "study",
        "every",
    ]
    assert len(at_rest.output.splitlines()) == 1
