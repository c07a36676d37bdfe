"""The command menu in the chat. Source: contract ("In the chat"), issue 4, behaviour 48."""

from __future__ import annotations

import json
import shutil
from typing import Any

import pytest
from structlog.testing import capture_logs

from tests.fakes.clock import FastClock
from tests.path.looking import prompts, said
from tests.path.world import ROOT, World

LONG = "Повторяет слова, которые давно не встречались, и спрашивает о них " * 4


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.clock = clock = FastClock()
    return clock


def install(world: World, *names: str, description: str = "Does it", pack: str = "notes") -> None:
    """Our pack of notes with more skills, all of them commands."""
    folder = world.home.packs / pack
    shutil.copytree(ROOT / "packs" / "notes", folder)
    manifest = folder / "pack.yml"
    text = manifest.read_text("utf-8").replace("name: notes", f"name: {pack}", 1)
    manifest.write_text(text.replace("[onboarding,", f"[{', '.join((*names, 'onboarding'))},"))
    for name in names:
        (folder / "skills" / name).mkdir()
        head = f"---\nname: {name}\ndescription: {description}\ncommand: true\n---\n"
        (folder / "skills" / name / "SKILL.md").write_text(f"{head}\n# {name}\n\nDo it.\n", "utf-8")


async def registered(world: World) -> list[dict[str, str]]:
    """What the menu holds once the bot has made it."""

    async def look() -> list[dict[str, Any]]:
        calls = await world.people.calls("setMyCommands")
        return [call for call in calls if call["status"] == 200]

    (call,) = await world.people.until(look)
    return call["params"]["commands"]


async def test_the_menu_holds_our_commands_and_those_of_skills(world: World) -> None:
    install(world, "long-name")
    async with world.running() as bot:
        found = {line["command"]: line["description"] for line in await registered(world)}
        await bot.people.say(1001, 1001, "/long-name one")
        await said(world, "/long-name one")
        await bot.people.say(1001, 1001, "/long_name two")
        await said(world, "/long_name two")

    ours = {"start", "help", "use", "new", "stop", "retry", "usage", "id", "whereami"}
    assert ours <= set(found)
    assert found["long_name"] == "Does it"
    assert {"daily_note", "review"} <= set(found)
    assert "onboarding" not in found
    assert prompts(world) == ["/long-name one", "/long_name two"]


async def test_a_description_that_is_a_key_stands_there_in_english(world: World) -> None:
    install(world, "tidy", description="tidy.what")
    texts = world.home.packs / "notes" / "i18n" / "en.json"
    texts.write_text(json.dumps({"tidy.what": "Tidies up"}), "utf-8")
    async with world.running():
        found = {line["command"]: line["description"] for line in await registered(world)}

    assert found["tidy"] == "Tidies up"


async def test_120_skills_with_long_descriptions_are_cut_to_what_telegram_takes(
    world: World,
) -> None:
    """≤ 100 commands, names 1-32 of a-z 0-9 _, descriptions 1-256, all in about 7.8 KB."""
    names = [f"lesson-{number:03}-of-many-that-are-here" for number in range(120)]
    install(world, *names, description=LONG)
    with capture_logs() as logs:
        async with world.running() as bot:
            found = await registered(world)
            await bot.ask("/help")

    assert 20 < len(found) <= 100
    assert len(json.dumps(found).encode()) <= 7_800
    assert all(1 <= len(line["description"]) <= 256 for line in found)
    assert "help" in {line["command"] for line in found}
    assert [line["event"] for line in logs if "menu" in line["event"]] == ["command_menu_full"]


async def test_a_skill_named_like_one_of_our_commands_is_logged_and_not_offered(
    world: World,
) -> None:
    install(world, "stop", "tidy")
    install(world, "tidy", pack="other")
    with capture_logs() as logs:
        async with world.running() as bot:
            found = [line["command"] for line in await registered(world)]
            answer = await bot.ask("/stop")

    collisions = [line for line in logs if line["event"] == "command_collision"]
    assert (found.count("stop"), found.count("tidy")) == (1, 1)
    assert answer.text == "Nothing is running here."
    assert "notes:stop" in str(collisions)
    assert "/tidy runs notes:tidy" in str(collisions)


@pytest.mark.parametrize(
    "fault",
    [
        {"kind": "status", "status": 400, "description": "Bad Request: BOT_COMMAND_INVALID"},
        {"kind": "status", "status": 429, "retry_after": 5, "times": 9},
        {"kind": "drop_before", "times": 9},
    ],
    ids=["refused", "flood", "dropped"],
)
async def test_a_menu_that_cannot_be_made_stops_nothing(
    world: World, fault: dict[str, Any]
) -> None:
    world.install("notes")
    await world.people.fault(**fault, method="setMyCommands")
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text == "hello"


async def test_a_menu_that_met_flood_control_is_made_afterwards(world: World) -> None:
    world.install("notes")
    await world.people.fault("status", method="setMyCommands", status=429, retry_after=5, times=2)
    async with world.running():
        found = await registered(world)

    assert "help" in {line["command"] for line in found}
