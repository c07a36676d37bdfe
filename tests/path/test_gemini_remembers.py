"""A conversation with Gemini, whose own form of its turns has to come back to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.gemini_server import GeminiServer, Thinks
from tests.fakes.model_server import CallPart
from tests.path.world import ADA, World

KEY = "AIza-very-secret"


@pytest.fixture
async def gemini(world: World) -> AsyncIterator[GeminiServer]:
    async with GeminiServer(api_key=KEY) as server:
        world.install("notes")
        world.config = {
            "provider": {"backend": "gemini", "model": "gemini-3-flash", "max_retries": 0},
            "gemini": {"base_url": server.base_url, "api_key": KEY},
        }
        yield server


async def test_the_signature_of_a_call_survives_its_turn_and_a_restart(
    world: World, gemini: GeminiServer
) -> None:
    """The service refuses a request whose calls lost their signatures (ai.google.dev,
    thought signatures), and so does the fake."""
    gemini.reply(
        Thinks("One moment.", (CallPart("memory", {"target": "user", "action": "read"}),),
               thoughts="What do I know?", signature="c2lnLTE=", call_ids=True),
    )  # fmt: skip
    gemini.say("I know nothing of you.")
    gemini.say("As I said: nothing.")

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "What do you know of me?")
        await bot.people.next_message(ADA, contains="I know nothing of you.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "And now?")
        await bot.people.next_message(ADA, contains="As I said: nothing.")

    first, second, third = gemini.requests
    assert first["contents"][-1]["parts"][-1] == {"text": "What do you know of me?"}
    call = second["contents"][-2]["parts"][-1]
    assert (call["thoughtSignature"], call["functionCall"]["id"]) == ("c2lnLTE=", "fc-0")
    assert second["contents"][-1]["parts"][0]["functionResponse"]["id"] == "fc-0"
    replayed = [part for content in third["contents"] for part in content["parts"]]
    assert [p["thoughtSignature"] for p in replayed if "thoughtSignature" in p] == ["c2lnLTE="]
