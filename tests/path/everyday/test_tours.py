"""`/start` shows each pack, a tap begins its tour, three taps do something, the end undoes it."""

from __future__ import annotations

import pytest

from aouo.emulator import ChatMessage
from aouo.words.catalogue import speaking, text
from tests.path.everyday.test_first_days import PACKS, kept
from tests.path.looking import settled
from tests.path.world import ADA, Running, World


@pytest.fixture
def six(world: World) -> World:
    world.install(*PACKS)
    world.config = {"provider": {"backend": "none"}}
    return world


async def tapped(bot: Running, on: ChatMessage, label: str) -> ChatMessage:
    """The newest message once what a tap began is over."""
    data = next(button.data for button in on.buttons if button.text == label)
    await bot.people.tap(ADA, on.chat_id, on.id, data)
    await settled(bot)
    return (await bot.people.messages(ADA))[-1]


@pytest.mark.parametrize("language", ["en", "de"])
async def test_each_pack_is_shown_in_three_taps_and_put_back(six: World, language: str) -> None:
    async with six.running() as bot:
        await bot.ask(f"/language {language}")
        before = await kept(bot)
        with speaking(language):
            end, behind, over = (text(f"tours.{name}") for name in ("button-end", "all", "over"))
        for number, _ in enumerate(PACKS):
            hello = await bot.ask("/start")
            assert len(hello.buttons) == len(PACKS)
            said = await tapped(bot, hello, hello.buttons[number].text)
            for _ in range(3):
                assert [button.text for button in said.buttons][1:] == [end]
                said = await tapped(bot, said, said.buttons[0].text)
            assert said.text.startswith(behind)
            assert await kept(bot) != before

            assert (await tapped(bot, said, end)).text.startswith(over)
            assert await kept(bot) == before


async def test_a_tour_goes_on_after_a_restart(six: World) -> None:
    async with six.running() as bot:
        before = await kept(bot)
        said = await bot.ask("/tour notes")
        said = await tapped(bot, said, said.buttons[0].text)
    async with six.running() as bot:
        assert await kept(bot) != before
        ended = await tapped(bot, said, text("tours.button-end"))
        assert ended.text.startswith(text("tours.over"))
        assert await kept(bot) == before


async def test_a_tour_that_is_not_there_shows_those_that_are(six: World) -> None:
    async with six.running() as bot:
        assert (await bot.ask("/tour nothing")).text == (await bot.ask("/start")).text
