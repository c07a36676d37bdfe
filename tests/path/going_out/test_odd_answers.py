"""Services whose answers are odd but readable, and models that call what is not there.

The service here is as strict as the strictest: it refuses a request whose history it cannot take.
Source: issue 3, Providers; platform.openai.com/docs/api-reference/chat (names of functions).
"""

from __future__ import annotations

import gzip
import json
import re
from typing import Any

import pytest

from tests.fakes.model_server import Body, CallPart, Fails, Raw, Reply, Says, words_of
from tests.path.looking import settled
from tests.path.world import World

NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_-]{0,63}")


def event(delta: object, reason: str | None = None, **more: object) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": reason}
    return b"data: %b\n\n" % json.dumps({"choices": [choice], **more}).encode()


def call(name: str, arguments: object, index: int | None = 0) -> bytes:
    function = {"name": name, "arguments": arguments}
    return event({"tool_calls": [{"index": index, "id": "same", "function": function}]})


STOP, DONE = event({}, "stop"), b"data: [DONE]\n\n"
READ = {"target": "memory", "action": "read"}


@pytest.mark.parametrize(
    "pieces",
    [
        (b": keep-alive\n\n" * 3, event({"content": "Yes."}), STOP, DONE),
        (b"\xef\xbb\xbf", event({"content": "Yes."}).replace(b"\n", b"\r\n"), STOP, DONE),
        (event({"role": "assistant", "content": None}), event({"content": "Yes."}, "stop")),
        (event({"content": [{"type": "text", "text": "Yes."}]}), STOP),
        (b'data: {"choices": null}\n\n', event({"content": "Yes."}), STOP, DONE),
        (event({"content": "Yes."}), DONE),
        (event({"content": "Yes."}), STOP, b'data: {"usage": {"prompt_tokens": "many"}}\n\n'),
        (event({"content": "Yes."}, "stop", usage={"completion_tokens": -9}), DONE),
        (event({"reasoning_content": "Hm" * 90_000}), event({"content": "Yes."}), STOP),
        (b'{"choices": [{"message": {"content": "Yes."}, "finish_reason": "stop"}]}',),
    ],
)
async def test_an_odd_answer_is_an_answer(world: World, pieces: tuple[bytes, ...]) -> None:
    world.model.raw(*pieces)
    async with world.running() as bot:
        assert (await bot.ask("Hello?")).text == "Yes."
        await settled(bot)
        rows = await bot.rows("SELECT min(input_tokens, output_tokens) AS least FROM usage_events")
        assert rows == [{"least": 0}]


@pytest.mark.parametrize(
    "pieces",
    [
        (event({"function_call": {"name": "memory", "arguments": json.dumps(READ)}}), STOP),
        (call("memory", READ, None), STOP),
        (call("memory", json.dumps(READ), 7), event({}, "function_call")),
    ],
)
async def test_an_odd_call_is_a_call(world: World, pieces: tuple[bytes, ...]) -> None:
    world.install("notes")
    world.model.raw(*pieces, DONE)
    world.model.say("I have looked.")
    async with world.running() as bot:
        assert (await bot.ask("Look.")).text == "I have looked."
        rows = await bot.rows("SELECT name, state FROM tool_calls")
        assert rows == [{"name": "memory", "state": "done"}]


async def test_a_call_cut_off_before_its_arguments_is_no_call_without_any(world: World) -> None:
    world.install("notes")
    """It is asked for once more with more room; cut off again it is not carried out."""
    for _ in range(2):
        world.model.raw(call("persist", ""), event({}, "length"), DONE)
    world.model.say("Sorry.")
    async with world.running() as bot:
        assert (await bot.ask("Save it.")).text == "Sorry."
        result = words_of(world.model.requests[-1]["messages"][-1])
        assert result.startswith("The arguments are not complete JSON")

    first, second, _ = (request["max_tokens"] for request in world.model.requests)
    assert first < second <= 2 * first


async def test_an_answer_that_was_cut_off_says_so(world: World) -> None:
    world.model.raw(event({"content": "Half of the answer"}), event({}, "length"), DONE)
    async with world.running() as bot:
        answer = await bot.ask("Tell me all.")

    assert answer.text == "Half of the answer\n\n(cut off: the model reached its answer limit)"


async def test_an_answer_that_its_service_withholds_is_told_and_nothing_of_it_stays(
    world: World,
) -> None:
    world.model.raw(event({"content": "How to"}), event({}, "content_filter"), DONE)
    async with world.running() as bot:
        answer = await bot.ask("Tell me.")
        await settled(bot)

    assert "declined to answer this" in answer.text
    assert "How to" not in answer.text


def strict(body: Body) -> Reply | str:
    """Refuse what the strictest services refuse; call nonsense first, thirty times at once."""
    for message in body["messages"]:
        for made in message.get("tool_calls", ()):
            name, arguments = made["function"]["name"], made["function"]["arguments"]
            if not NAME.fullmatch(name) or not isinstance(json.loads(arguments), dict):
                return Fails(400, {"error": {"message": "refused", "param": "messages"}})
    if body["messages"][-1]["role"] == "tool":
        return "There was nothing."
    nonsense: list[Any] = ["", '{"cut": ', "[]", "7", {"odd": True}]
    parts = [CallPart(name, args, "same") for name in NAMES for args in nonsense]
    return Says(calls=tuple(parts))


NAMES = ("", "functions.msg", "9 to 5", "größe", "x" * 90, "-")


async def test_a_model_that_calls_nonsense_reads_why_and_answers(world: World) -> None:
    world.install("notes")
    world.model.script = strict
    async with world.running() as bot:
        assert (await bot.ask("Go.")).text == "There was nothing."
        assert (await bot.ask("And again?")).text == "There was nothing."
        await settled(bot)
        scopes = await bot.rows("SELECT DISTINCT scope FROM usage_events ORDER BY scope")
        assert [row["scope"] for row in scopes] == ["llm", "tool:unknown"]


OTHER = "The model's address is answered by something that is no model service."
GONE = "The model service has no model “scripted”, or not for our key."
SILENT = "The model service stopped answering. Try again."
BUSY = "The model service is busy or cannot be reached. Try again in a minute."


@pytest.mark.parametrize(
    ("reply", "told"),
    [
        (Raw((b"<!doctype html><p>Log in</p>",), content_type="text/html"), OTHER),
        (Raw((b'{"error": {"message": "no", "code": "model_not_found"}}',)), GONE),
        (Fails(307, "elsewhere", {"Location": "/v2/chat/completions"}), OTHER),
        (Raw((b"\n\n",)), SILENT),
        (Raw((b"data: [1, 2]\n\n",)), BUSY),
    ],
)
async def test_what_is_no_answer_is_said_in_one_sentence(
    world: World, reply: Reply, told: str
) -> None:
    world.config = {"provider": {"backend": "fake", "model": "scripted", "max_retries": 0}}
    world.model.reply(reply)
    async with world.running() as bot:
        assert (await bot.ask("Hello?")).text.startswith(told)
        assert len(world.model.requests) == 1


async def test_a_body_that_is_compressed_all_the_same_is_read(world: World) -> None:
    body = gzip.compress(event({"content": "Yes."}) + STOP + DONE)
    world.model.reply(Raw((body,), encoding="gzip"))
    async with world.running() as bot:
        assert (await bot.ask("Hello?")).text == "Yes."


async def test_a_call_that_a_model_prints_as_text_is_made_and_never_shown(world: World) -> None:
    """Models that were not taught their server's form of a call write it into the answer."""
    world.install("notes")
    call = {"name": "persist", "arguments": {"action": "save", "data": {"text": "milk"}}}
    world.model.say(f"```json\n{json.dumps(call)}\n```")
    world.model.say("Kept.")
    async with world.running() as bot:
        answer = await bot.ask("please keep milk in mind")
        rows = await bot.rows("SELECT name, state FROM tool_calls")

    assert answer.text == "Kept."
    assert rows == [{"name": "persist", "state": "done"}]
