"""In groups only what is meant for the bot is heard, and all of that.

Source: issue 4, contract `telegram.groups`; single messages and commands are in `test_routing`.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence

import pytest
from click.testing import CliRunner

from aouo.cli.main import aouo
from aouo.emulator import HOUSEHOLD, ChatMessage
from aouo.queue.joining import COMPLETE_AFTER_S
from tests.fakes.clock import FastClock
from tests.path.looking import answers, eventually, prompts, said, settled
from tests.path.media.test_media_albums import gathered, picture, pictures, put
from tests.path.world import ADA, BEN, Running, World

US = "@aouo_try_bot"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Time stands nearly still: an album ends when a test says so."""
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    world.clock = clock = FastClock(speed=0.1)
    return clock


async def arrived(bot: Running, number: int) -> None:
    """Wait until so many updates are stored, each by its id at least."""

    async def look() -> bool:
        return len(await bot.rows("SELECT 1 FROM updates")) >= number

    await eventually(look)


async def put_all(
    bot: Running, group: int, captions: Sequence[str], *, user: int = ADA, album: str = "a"
) -> list[ChatMessage]:
    return [
        await put(bot, album, f"{album} {number}", user, group, caption=caption)
        for number, caption in enumerate(captions)
    ]


# Albums


@pytest.mark.parametrize(
    "caption", [f"{US} what is it?", f"what is it, {US}", "/review@aouo_try_bot"]
)
async def test_an_album_is_whole_whichever_of_its_items_calls_us(
    world: World, clock: FastClock, caption: str
) -> None:
    world.install("notes")
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        await put_all(bot, group, ["", "", caption, ""])
        await gathered(bot, 4)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(group)
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [picture(f"a {number}") for number in range(4)]


async def test_of_an_album_that_calls_nobody_not_a_word_is_stored(
    world: World, clock: FastClock
) -> None:
    world.install("notes")
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        await put_all(bot, group, ["the pearl necklace", "under the stairs"])
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.say(ADA, group, f"{US} hello")
        await said(world, "hello", group)
        await settled(bot)

    stored = b"".join(file.read_bytes() for file in world.home.data.rglob("aouo.db*"))
    assert (b"necklace" in stored, b"stairs" in stored) == (False, False)
    assert prompts(world) == ["hello"]


async def test_what_calls_us_after_an_albums_time_does_not_bring_it_back(
    world: World, clock: FastClock
) -> None:
    """What nobody meant for us is forgotten by then."""
    world.install("notes")
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        await bot.ask("/whereami", chat=group)
        before = len(await bot.rows("SELECT 1 FROM updates"))
        await put(bot, "a", "early", ADA, group)
        await arrived(bot, before + 1)
        clock.jump(COMPLETE_AFTER_S + 1)
        await put(bot, "a", "late", ADA, group, caption=f"{US} what is it?")
        await gathered(bot, 1)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(group)
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [picture("late")]


async def test_somebody_elses_album_is_not_brought_along(world: World, clock: FastClock) -> None:
    world.install("notes")
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        await put(bot, "b", "ben's", BEN, group)
        await put_all(bot, group, ["", f"{US} what is it?"])
        await gathered(bot, 2)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(group)
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [picture("a 0"), picture("a 1")]


# Topics


async def test_a_topic_that_a_person_gave_a_pack_needs_no_mention(world: World) -> None:
    """The gate is for the rest of the group: a topic without a pack, and General."""
    world.install("notes", "vocab")
    async with world.running() as bot:
        kitchen = await bot.people.topic_created(ADA, HOUSEHOLD, "kitchen")
        await bot.people.say(ADA, HOUSEHOLD, "talk before", thread=kitchen)
        await bot.ask("/use vocab", chat=HOUSEHOLD, thread=kitchen)
        answer = await bot.ask("der Hund", chat=HOUSEHOLD, thread=kitchen)
        garden = await bot.people.topic_created(ADA, HOUSEHOLD, "garden")
        await bot.people.say(ADA, HOUSEHOLD, "talk in the garden", thread=garden)
        await bot.people.say(ADA, HOUSEHOLD, "talk in General")
        await bot.ask(f"{US} end", chat=HOUSEHOLD, thread=kitchen)
        await settled(bot)
        there = await answers(world, HOUSEHOLD, garden)

    assert (answer.text, there) == ("der Hund", [])
    assert prompts(world) == ["der Hund", "end"]


# Privacy mode


async def test_where_all_talk_is_ours_strangers_are_refused_only_if_they_call_us(
    world: World,
) -> None:
    """Or each of them would be told, every hour, what they never asked for."""
    world.install("notes")
    world.config["telegram"] = {"groups": "all"}
    eve = await world.people.create_user("Eve")
    group = await world.people.create_chat("Us", [ADA, eve])
    async with world.running() as bot:
        await bot.people.say(eve, group, "nice weather")
        await bot.ask("hello", chat=group)
        before = await answers(world, group)
        await bot.people.say(eve, group, f"{US} hello")
        await said(world, "You are not authorized to use this bot.", group)

    assert (before, prompts(world)) == (["hello"], ["hello"])


async def test_a_name_that_begins_with_ours_is_left_as_it_was_written(world: World) -> None:
    world.install("notes")
    async with world.running() as bot:
        await bot.ask(f"{US}2 is another one")
        await bot.ask(f"{US}: and this is for us")

    assert prompts(world) == [f"{US}2 is another one", "and this is for us"]


def _doctor(world: World) -> dict[str, str]:
    """What `aouo doctor` warns of in groups: the message by the group."""
    result = CliRunner().invoke(aouo, ["--home", str(world.home.path), "doctor", "--json"])
    checks = json.loads(result.stdout)["checks"]
    return {one["name"]: one["fix"] for one in checks if one["name"].startswith("group ")}


async def test_doctor_names_the_groups_whose_messages_privacy_mode_hides(world: World) -> None:
    """Only where every message is for the bot: a pack's topic, or `telegram.groups` = all."""
    world.install("notes", "vocab")
    people = world.people
    club = await people.create_chat("Club", [ADA], kind="forum", bot_status="member")
    led = await people.create_chat("Led", [ADA], kind="forum")
    plain = await people.create_chat("Plain", [ADA], bot_status="member")
    async with world.running() as bot:
        for chat in (club, led):
            thread = await people.topic_created(ADA, chat, "Vocab")
            await said(world, "“vocab” answers here now.", chat, thread)
        await bot.ask("/use notes", chat=plain)
    mention = await asyncio.to_thread(_doctor, world)
    world.config["telegram"] = {"groups": "all"}
    async with world.running():
        pass
    every = await asyncio.to_thread(_doctor, world)
    await people.set_bot_status(ADA, club, "administrator")
    mended = await asyncio.to_thread(_doctor, world)

    assert (sorted(mention), sorted(every)) == (["group Club"], ["group Club", "group Plain"])
    assert sorted(mended) == ["group Plain"]
    assert mention["group Club"].startswith("Make the bot an administrator there")
