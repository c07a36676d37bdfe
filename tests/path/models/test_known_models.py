"""What is known of a model is asked of its server, and the owner is told what matters (issue 12,
"Known, not guessed")."""

from __future__ import annotations

from typing import Any

import pytest

from aouo.providers.fallback import models_in
from aouo.providers.known.knowing import KnownModel
from tests.fakes.gemini_server import GeminiServer
from tests.fakes.model_server import Fails
from tests.path.looking import eventually, said, settled
from tests.path.media.test_media_pictures import PICTURE, last_words, pictures, show
from tests.path.world import ADA, Running, World, texts

ENDS = {"data": [{"id": "scripted", "shutdown_date": "2027-01-14", "max_model_len": 16_384}]}
SMALL = {"models": [{"name": "scripted:latest", "context_length": 4096}]}
HINT = "OLLAMA_CONTEXT_LENGTH=16384 ollama serve"


@pytest.fixture(autouse=True)
def pack(world: World) -> None:
    world.install("notes")


def first(bot: Running) -> KnownModel:
    model = models_in(bot.app.generations.now.model)[0]
    assert isinstance(model, KnownModel)
    return model


async def heard_of(bot: Running, words: str) -> list[str]:
    """The bot's messages, once one of them has these words."""

    async def look() -> list[str] | None:
        found = texts(await bot.people.messages(ADA))
        return found if any(words in text for text in found) else None

    return await bot.people.until(look)


async def status(bot: Running) -> dict[str, Any]:
    return await bot.runtime.status()


async def test_a_model_that_will_end_is_told_to_the_owner_once_and_said_by_status(
    world: World,
) -> None:
    world.model.says["/v1/models"] = ENDS
    sentence = "fake says that scripted ends on 14 January 2027"
    async with world.running() as bot:
        await heard_of(bot, sentence)
        told = await status(bot)
        assert first(bot).context_window == 16_384
    async with world.running() as bot:
        await eventually(lambda: asked(bot))
        await bot.ask("hello")
        await settled(bot)
        found = texts(await bot.people.messages(ADA))

    assert told["concerns"] == [f"{sentence}. Set provider.model to another one before that day."]
    assert told["models"][0]["window_tokens"] == 16_384
    assert sum(sentence in text for text in found) == 1


async def asked(bot: Running) -> bool:
    return first(bot).facts.told is not None


async def test_ollama_that_cuts_in_silence_is_found_once_it_has_loaded_the_model(
    world: World,
) -> None:
    """Below 24 GiB of video memory Ollama gives 4,096 tokens, whatever a request says."""
    world.model.says |= {
        "/v1/models": {"data": [{"id": "scripted:latest", "owned_by": "library"}]},
        "/api/show": {
            "capabilities": ["completion", "tools"],
            "model_info": {"qwen3.context_length": 40_960},
        },
        "/api/ps": {"models": []},
    }
    async with world.running() as bot:
        await eventually(lambda: asked(bot))
        assert first(bot).context_window == 40_960
        assert not first(bot).sees
        world.model.says["/api/ps"] = SMALL
        await bot.ask("hello")
        found = await heard_of(bot, HINT)

        assert first(bot).context_window == 4_096
    assert sum("Ollama gives scripted 4,096 tokens" in text for text in found) == 1


async def test_a_price_that_only_the_server_says_is_what_an_answer_costs(world: World) -> None:
    """As OpenRouter says it: text, in dollars for one token."""
    price = {"prompt": "0.000002", "completion": "0.00001"}
    world.model.says["/v1/models"] = {"data": [{"id": "scripted", "pricing": price}]}
    world.config["budgets"] = {"daily_usd": 5}
    world.model.say("Hello!", usage=(1_000, 0, 100))
    async with world.running() as bot:
        await eventually(lambda: asked(bot))
        await bot.ask("hello")
        await settled(bot)
        (row, *_) = await bot.rows("SELECT cost_usd FROM usage_events WHERE scope = 'llm'")

    assert row["cost_usd"] == pytest.approx(0.003)


@pytest.mark.parametrize(
    "answer",
    [
        "<html>It works!</html>",
        {"data": [{"id": f"vendor/m{n}", "context_length": 9} for n in range(5_000)]},
        {"data": [{"id": "scripted", "context_length": -1, "architecture": "?"}]},
        [["scripted"]],
        "",
    ],
)
async def test_whatever_the_list_of_models_is_people_are_answered(
    world: World, answer: object
) -> None:
    world.model.says["/v1/models"] = answer
    async with world.running() as bot:
        reply = await bot.ask("hello")
        await settled(bot)

        assert first(bot).context_window == 32_768
    assert "hello" in reply.text


async def test_a_model_that_refuses_a_picture_says_so_and_gets_no_other_one(world: World) -> None:
    """`vision: auto` shows a picture to a model that nobody knows. vLLM's words."""
    body = {"object": "error", "message": "scripted is not a multimodal model", "code": 400}
    world.model.reply(Fails(400, body))
    world.model.say("I cannot see pictures.")
    async with world.running() as bot:
        await show(bot, caption="what is this?")
        await said(world, "I cannot see pictures.")
        await settled(bot)
        await show(bot, caption="and this?")
        answer = await heard_of(bot, "gemini.vision_model")

    shown, retold = world.model.requests
    assert pictures(shown) == [PICTURE]
    assert pictures(retold) == []
    assert "You cannot see pictures: say so" in last_words(retold)
    assert "another model" not in last_words(retold)
    assert answer


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (413, "<html><h1>413 Request Entity Too Large</h1></html>"),
        (413, {"error": {"type": "request_too_large", "message": "Request too large"}}),
        (400, {"error": {"message": "image exceeds 5 MB maximum: 8 bytes > 5 bytes"}}),
        (400, {"error": {"message": "unsupported", "code": "invalid_image_format"}}),
    ],
)
async def test_a_picture_that_is_not_taken_is_told_of_and_costs_no_history(
    world: World, status: int, body: object
) -> None:
    """It is the picture that is too large, so no older message makes room for it, and the next
    picture is shown again. Anthropic's words: anthropics/claude-code#19631 of January 2026."""
    world.model.say("One.")
    world.model.reply(Fails(status, body))
    world.model.say("Your service did not take it.")
    world.model.say("A bicycle.")
    async with world.running() as bot:
        await bot.ask("one")
        await settled(bot)
        await show(bot, caption="what is this?")
        await said(world, "Your service did not take it.")
        await settled(bot)
        await show(bot, caption="and this?")
        await said(world, "A bicycle.")
        await settled(bot)

    refused, retold, again = world.model.requests[1:]
    assert [pictures(one) for one in (refused, retold, again)] == [[PICTURE], [], [PICTURE]]
    assert retold["messages"][:-1] == refused["messages"][:-1]
    assert "did not take it" in last_words(retold)


async def test_a_model_thought_to_see_that_refuses_leaves_the_next_picture_to_another(
    world: World,
) -> None:
    """By its name it sees; this server has it without eyes. llama.cpp's words."""
    message = "image input is not supported - hint: you may need to provide the mmproj"
    world.config["provider"] = {"backend": "fake", "model": "gemma3:12b"}
    world.model.reply(Fails(500, {"error": {"code": 500, "message": message}}))
    world.model.say("I cannot see it; send it again.")
    async with GeminiServer(api_key="g-key") as eyes:
        world.config["gemini"] = {
            "base_url": eyes.base_url,
            "api_key": "g-key",
            "vision_model": "gemini-3.5-flash-lite",
        }
        eyes.say("A red bicycle against a wall.")
        async with world.running() as bot:
            await show(bot, caption="what is this?")
            await said(world, "I cannot see it; send it again.")
            await settled(bot)
            world.model.say("A bicycle.")
            await show(bot, caption="again")
            await said(world, "A bicycle.")
            await settled(bot)

    _, retold, described = world.model.requests
    assert "When it is sent once more, another model describes it" in last_words(retold)
    assert "A red bicycle against a wall." in last_words(described)
