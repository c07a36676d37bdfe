"""A conversation with Gemini, whose own form of its turns has to come back to it."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest

from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_server import CallPart, Says
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
        Says("One moment.", (CallPart("memory", {"target": "user", "action": "read"}, "fc-0"),),
               thoughts="What do I know?", signature="c2lnLTE="),
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
    assert first["contents"][-1]["parts"][-1]["text"].endswith("]\n\nWhat do you know of me?")
    call = second["contents"][-2]["parts"][-1]
    assert (call["thoughtSignature"], call["functionCall"]["id"]) == ("c2lnLTE=", "fc-0")
    assert second["contents"][-1]["parts"][0]["functionResponse"]["id"] == "fc-0"
    replayed = [part for content in third["contents"] for part in content["parts"]]
    assert [p["thoughtSignature"] for p in replayed if "thoughtSignature" in p] == ["c2lnLTE="]


async def test_the_signature_of_an_answer_survives_too(world: World, gemini: GeminiServer) -> None:
    """Without it the service answers worse, says its documentation of thought signatures."""
    gemini.reply(Says("Seven.", thoughts="Let me count.", signature="c2lnLTI="))
    gemini.say("As I said: seven.")

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "How many?")
        await bot.people.next_message(ADA, contains="Seven.")
        await bot.people.say(ADA, ADA, "Sure?")
        await bot.people.next_message(ADA, contains="As I said")

    replayed = [part for content in gemini.requests[1]["contents"] for part in content["parts"]]
    assert [p["thoughtSignature"] for p in replayed if "thoughtSignature" in p] == ["c2lnLTI="]


async def test_an_answer_with_a_secret_comes_back_without_it(
    world: World, gemini: GeminiServer
) -> None:
    gemini.reply(Says(f"The key is {KEY}.", thoughts="Hm.", signature="c2lnLTM="))

    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "What is the key?")
        await bot.people.next_message(ADA, contains="The key is")
        await bot.people.say(ADA, ADA, "Sure?")
        await bot.people.next_message(ADA, contains="Sure?")

    assert KEY not in str(gemini.requests[1])
