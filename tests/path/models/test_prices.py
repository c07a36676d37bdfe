"""What is not paid for by tokens has a price, too. Source: issue 15, "Usage"."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.fakes.models import ModelService, profile
from tests.fakes.models.asked import _NOTE
from tests.fakes.web_server import Answer, WebServer
from tests.path.looking import said, settled
from tests.path.reloading.following import ask_for, save
from tests.path.world import ADA, Running, World

KEY = "sk-of-the-owner"
PACK = """
name: desk
version: 1.0.0
display_name: Desk
permissions: {tools: [msg, web, voice]}
"""


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    """One that may search and speak."""
    folder = world.home.packs / "desk"
    folder.mkdir()
    (folder / "pack.yml").write_text(PACK)


async def costs(bot: Running, scope: str) -> list[tuple[float, bool]]:
    """What the calls cost, and whether nobody knew."""
    await settled(bot)
    found = await bot.rows("SELECT cost_usd, unpriced FROM usage_events WHERE scope = ?", scope)
    return [(round(row["cost_usd"], 12), bool(row["unpriced"])) for row in found]


@pytest.mark.parametrize(
    ("budgets", "cost"),
    [({"prices_per_minute": {"whisper-large-v3-turbo": 0.6}}, (0.01, False)), ({}, (0.0, True))],
)
async def test_listening_costs_its_minutes(
    world: World, budgets: dict[str, Any], cost: tuple[float, bool]
) -> None:
    """The emulator's voice note is a second long; its service is on this machine, so the catalogue
    has no price for it."""
    async with ModelService(profile("groq"), api_key=KEY) as ears:
        ears.say("buy milk")
        world.model.say("Noted.")
        world.config = {
            "budgets": budgets,
            "stt": {"backend": "groq"},
            "groq": {"base_url": ears.url, "api_key": KEY},
        }
        async with world.running() as bot:
            await bot.people.send_file(ADA, ADA, "voice", _NOTE)
            await said(world, "Noted.")
            found = await costs(bot, "stt")

    assert found == [cost]


@pytest.mark.parametrize(
    ("budgets", "cost"),
    [({"prices_per_million_characters": {"tts-1": 15}}, (0.00018, False)), ({}, (0.0, True))],
)
async def test_speaking_costs_its_characters(
    world: World, budgets: dict[str, Any], cost: tuple[float, bool]
) -> None:
    async with ModelService(profile("openai"), api_key=KEY) as voices:
        voices.raw(_NOTE, content_type="audio/ogg")
        world.model.call("tts", {"text": "Good morning"})
        world.model.say("Said.")
        world.config = {
            "budgets": budgets,
            "tts": {"backend": "openai", "model": "tts-1"},
            "openai": {"base_url": f"{voices.url}/v1", "api_key": KEY},
        }
        async with world.running() as bot:
            await bot.people.say(ADA, ADA, "Say good morning")
            await bot.people.next_message(ADA, contains="Said.")
            found = await costs(bot, "tts")

    assert found == [cost]


@pytest.mark.parametrize(
    ("budgets", "costs_of_one"),
    [({"prices_per_call": {"web_search": 0.008}}, (0.008, False)), ({}, (0.0, True))],
)
async def test_a_search_costs_once_and_its_repetition_nothing(
    world: World, budgets: dict[str, Any], costs_of_one: tuple[float, bool]
) -> None:
    async with WebServer() as service:
        service.pages["/search"] = Answer(
            json.dumps({"answer": "Rain."}).encode(), "application/json"
        )
        url = f"http://127.0.0.1:{service.port}"
        world.config = {
            "budgets": budgets,
            "tools": {"web_search": {"api_key": "tvly-1", "base_url": url}},
        }
        for _ in range(2):
            world.model.call("web_search", {"query": "weather"})
            world.model.say("done")
        async with world.running() as bot:
            await bot.ask("go")
            await bot.ask("again")
            found = await costs(bot, "tool:web_search")

    assert len(service.requests) == 1
    assert found == [costs_of_one, (0.0, False)]


async def test_a_budget_that_is_set_while_the_bot_runs_names_what_has_no_price(
    world: World,
) -> None:
    async with world.running() as bot:
        before = (await ask_for(world, "status"))["concerns"]
        save(world, budgets={"daily_usd": 5}, tools={"web_search": {"api_key": "tvly-1"}})
        model = await bot.people.next_message(ADA, contains="scripted has no price")
        search = await bot.people.next_message(ADA, contains="web_search has no price")
        after = (await ask_for(world, "status"))["concerns"]

    assert before == []
    assert model.text == (
        "About my model: a budget is set and scripted has no price: nothing is asked. "
        "Set budgets.prices.scripted, or take the budget away."
    )
    assert "budgets.prices_per_call.web_search" in search.text
    assert len(after) == 2
