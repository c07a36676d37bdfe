"""`/model` changes which model answers in a conversation, until it is changed again.

Source: issue 29 "/model".
"""

from __future__ import annotations

import pytest

from aouo.emulator import FAMILY, ChatMessage
from aouo.words.catalogue import text
from tests.path.looking import settled
from tests.path.reloading.following import reload, save
from tests.path.world import ADA, BEN, Running, World

SMALL = {"backend": "fake", "model": "small"}


@pytest.fixture(autouse=True)
def offered(world: World) -> None:
    world.config = {
        "models": {"offered": [SMALL]},
        "budgets": {"prices": {"small": {"input": 0.1, "output": 0.4}}},
    }


def asked(world: World) -> list[tuple[str, str]]:
    """The model of each request, and how much it was to think."""
    return [(body["model"], body.get("reasoning_effort", "")) for body in world.model.requests]


async def tapped(bot: Running, on: ChatMessage, label: str) -> ChatMessage:
    data = next(one.data for one in on.buttons if one.text == label)
    await bot.people.tap(ADA, on.chat_id, on.id, data)
    await settled(bot)
    return next(one for one in await bot.people.messages(on.chat_id) if one.id == on.id)


async def test_a_tap_changes_the_model_and_a_restart_keeps_it(world: World) -> None:
    async with world.running() as bot:
        shown = await bot.ask("/model")
        assert shown.text.startswith("scripted answers here.")
        assert "• fake:small: 32 k tokens, sees no pictures, $0.10 in, $0.40 out" in shown.text
        chosen = await tapped(bot, shown, "small")
        assert chosen.text.startswith("From the next answer on, small answers here")
        await bot.ask("one")
    async with world.running() as bot:
        await bot.ask("two")
        await bot.ask("here", chat=BEN, user=BEN)
        usual = await tapped(bot, await bot.ask("/model"), text("models.button-usual"))
        assert "scripted answers here" in usual.text
        await bot.ask("three")

    assert [model for model, _ in asked(world)] == ["small", "small", "scripted", "scripted"]


async def test_a_name_or_a_part_of_it_chooses_with_how_much_it_thinks(world: World) -> None:
    async with world.running() as bot:
        said = await bot.ask("/model sma high")
        assert "small (high) answers here" in said.text
        await bot.ask("one")
        unknown = await bot.ask("/model huge")
        assert unknown.text.startswith("“huge” is not one of these models: fake:scripted, fake:")
        await bot.ask("/model usual")
        await bot.ask("two")

    assert asked(world) == [("small", "high"), ("scripted", "")]


async def test_it_is_the_groups_own_and_only_the_owner_chooses(world: World) -> None:
    async with world.running() as bot:
        name = (await world.people.act("state"))["bot"]["username"]
        refused = await bot.ask(f"/model@{name} small", chat=FAMILY, user=BEN)
        assert refused.text == text("models.choose-owners")
        seen = await bot.ask(f"/model@{name}", chat=FAMILY, user=BEN)
        assert not seen.buttons
        await bot.ask(f"/model@{name} small", chat=FAMILY)
        await bot.ask(f"@{name} one", chat=FAMILY, user=BEN)
        await bot.ask("two")
        save(world, models={"offered": [SMALL], "chosen_by": "everybody"})
        await reload(world)
        allowed = await bot.ask("/model small", user=BEN)
        assert "small answers here" in allowed.text

    assert [model for model, _ in asked(world)] == ["small", "scripted"]


async def test_without_a_model_it_says_how_one_is_connected(world: World) -> None:
    """Also while there is a key: nothing is offered that would not answer."""
    world.config = {"provider": {"backend": "none"}, "openai": {"api_key": "key"}}
    async with world.running() as bot:
        assert (await bot.ask("/model")).text == text("models.choose-connect")
        assert (await bot.ask("/model gpt", user=BEN)).text == text("models.choose-none")
