"""Several files at once. Source: contract ("An album is complete 1.5 s after its last item")."""

from __future__ import annotations

from typing import Any

import pytest

from aouo.queue.joining import COMPLETE_AFTER_S
from tests.fakes.clock import FastClock
from tests.path.looking import PHOTO_LINE, eventually, prompts, said, settled
from tests.path.media.test_media_pictures import last_words, pictures
from tests.path.world import ADA, BEN, Running, World


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    """Slow enough that nothing is complete before it is jumped."""
    world.install("notes")
    world.config["provider"] = {"backend": "fake", "model": "scripted", "vision": "on"}
    world.clock = clock = FastClock(speed=0.1)
    return clock


def picture(name: str) -> bytes:
    return b"\x89PNG\r\n\x1a\n" + bytes(40) + name.encode()


async def put(bot: Running, album: str, name: str, user: int = ADA, chat: int = 0, **more: Any):
    return await bot.people.send_file(
        user, chat or user, "photo", picture(name), album=album, **more
    )


async def gathered(bot: Running, items: int, albums: int = 1) -> None:
    async def look() -> bool:
        rows = await bot.rows(
            "SELECT json_array_length(body, '$.content.items') AS n FROM jobs "
            "WHERE state = 'gathering'"
        )
        return [len(rows), sum(row["n"] for row in rows)] == [albums, items]

    await eventually(look)


async def test_an_album_is_one_turn_with_every_picture_and_its_caption(
    world: World, clock: FastClock
) -> None:
    world.model.say("Four bicycles.")
    async with world.running() as bot:
        for number in range(4):
            caption = "how many?" if number == 0 else ""
            await put(bot, "a", f"bike {number}", caption=caption)
        await gathered(bot, 4)
        assert world.model.requests == []
        clock.jump(COMPLETE_AFTER_S)
        await said(world, "Four bicycles.")
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [picture(f"bike {number}") for number in range(4)]
    (words,) = (part["text"] for part in last_words(request) if part["type"] == "text")
    assert words == "\n".join(
        (
            "[album: 4 items]",
            *[PHOTO_LINE] * 4,
            "how many?",
        )
    )


async def test_each_item_of_an_album_starts_the_wait_anew(world: World, clock: FastClock) -> None:
    world.model.say("Two.")
    async with world.running() as bot:
        await put(bot, "a", "one")
        await gathered(bot, 1)
        clock.jump(COMPLETE_AFTER_S - 0.5)
        await put(bot, "a", "two")
        await gathered(bot, 2)
        clock.jump(COMPLETE_AFTER_S - 0.5)
        await gathered(bot, 2)
        clock.jump(0.5)
        await said(world, "Two.")

    assert len(world.model.requests) == 1


async def test_several_captions_stay_with_their_pictures(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await put(bot, "a", "one", caption="before")
        await put(bot, "a", "two", caption="after")
        await gathered(bot, 2)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(ADA)

    (words,) = (
        part["text"] for part in last_words(world.model.requests[0]) if part["type"] == "text"
    )
    assert words.splitlines()[1:] == [
        PHOTO_LINE,
        "before",
        PHOTO_LINE,
        "after",
    ]


async def test_a_late_item_is_a_turn_of_its_own_that_names_the_album(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        first = await put(bot, "a", "one")
        await gathered(bot, 1)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(ADA, after=first.id)
        late = await put(bot, "a", "six seconds late")
        await gathered(bot, 1)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(ADA, after=late.id)
        await settled(bot)

    assert pictures(world.model.requests[1]) == [picture("six seconds late")]
    assert "[more of the album sent before: 1 item]" in str(last_words(world.model.requests[1]))


async def test_albums_of_two_people_in_one_group_are_not_mixed(
    world: World, clock: FastClock
) -> None:
    world.config["telegram"] = {"groups": "all"}
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        for number in range(2):
            await put(bot, "a", f"ada {number}", ADA, group)
            await put(bot, "b", f"ben {number}", BEN, group)
        await gathered(bot, 4, albums=2)
        clock.jump(COMPLETE_AFTER_S)

        async def both() -> bool:
            return len(world.model.requests) == 2

        await eventually(both)
        await settled(bot)

    assert [pictures(request) for request in world.model.requests] == [
        [picture(f"{name} {number}") for number in range(2)] for name in ("ada", "ben")
    ]


async def test_in_a_group_the_caption_calls_us_for_the_whole_album(
    world: World, clock: FastClock
) -> None:
    group = await world.people.create_chat("Us", [ADA, BEN])
    async with world.running() as bot:
        await put(bot, "x", "not ours", ADA, group)
        await put(bot, "a", "one", ADA, group, caption="@aouo_try_bot what is it?")
        await put(bot, "a", "two", ADA, group)
        await gathered(bot, 2)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(group)
        await settled(bot)

    (request,) = world.model.requests
    assert pictures(request) == [picture("one"), picture("two")]
    assert "what is it?" in str(last_words(request))
    assert "@aouo_try_bot" not in str(last_words(request))


async def test_words_that_follow_an_album_do_not_overtake_it(
    world: World, clock: FastClock
) -> None:
    async with world.running() as bot:
        await put(bot, "a", "one")
        await gathered(bot, 1)
        await bot.people.say(ADA, ADA, "that was it")
        await said(world, "that was it")

    assert len(world.model.requests) == 2
    assert pictures(world.model.requests[0]) == [picture("one")]
    assert prompts(world)[1] == "that was it"


async def test_an_open_album_outlasts_a_restart(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await put(bot, "a", "one")
        await gathered(bot, 1)
    async with world.running() as bot:
        await put(bot, "a", "two")
        await gathered(bot, 2)
        clock.jump(COMPLETE_AFTER_S)
        await bot.people.next_message(ADA)

    assert pictures(world.model.requests[0]) == [picture("one"), picture("two")]


async def test_a_stop_drops_an_album_that_gathers(world: World, clock: FastClock) -> None:
    async with world.running() as bot:
        await put(bot, "a", "one")
        await gathered(bot, 1)
        await bot.people.say(ADA, ADA, "/stop")
        await said(world, "1 message that waited will not be answered.")
        clock.jump(COMPLETE_AFTER_S)
        await settled(bot)

    assert world.model.requests == []


async def test_one_item_that_cannot_be_had_ends_the_turn_with_one_sentence(
    world: World, clock: FastClock
) -> None:
    clock = FastClock()
    world.clock = clock
    async with world.running() as bot:
        await bot.people.fault("status", method="download", nth=2, times=4, status=500)
        await put(bot, "a", "one")
        await put(bot, "a", "two")
        await said(world, "I could not download your picture. Please send it again in a minute.")
        await settled(bot)

    assert world.model.requests == []
