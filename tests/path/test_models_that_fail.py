"""A model that fails: asked again, or another one steps in. Source: contract, `provider.*`."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from structlog.testing import capture_logs

from aouo.cli.control import ask
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Fails, ModelServer, Says
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, WAIT_S, World


@pytest.fixture
async def clock(world: World) -> FastClock:
    """Makes pauses short."""
    world.install("notes")
    clock = FastClock()
    world.clock = clock
    return clock


@pytest.fixture
async def other(world: World) -> AsyncIterator[ModelServer]:
    """A second model service, which steps in for the first."""
    world.install("notes")
    async with ModelServer() as other:
        world.config = {
            "provider": {
                "backend": "fake",
                "model": "scripted",
                "fallback": [{"backend": "other", "model": "steps-in"}],
            },
            "providers": {
                "fake": {"base_url": world.model.base_url, "api_key": "key"},
                "other": {"base_url": other.base_url},
            },
        }
        yield other


async def test_when_the_primary_fails_the_fallback_answers_and_the_person_sees_one_answer(
    world: World, other: ModelServer
) -> None:
    for _ in range(3):
        world.model.fail(500)
    other.say("Here I am.", usage=(70, 30, 7))
    async with world.running() as bot:
        with capture_logs() as logs:
            answer = await bot.ask("hello")
            await settled(bot)
        usage = await bot.rows(
            "SELECT provider, model, input_tokens, cached_tokens, output_tokens "
            "FROM usage_events WHERE scope = 'llm'"
        )

    assert answer.text == "Here I am."
    assert await answers(world) == ["Here I am."]
    assert (len(world.model.requests), len(other.requests)) == (1, 1)
    assert usage == [
        {
            "provider": "other",
            "model": "steps-in",
            "input_tokens": 70,
            "cached_tokens": 30,
            "output_tokens": 7,
        }
    ]
    events = [line for line in logs if line["event"].startswith("provider_")]
    assert [line["event"] for line in events] == ["provider_error", "provider_failover"]
    assert (events[1]["from"], events[1]["to"]) == ("fake/scripted", "other/steps-in")


async def test_an_answer_that_breaks_off_is_shown_once_and_whole(
    world: World, other: ModelServer
) -> None:
    """The words that were already on the screen are replaced, not continued."""
    world.model.reply(Says("Half of this was", chunks=5, cut_after=4))
    other.say("The whole answer.")
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await bot.people.next_message(ADA, contains="The whole answer.")
        await settled(bot)

    assert await answers(world) == ["The whole answer."]


async def test_when_all_models_fail_the_person_reads_one_sentence(
    world: World, other: ModelServer
) -> None:
    world.model.fail(503)
    other.fail(401)
    async with world.running() as bot:
        with capture_logs() as logs:
            answer = await bot.ask("hello")
            await settled(bot)

        status = await asyncio.to_thread(ask, world.home, "status")

    assert answer.text.startswith("The model service is busy or cannot be reached.")
    assert [(m["model"], m["failures"], m["last_failure"]) for m in status["models"]] == [
        ("scripted", 1, "ProviderBusy"),
        ("steps-in", 1, "ProviderAuth"),
    ]
    assert all(m["cooling_until"] for m in status["models"])
    assert [line["kind"] for line in logs if line["event"] == "provider_error"] == [
        "ProviderBusy",
        "ProviderAuth",
    ]


async def test_without_a_fallback_a_passing_failure_is_waited_out(
    world: World, clock: FastClock
) -> None:
    world.model.fail(429, headers={"Retry-After": "20"})
    world.model.cut(after_chunks=2)
    world.model.say("Now it works.")
    before_s = clock.monotonic_s()
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await bot.people.next_message(ADA, contains="Now it works.")
        await settled(bot)

    assert await answers(world) == ["Now it works."]
    assert len(world.model.requests) == 3
    assert clock.monotonic_s() - before_s >= 20


async def test_a_request_that_is_wrong_is_asked_of_nobody_else(
    world: World, other: ModelServer
) -> None:
    world.model.reply(Fails(400), Fails(400))  # the second one without optional fields
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("The model service does not accept our request")
    assert other.requests == []


async def test_a_request_that_was_too_long_is_no_round(world: World) -> None:
    """With one round allowed the shortened request is still made."""
    world.config = {"advanced": {"max_react_loops": 1}}
    world.model.say("One.")
    world.model.fail(400, {"error": {"code": "context_length_exceeded"}})
    async with world.running() as bot:
        await bot.ask("first " * 50)
        answer = await bot.ask("second")
        await settled(bot)

    assert answer.text == "second"


# What the person reads while a service does not answer


@pytest.fixture
def two_people(world: World, clock: FastClock) -> None:
    """Ada owns the bot; Ben may write to it."""
    world.model.fail(503)
    world.model.stall(after_chunks=0, text="Now it works.")


async def told_while_waiting(world: World, person: int) -> tuple[str, list[str]]:
    """The status line of the second try, and what stands in the chat in the end."""
    async with world.running() as bot:
        await bot.people.say(person, person, "hello")
        line = await bot.people.next_message(person, contains="attempt 2")
        world.model.release.set()
        await said(world, "Now it works.", person)
        await settled(bot)
    return line.text, await answers(world, person)


async def test_from_the_second_try_on_the_person_reads_that_the_service_does_not_answer(
    world: World, two_people: None
) -> None:
    """The line is edited in place, and turns into the answer."""
    line, left = await told_while_waiting(world, BEN)

    assert line == "No answer yet from fake (scripted), attempt 2 of 4 …"
    assert left == ["Now it works."]


async def test_the_owner_reads_why(world: World, two_people: None) -> None:
    line, left = await told_while_waiting(world, ADA)

    assert line == (
        "No answer yet from fake (scripted), which is busy or cannot be reached, attempt 2 of 4 …"
    )
    assert left == ["Now it works."]


async def test_who_steps_in_is_named(world: World, other: ModelServer) -> None:
    world.model.fail(401)
    other.stall(after_chunks=0, text="Here I am.")
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "hello")
        line = await bot.people.next_message(BEN, contains="attempt 2")
        other.release.set()
        await said(world, "Here I am.", BEN)

    assert line.text == (
        "No answer yet from fake (scripted), so I ask other (steps-in), attempt 2 of 2 …"
    )


async def test_without_streaming_nothing_is_said_before_the_answer(
    world: World, two_people: None
) -> None:
    """`streaming: off` is no status message and one `sendMessage`. Source: design §3.6."""
    world.config = {"telegram": {"streaming": "off"}}
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "hello")
        await eventually(lambda: stalls(world))
        assert await answers(world, BEN) == []
        world.model.release.set()
        await said(world, "Now it works.", BEN)
        await settled(bot)

    assert len(await world.people.calls("sendMessage")) == 1
    assert not await world.people.calls("editMessageText")


async def stalls(world: World) -> bool:
    await asyncio.sleep(0)
    return world.model.stalled.is_set()


async def test_words_that_broke_off_stay_while_the_service_is_asked_again(
    world: World, clock: FastClock
) -> None:
    """What goes on stands below them; they give way to the answer when that is as long."""
    half = " ".join(f"half{n}" for n in range(20))
    whole = " ".join(f"word{n}" for n in range(60))
    world.model.reply(Says(half + " more", chunks=5, stall_after=3, cut_after=4))
    world.model.reply(Says(whole, chunks=20, stall_after=(0, 3, 12)))
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "hello")
        await bot.people.next_message(BEN, contains="half0")
        await let_go(world.model)
        waits = await bot.people.next_message(BEN, contains="attempt 2")
        await let_go(world.model)
        short = await bot.people.next_message(BEN, contains="Thinking…")
        await let_go(world.model)
        longer = await bot.people.next_message(BEN, contains="word9")
        world.model.release.set()
        await said(world, whole, BEN)
        await settled(bot)

    assert waits.text.startswith("half0 half1")
    assert short.text.startswith("half0 half1")
    assert "half0" not in longer.text
    assert len(longer.text) >= len(waits.text.partition("\n\n")[0])
    assert await answers(world, BEN) == [whole]


async def let_go(model: ModelServer) -> None:
    """Let an answer that has stalled go on to where it stalls next."""
    async with asyncio.timeout(WAIT_S):
        await model.stalled.wait()
    model.stalled.clear()
    model.release.set()
    model.release.clear()
