"""A model that fails: asked again, or another one steps in. Source: contract, `provider.*`."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator
from datetime import timedelta
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from structlog.testing import capture_logs

from aouo.facts.transcript import ModelEvent, ModelRequest, TextDelta
from aouo.plumbing.client import ask
from tests.fakes.chat_model import EchoModel
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, Fails, ModelServer, Reply, Says, last_words
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


STEPPED_IN = "\n\n(steps-in answered: scripted gives no answer now.)"
HERE = f"Here I am.{STEPPED_IN}"


class Unfinished(EchoModel):
    """Begins, and ends without an end."""

    async def stream(self, request: ModelRequest) -> AsyncGenerator[ModelEvent]:
        async for event in super().stream(request):
            if isinstance(event, TextDelta):
                yield event


async def test_a_stream_that_ends_without_an_end_is_a_failure_of_the_model(world: World) -> None:
    world.install("notes")
    world.chat_model = Unfinished()
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await settled(bot)
        ended = await bot.rows("SELECT status FROM turns")

    assert "The model service failed." in answer.text
    assert ended == [{"status": "nack"}]


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

    assert answer.text == HERE
    assert await answers(world) == [HERE]
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


async def test_who_steps_in_is_said_once_and_so_is_who_is_back(
    world: World, other: ModelServer
) -> None:
    world.clock = clock = FastClock()

    def answering(body: Body) -> Reply:
        return Fails(500) if last_words(body) in ("one", "two") else Says("Mine.")

    world.model.script = answering
    for _ in range(2):
        other.say("Here I am.")
    said = list[str]()
    async with world.running() as bot:
        for word in ("one", "two", "three", "four"):
            said.append((await bot.ask(word)).text)
            clock.jump(7200)

    back = "Mine.\n\n(scripted answers again.)"
    assert said == [HERE, "Here I am.", back, "Mine."]


async def test_an_error_nested_deeper_than_anybody_reads_is_an_error_like_any_other(
    world: World, other: ModelServer
) -> None:
    """JSON of 100,000 levels ends Python's own reader, not the turn."""
    world.model.fail(500, '{"error":' + "[" * 100_000)
    other.say("Here I am.")
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text == HERE


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

    assert await answers(world) == [f"The whole answer.{STEPPED_IN}"]


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
    world.model.fail(400, invalid("…", param="tools[0].function.name", code="invalid_value"))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("The model service does not accept our request")
    assert other.requests == []


async def test_a_model_without_tools_is_asked_once_and_the_owner_reads_what_to_choose(
    world: World,
) -> None:
    """Nothing that is left out of the request would make it take them."""
    error = {"error": {"message": "registry.ollama.ai/library/gemma3:4b does not support tools"}}
    world.model.fail(400, error)
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await settled(bot)

    assert answer.text.startswith("The model takes no tools at this address, and I work with them.")
    assert "provider.model" in answer.text
    assert len(world.model.requests) == 1


async def test_where_one_model_takes_no_tools_another_one_answers(
    world: World, other: ModelServer
) -> None:
    world.model.fail(404, {"error": {"message": "No endpoints found that support tool use."}})
    other.say("Here I am.")
    async with world.running() as bot:
        assert (await bot.ask("hello")).text == HERE


async def test_a_request_that_was_too_long_is_no_round(world: World) -> None:
    """With one round allowed the shortened request is still made."""
    world.config = {"advanced": {"max_react_loops": 1}}
    world.model.say("One.")
    world.model.fail(400, {"error": {"code": "context_length_exceeded"}})
    async with world.running() as bot:
        await bot.ask("first " * 50)
        answer = await bot.ask("second")
        await settled(bot)

    assert answer.text == (
        "second\n\n(Answered without the 2 messages before: the model's service refused them.)"
    )


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
        await said(world, HERE, BEN)

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


# What the person reads of failures that waiting does not mend, and the owner besides


def invalid(message: str, **more: object) -> dict[str, object]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


MINUTE = {
    "error": {
        "message": "Request too large on tokens per minute (TPM): Limit 8000, Requested 20000",
        "type": "tokens",
        "code": "rate_limit_exceeded",
    }
}
MEMORY = {
    "error": {
        "message": "model requires more system memory (5.3 GiB) than is available (4.4 GiB)",
        "type": "api_error",
        "param": None,
        "code": None,
    }
}
GONE = invalid("The model `scripted` has been decommissioned", code="model_decommissioned")
REGION = {"error": {"code": "unsupported_country_region_territory", "message": "Country"}}


@pytest.mark.parametrize(
    ("status", "body", "ben_reads", "ada_reads"),
    [
        (
            400,
            GONE,
            "The model service has no model “scripted”, or not for our key. The owner has to "
            "choose another one.",
            "The model service has no model “scripted”, or not for our key. It has: scripted-2, "
            "script. Choose one with provider.model in config.json.",
        ),
        (
            403,
            REGION,
            "The model service does not serve the country that our requests come from. The owner "
            "has to change that.",
            "The model service does not serve the country that our requests come from. Let me run "
            "in another one, go through a proxy there (HTTPS_PROXY), or use another service. With "
            "Gemini an account with billing may be enough.",
        ),
        (
            404,
            "<html>Welcome to nginx!</html>",
            "The model's address is answered by something that is no model service. The owner "
            "finds out more with: aouo doctor",
            "The model's address is answered by something that is no model service. Look at the "
            "provider's base_url in config.json (most end in /v1), and whether a login page of "
            "this network stands before it. The log has what came, under ",
        ),
        (
            407,
            "Proxy Authentication Required",
            "A proxy before the model service does not let me through. The owner finds out more "
            "with: aouo doctor",
            "I told the model service nothing: the proxy on the way asks for a password, or "
            "refuses the one it was told: write user:password@ before its host, in telegram.proxy "
            "or the environment's variable.",
        ),
        (
            500,
            MEMORY,
            "The machine that the model runs on says that it cannot run it now. The owner finds "
            "out more with: aouo doctor",
            "The machine that the model runs on says that it cannot run it now. Load it there, if "
            "it is not. If memory is short, end other programs there, give the model a smaller "
            "window (in Ollama: OLLAMA_CONTEXT_LENGTH), or choose a smaller one with "
            "provider.model in config.json.",
        ),
    ],
    ids=["model", "region", "page", "proxy", "memory"],
)
async def test_what_the_owner_has_to_change_is_said_to_both_in_their_words(
    world: World, clock: FastClock, status: int, body: object, ben_reads: str, ada_reads: str
) -> None:
    del clock
    names = ("gpt-6-luna", "script", "scripted-2")
    world.model.says["/v1/models"] = {"data": [{"id": name} for name in names]}
    each = 2 if body is MEMORY else 1  # what may have been loaded meanwhile is asked once more
    for _ in range(2 * each):
        world.model.fail(status, body)
    async with world.running() as bot:
        await bot.people.say(BEN, BEN, "hello")
        bens = await bot.people.next_message(BEN, contains="The ")
        await settled(bot)
        adas = await bot.ask("hello")

    assert bens.text == ben_reads
    assert adas.text.startswith(ada_reads)
    assert len(world.model.requests) == 2 * each


@pytest.mark.parametrize("status", [400, 403, 404, 407])
async def test_where_waiting_is_hopeless_the_fallback_answers(
    world: World, other: ModelServer, status: int
) -> None:
    told: dict[int, object] = {400: GONE, 403: REGION, 404: "<html>", 407: "a password, please"}
    world.model.fail(status, told[status])
    other.say("Here I am.")
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text == HERE
    assert len(world.model.requests) == 1


async def test_a_quota_of_the_day_is_not_asked_again_and_its_hour_is_named(
    world: World, clock: FastClock
) -> None:
    """The hour is the bot's own; source: OpenRouter's limit `free-models-per-day`."""
    world.config = {"cron": {"timezone": "Asia/Tokyo"}}
    world.model.fail(429, invalid("free-models-per-day"), headers={"Retry-After": "10800"})
    world.model.fail(429, headers={"Retry-After": "86400"})
    async with world.running() as bot:
        quota = await bot.ask("hello")
        opens = (clock.now() + timedelta(hours=3)).astimezone(ZoneInfo("Asia/Tokyo"))
        day = await bot.ask("hello?")

    hours = {f"{opens - timedelta(minutes=late):%H:%M}" for late in range(3)}
    assert quota.text.startswith("The model service's quota for today is used up; it begins anew")
    assert quota.text.partition("anew at ")[2][:5] in hours
    assert day.text.startswith("The model service takes none of our requests before ")
    assert " on " in day.text.partition(". ")[0]
    assert len(world.model.requests) == 2


async def test_a_plan_with_few_tokens_a_minute_gets_less_room_and_keeps_the_history(
    world: World,
) -> None:
    """Groq counts the prompt and the room for the answer. What was learnt is kept."""
    world.install("notes")
    world.model.say("One.")
    world.model.fail(413, MINUTE)
    async with world.running() as bot:
        await bot.ask("first")
        second = await bot.ask("second")
        third = await bot.ask("third")
        summaries = await bot.rows("SELECT id FROM summaries")

    room = [request["max_tokens"] for request in world.model.requests]
    assert (second.text, third.text) == ("second", "third")
    assert room[0] == room[1] == 16_384
    assert 1_024 <= room[2] == (8_000 - (20_000 - 16_384)) // 2
    assert 1_024 <= room[3] <= 4_000
    assert [m["content"] for m in world.model.requests[3]["messages"]].count("first") == 1
    assert summaries == []


async def test_a_request_above_a_plans_minute_is_said_and_not_summarised(world: World) -> None:
    world.install("notes")
    world.model.say("One.")
    for _ in range(4):
        world.model.fail(413, MINUTE)
    async with world.running() as bot:
        await bot.ask("first")
        adas = await bot.ask("second")
        await bot.people.say(BEN, BEN, "hello")
        bens = await bot.people.next_message(BEN, contains="plan's tokens per minute")
        summaries = await bot.rows("SELECT id FROM summaries")

    assert adas.text.startswith("This takes more than your plan's tokens per minute")
    assert bens.text.startswith("This takes more than this bot's plan's tokens per minute")
    assert summaries == []
    assert len(world.model.requests) == 5


async def test_a_call_that_nobody_can_read_is_asked_for_once_more(
    world: World, clock: FastClock
) -> None:
    """Groq's `tool_use_failed`, with its status or inside a stream."""
    stumbles = invalid("Failed to call a function.", code="tool_use_failed", failed_generation="<")
    world.model.fail(400, stumbles)
    world.model.say("Fine.")
    for _ in range(2):
        event = json.dumps({"error": {**cast("Any", stumbles["error"]), "status_code": 400}})
        world.model.raw(b"event: error\ndata: " + event.encode() + b"\n\n")
    async with world.running() as bot:
        fine = await bot.ask("hello")
        stumbled = await bot.ask("hello?")

    assert fine.text == "Fine."
    assert stumbled.text == (
        "The model wrote a tool call that nobody can read. Try again, perhaps in other words."
    )
    assert len(world.model.requests) == 4


# What is too long, and nobody says so


UNEXPLAINED = invalid("prompt is too long: 211180 tokens > 200000 maximum", param=None)


async def test_a_refusal_without_a_reason_is_met_once_with_less_history(world: World) -> None:
    """Where that helped twice on end the next turn summarises; a service like Anthropic's has no
    code for it. First the history's answers are told with thoughts, for these may be missing. The
    whole order is in test_refused_without_a_reason.py."""
    world.install("notes")
    summaries: list[int] = []
    async with world.running() as bot:
        for said_before in ("first " * 50, "second " * 50, "third " * 50):
            await bot.ask(said_before)
        for words in ("fourth", "fifth"):
            for _ in range(2):
                world.model.fail(400, UNEXPLAINED)
            answer = await bot.ask(words)
            assert answer.text.partition("\n")[0] == words
            await settled(bot)
            summaries.append(len(await bot.rows("SELECT id FROM summaries")))
        await bot.ask("sixth")
        await settled(bot)
        summaries.append(len(await bot.rows("SELECT id FROM summaries")))

    assert summaries == [0, 0, 1]


async def test_a_refusal_that_less_history_does_not_mend_is_said_and_nothing_is_lost(
    world: World,
) -> None:
    """What is wrong with the request may be anything: it costs two more, one with thoughts in its
    history and one with less of it, and no summary, though the service would write one."""
    refuses: list[bool] = []

    def service(body: Body) -> Reply | str:
        if "What stands between the two marks" in str(body["messages"][0]["content"]):
            return "- A summary."
        return Fails(422, UNEXPLAINED) if refuses else last_words(body)

    world.install("notes")
    world.model.script = service
    async with world.running() as bot:
        await bot.ask("first " * 400)
        await bot.ask("second " * 400)
        asked = len(world.model.requests)
        refuses.append(True)
        answer = await bot.ask("third")
        refuses.clear()
        await bot.ask("fourth")
        summaries = await bot.rows("SELECT id FROM summaries")

    assert answer.text.startswith("The model service does not accept our request")
    assert len(world.model.requests) == asked + 4
    assert any("first" in str(m["content"]) for m in world.model.requests[-1]["messages"])
    assert summaries == []


async def test_a_service_with_a_smaller_answer_is_asked_for_that_from_then_on(
    world: World,
) -> None:
    """DeepSeek's words; other services' are in tests/providers/test_failures.py."""
    world.model.fail(400, invalid("the valid range of max_tokens is [1, 8192]", param=None))
    async with world.running() as bot:
        first = await bot.ask("first")
        second = await bot.ask("second")

    assert (first.text, second.text) == ("first", "second")
    assert [r["max_tokens"] for r in world.model.requests] == [16_384, 8_192, 8_192]


# Room for thinking


async def test_an_answer_cut_off_before_its_first_word_gets_twice_the_room(world: World) -> None:
    world.config = {"advanced": {"context_window": 131_072}}
    world.model.reply(Says("", reason="length", thoughts="Hm. " * 100, usage=(100, 0, 16_384)))
    world.model.say("Here I am.")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await settled(bot)
        used = await bot.rows("SELECT output_tokens FROM usage_events WHERE scope = 'llm'")

    assert answer.text == "Here I am."
    assert [r["max_tokens"] for r in world.model.requests] == [16_384, 32_768]
    assert len({len(r["messages"]) for r in world.model.requests}) == 1  # no nudge
    assert [row["output_tokens"] for row in used] == [16_384, 5]


async def test_an_answer_cut_off_twice_is_said_with_what_helps(world: World) -> None:
    world.config = {"advanced": {"context_window": 131_072}}
    for _ in range(4):
        world.model.reply(Says("", reason="length"))
    async with world.running() as bot:
        adas = await bot.ask("hello")
        await bot.people.say(BEN, BEN, "hello")
        bens = await bot.people.next_message(BEN, contains="The model")

    assert bens.text == (
        "The model used up all its room for thoughts and answer before it said a word. Ask for a "
        "smaller piece; /new starts afresh."
    )
    assert adas.text.startswith(bens.text + " More room: provider.max_tokens in config.json")
    assert len(world.model.requests) == 4


async def test_where_the_window_has_no_more_room_another_setting_is_named(world: World) -> None:
    for _ in range(2):
        world.model.reply(Says("", reason="length"))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert "advanced.context_window in config.json" in answer.text
    assert "provider.max_tokens" not in answer.text
    assert world.model.requests[1]["max_tokens"] < 2 * 16_384


async def test_where_a_budget_paid_for_no_more_room_the_budget_is_named(world: World) -> None:
    """The first call was made with what was left of the day; the second does not fit it any more,
    and a service that has no more room for more money would be a lie."""
    dear = {"input": 0.0, "output": 100.0}
    world.config = {"budgets": {"daily_usd": 0.5, "prices": {"scripted": dear}}}
    world.model.reply(Says("", reason="length", usage=(100, 0, 5_000)))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert 4_000 < world.model.requests[0]["max_tokens"] < 5_001
    assert len(world.model.requests) == 1
    assert "budgets.daily_usd" in answer.text


async def test_a_turn_that_has_taken_what_it_may_is_not_asked_with_twice_the_room(
    world: World,
) -> None:
    world.config = {"advanced": {"context_window": 131_072, "session_tokens_max": 12_000}}
    world.model.reply(Says("", reason="length", usage=(100, 0, 16_384)))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert len(world.model.requests) == 1
    assert "advanced.session_tokens_max" in answer.text


async def test_a_plan_that_grew_is_found_after_the_first_answer_that_its_old_room_cut_off(
    world: World,
) -> None:
    """What was learnt of a service is no law of nature, and a refusal costs nothing."""
    world.model.fail(400, invalid("the valid range of max_tokens is [1, 8192]", param=None))
    world.model.reply(Says("", reason="length", usage=(100, 0, 8_192)))
    async with world.running() as bot:
        cut = await bot.ask("first")
        again = await bot.ask("second")

    assert "provider.max_tokens says" in cut.text
    assert again.text == "second"
    assert [r["max_tokens"] for r in world.model.requests] == [16_384, 8_192, 16_384]


async def test_a_service_that_has_no_more_room_is_not_paid_for_the_same_twice(
    world: World,
) -> None:
    world.model.fail(400, invalid("the valid range of max_tokens is [1, 8192]", param=None))
    world.model.reply(Says("", reason="length", thoughts="Hm. ", usage=(100, 0, 8_192)))
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text.startswith("The model used up all its room")
    assert [r["max_tokens"] for r in world.model.requests] == [16_384, 8_192]


async def test_what_is_configured_counts_as_far_as_the_window_has_room(world: World) -> None:
    """A reserve of a quarter of a small window is kept, however long the prompt is."""
    room: list[int] = []
    for window in (65_536, 8_000, 1_200):
        world.config = {"advanced": {"context_window": window}}
        async with world.running() as bot:
            await bot.ask("hello")
        room.append(world.model.requests[-1]["max_tokens"])

    assert room[0] == 16_384
    assert 2_000 < room[1] < 8_000
    assert room[2] == 300


async def test_a_machine_that_is_still_computing_is_not_asked_twice(world: World) -> None:
    """A server at a private address that sends no byte in time."""

    async def silent(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append(await reader.readuntil(b"\r\n\r\n"))
        await over.wait()
        writer.close()

    asked: list[bytes] = []
    over = asyncio.Event()
    async with await asyncio.start_server(silent, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        world.config = {
            "provider": {"backend": "mine", "model": "m", "request_timeout_s": 1},
            "providers": {"mine": {"base_url": f"http://127.0.0.1:{port}/v1"}},
        }
        async with world.running() as bot:
            answer = await bot.ask("hello")
        over.set()

    assert answer.text.startswith(
        "The machine that the model runs on has not begun to answer and may still be computing, so "
        "I did not ask it a second time."
    )
    assert [head.split()[0] for head in asked if b"/models" not in head] == [b"POST"]


async def test_twenty_thousand_comments_are_signs_of_life_and_no_answer(world: World) -> None:
    comments = b": OPENROUTER PROCESSING\n\n" * 5_000
    said_at_last = b'data: {"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]}'
    world.model.raw(*[comments] * 4, said_at_last + b"\n\ndata: [DONE]\n\n")
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert answer.text == "Yes."


async def test_ten_megabytes_of_thoughts_are_read_past_and_not_kept(world: World) -> None:
    world.install("notes")
    thought = json.dumps({"choices": [{"delta": {"reasoning_content": "Hm, so. " * 12_500}}]})
    said_at_last = b'data: {"choices": [{"delta": {"content": "Yes."}, "finish_reason": "stop"}]}'
    world.model.raw(*[b"data: " + thought.encode() + b"\n\n"] * 100, said_at_last + b"\n\n")
    async with world.running() as bot:
        answer = await bot.ask("hello")
        await settled(bot)
        kept = sum(file.stat().st_size for file in (world.home.path / "data").glob("aouo.db*"))

    assert answer.text == "Yes."
    assert kept < 6_000_000


@pytest.mark.parametrize(
    ("status", "message", "sentence"),
    [
        (
            400,
            "registry.ollama.ai/library/gemma3:4b does not support tools",
            "The model takes no tools at this address, and I work with them.",
        ),
        (
            404,
            'model "scripted" not found, try pulling it first',
            "The model service has no model “scripted”, or not for our key.",
        ),
    ],
)
async def test_what_ollama_will_refuse_again_is_said_and_not_asked_again(
    world: World, clock: FastClock, status: int, message: str, sentence: str
) -> None:
    """Ollama writes `api_error` whatever it is (louisho5/picobot#6, Feb 2026)."""
    del clock
    body = {"error": {"message": message, "type": "api_error", "param": None, "code": None}}
    for _ in range(4):
        world.model.fail(status, body)
    async with world.running() as bot:
        answer = await bot.ask("hello", user=BEN)

    assert answer.text.startswith(sentence)
    asked = [request for request in world.model.requests if "messages" in request]
    assert len(asked) == 1


async def test_where_no_name_is_near_the_owner_reads_the_first_that_the_service_has(
    world: World, clock: FastClock
) -> None:
    """As with Ollama, where a model is not pulled yet."""
    del clock
    pulled = ("llama3.2:latest", "scripted", "mistral:latest")
    world.model.says["/v1/models"] = {"data": [{"id": name} for name in pulled]}
    gone = {"error": {"message": "model not found", "code": "model_not_found"}}
    world.model.fail(404, gone)
    world.model.fail(404, gone)
    async with world.running() as bot:
        answer = await bot.ask("hello")

    assert "or not for our key. It has: llama3.2:latest, mistral:latest. Choose" in answer.text
