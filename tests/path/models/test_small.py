"""A cheaper model answers what names it; what is chosen in the chat stands above it.

Source: contract, `models`; issue 29, "/model".
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from functools import partial

import pytest

from tests.fakes.model_server import Body, ModelServer
from tests.path.looking import eventually, settled
from tests.path.schedules.scheduled import made
from tests.path.world import Running, World


@pytest.fixture
async def cheap(world: World) -> AsyncIterator[ModelServer]:
    world.install("notes", "vocab")
    async with ModelServer(lambda _: "Small.") as server:
        world.config = {
            "provider": {"backend": "fake", "model": "scripted"},
            "providers": {
                "fake": {"base_url": world.model.base_url, "api_key": "key"},
                "cheap": {"base_url": server.base_url},
            },
            "models": {
                "small": {"backend": "cheap", "model": "tiny"},
                "offered": [{"backend": "cheap", "model": "other"}],
            },
        }
        yield server


def usual(body: Body) -> str:
    del body
    return "Usual."


async def ran(bot: Running) -> bool:
    titled = await bot.rows("SELECT 1 FROM usage_events WHERE scope = 'title'")
    return bool(titled and await bot.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'"))


async def test_a_pack_has_its_model_until_another_is_chosen_here(
    world: World, cheap: ModelServer
) -> None:
    world.config["packs"] = {"models": {"notes": "small"}}
    world.model.script = usual
    async with world.running() as bot:
        await bot.ask("/use notes")
        small = await bot.ask("what about plums?")
        await bot.ask("/model fake:scripted")
        chosen = await bot.ask("what about figs?")
        await bot.ask("/model usual")
        again = await bot.ask("what about pears?")
        await bot.ask("/use vocab")
        other = await bot.ask("what about quinces?")
        used = await bot.rows("SELECT DISTINCT provider FROM usage_events WHERE scope = 'llm'")

    texts = [one.text.partition("\n")[0] for one in (small, chosen, again, other)]
    assert texts == ["Small.", "Usual.", "Small.", "Usual."]
    assert {row["provider"] for row in used} == {"cheap", "fake"}


@pytest.mark.parametrize("named", [True, False])
async def test_schedules_and_titles_are_for_the_small_one_if_they_name_it(
    world: World, cheap: ModelServer, named: bool
) -> None:
    if named:
        world.config |= {"cron": {"model": "small"}, "memory": {"model": "small"}}
    world.model.script = usual
    async with world.running() as bot:
        await bot.ask("/use notes")
        for fruit in ("plums", "figs", "pears"):
            await bot.ask(f"what about {fruit}?")
        await settled(bot)
        await made(bot, in_s=0.1, pack="notes", prompt="look")
        await eventually(partial(ran, bot))
        rows = await bot.rows("SELECT scope, model FROM usage_events WHERE scope <> 'tool'")
    models = {(row["scope"], row["model"]) for row in rows}

    assert ("llm", "scripted") in models
    assert (("title", "tiny") in models) == named
    assert (("llm", "tiny") in models) == named
