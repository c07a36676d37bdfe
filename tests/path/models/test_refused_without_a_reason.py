"""What a service refuses with 400 or 422, and names nothing: what is tried, in which order, what is
remembered. Ours; the services' words are in tests/providers/test_failures.py.

One ask costs a model that has answered before no more than one refused request, then one with less
history, then one of the model that steps in; each is told as it is only. A model that never
answered is besides asked without what the owner set, with thoughts in its history, and without what
we send on top: four requests, and four with less history. The first of them that is answered is
remembered, and nothing of those that are not.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

import pytest

from tests.fakes.model_server import Body, CallPart, Fails, ModelServer, Reply, Says, last_words
from tests.path.looking import settled
from tests.path.world import Running, World

REFUSED = Fails(400, {"error": {"message": "prompt is too long", "type": "invalid_request_error"}})
LONG = "a long way back " * 60
WARM = {"temperature": 0.7}
NEW = ["as it is", "no temperature", "thoughts", "bare"]


class Service:
    """Refuses while it should, or what is longer than it reads; counts what a turn asked for."""

    def __init__(self) -> None:
        self.refuses = False
        self.reads_chars = 1_000_000
        self.asked: list[str] = []

    def __call__(self, body: Body) -> Reply | str:
        if "What stands between the two marks" in str(body["messages"][0]["content"]):
            return "- A summary."
        self.asked.append(told(body))
        if self.refuses or len(str(body["messages"][1:])) > self.reads_chars:
            return REFUSED
        if last_words(body) == "look":
            return Says(calls=(CallPart("clock", {}),))
        return "ok"


def told(body: Body) -> str:
    """What of the request is other than at first, the history apart."""
    if any("reasoning_content" in message for message in body["messages"]):
        return "thoughts"
    if "stream_options" not in body:
        return "bare"
    return "as it is" if "temperature" in body else "no temperature"


def oldest(model: ModelServer) -> list[bool]:
    """Of each request whether the oldest words go along."""
    return [f"first {LONG[:20]}" in str(body["messages"]) for body in model.requests]


@pytest.fixture
def service(world: World) -> Service:
    service = Service()
    world.install("notes")
    world.model.script = service
    return service


@pytest.fixture
async def other(world: World, service: Service) -> AsyncIterator[ModelServer]:
    """A second model service, which steps in for the first."""
    async with ModelServer(lambda _: "Here I am.") as other:
        provider: dict[str, Any] = {"backend": "fake", "model": "scripted", **WARM}
        world.config = {
            "provider": provider | {"fallback": [{"backend": "other", "model": "steps-in"}]},
            "providers": {
                "fake": {"base_url": world.model.base_url, "api_key": "key"},
                "other": {"base_url": other.base_url},
            },
        }
        yield other


async def talk(bot: Running) -> None:
    for words in ("first", "second", "third"):
        await bot.ask(f"{words} {LONG}")


async def test_a_model_that_never_answered_is_asked_eight_times_and_then_another_one(
    world: World, service: Service, other: ModelServer
) -> None:
    async with world.running() as bot:
        await talk(bot)
    service.refuses, service.asked = True, []
    world.model.requests.clear()
    async with world.running() as bot:  # what was learnt is not written down
        answer = await bot.ask("fourth")
        await settled(bot)
        service.refuses = False
        asked = len(service.asked)
        again = await bot.ask("fifth")

    assert answer.text.startswith("Here I am.")
    assert again.text.startswith("ok")
    assert service.asked == [*NEW, *NEW, "as it is"]
    assert oldest(world.model)[:asked] == [True] * 4 + [False] * 4
    assert len(other.requests) == 1


@pytest.mark.parametrize("calls", [False, True])
async def test_a_model_that_answered_before_is_asked_as_it_is(
    world: World, service: Service, other: ModelServer, calls: bool
) -> None:
    """Thoughts are not missing where a history with calls was taken without them. What the owner
    set stays suspect, for it is theirs to change."""
    async with world.running() as bot:
        await talk(bot)
        if calls:
            await bot.ask("look")
        await bot.ask("and?")
        service.refuses, service.asked = True, []
        answer = await bot.ask("fourth")
        await settled(bot)

    kept = ["as it is", "no temperature"] if calls else ["as it is", "no temperature", "thoughts"]
    assert answer.text.startswith("Here I am.")
    assert service.asked == kept * 2
    assert len(other.requests) == 1


async def test_one_that_nobody_mends_is_said_and_costs_the_session_nothing(
    world: World, service: Service, other: ModelServer
) -> None:

    def refuses(_: Body) -> Reply:
        return REFUSED

    other.script = refuses
    async with world.running() as bot:
        await talk(bot)
        service.refuses = True
        answer = await bot.ask("fourth")
        service.refuses = False
        await bot.ask("fifth")
        summaries = await bot.rows("SELECT id FROM summaries")

    assert answer.text.startswith("The model service does not accept our request")
    assert oldest(world.model)[-1]
    assert summaries == []


async def test_what_less_history_mends_is_summarised_from_the_second_turn_on_end(
    world: World, service: Service
) -> None:
    """A refusal without a reason that does not come again is an accident, and no length."""
    summaries: list[int] = []
    async with world.running() as bot:
        await talk(bot)
        for words, reads in (
            ("accident", 3_000),
            ("fine", 1_000_000),
            ("too long", 3_000),
            ("again", 3_000),
            ("by now", 3_000),
        ):
            service.reads_chars = reads
            answer = await bot.ask(words)
            await settled(bot)
            summaries.append(len(await bot.rows("SELECT id FROM summaries")))

            told = answer.text.removeprefix("ok")
            # Said once a session, where the history was left out for the first time.
            assert told.startswith("\n\n(Answered without the ") == (words == "accident")

    assert summaries == [0, 0, 0, 0, 1]


async def test_what_another_model_answers_says_nothing_of_the_length(
    world: World, service: Service, other: ModelServer
) -> None:
    async with world.running() as bot:
        await talk(bot)
        service.refuses = True
        for words in ("fourth", "fifth", "sixth"):
            await bot.ask(words)
        await settled(bot)
        summaries = await bot.rows("SELECT id FROM summaries")

    assert len(other.requests) == 3
    assert summaries == []


async def test_numbers_that_speak_of_the_size_are_no_matter_of_thoughts(
    world: World, service: Service
) -> None:
    """vLLM's words name a window: less room is asked for at once (github.com/ogx-ai/ogx#4534)."""
    words = (
        "This model's maximum context length is 16384 tokens. However, you requested 20000 tokens "
        "(3616 in the messages, 16384 in the completion)."
    )

    def rule(body: Body) -> Reply | str:
        full = body["max_tokens"] > 16_384 - 3_616
        return Fails(400, {"error": {"message": words}}) if full else service(body)

    world.model.script = rule
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text == "ok"
    assert [body["max_tokens"] for body in world.model.requests] == [16_384, 12_768]
