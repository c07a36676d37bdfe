"""OpenAI's Responses API over a real socket under the real SDK: what goes out, what comes back."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import AsyncIterator, Sequence
from dataclasses import replace
from typing import Any

import aiohttp
import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from aouo.facts.errors import (
    ContentFiltered,
    PromptTooLong,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
)
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Image,
    ModelRequest,
    SystemSaid,
    ToolCall,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)
from aouo.providers.dialect import Dialect
from aouo.providers.formats.chat_requests import encode
from aouo.providers.formats.responses_answers import ResponsesParser
from aouo.providers.formats.responses_requests import (
    ResponsesBodies,
    _given_ids,
    _items_of,
    _responses_options,
    _responses_tool,
    dump_native,
)
from aouo.providers.order import in_order
from aouo.providers.service import CompatibleModel
from tests.fakes.model_server import CallPart, Fails, ModelServer, Says
from tests.fakes.models.asked import read
from tests.fakes.models.chat import answer_of
from tests.fakes.models.responses import line, pieces

KEY = "sk-very-secret"
HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), ())
ADD = ToolSpec("add", "Add a row.", {"type": "object", "properties": {"row": {"type": "string"}}})
WAIT_S = 30.0


def whole_body(
    request: ModelRequest, provider: str, model: str, dialect: Dialect
) -> dict[str, Any]:
    """The body that `ResponsesBodies` puts together from remembered pieces, written at once."""
    ids: dict[str, str] = {}
    items: list[dict[str, Any]] = []
    for said in in_order(request)[0]:
        ids |= _given_ids(said, provider, model)
        named = ids.get(said.call_id, "") if isinstance(said, ToolReturned) else ""
        items += _items_of(said, provider, model, named)
    head = {"model": model, "instructions": request.system, "input": items}
    tools = [_responses_tool(spec) for spec in request.tools]
    return head | _responses_options(request, dialect) | {"tools": tools}


class _Here(AbstractResolver):
    """Every name is this machine's, at one port."""

    def __init__(self, port: int) -> None:
        self._port = port

    async def resolve(self, host: str, port: int = 0, family: int = 0) -> list[ResolveResult]:
        return [
            ResolveResult(
                hostname=host, host="127.0.0.1", port=self._port, family=2, proto=0, flags=0
            )
        ]

    async def close(self) -> None:
        """Nothing is open."""


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(api_key=KEY, wires=("/responses", "/chat/completions")) as server:
        yield server


@pytest.fixture
async def model(server: ModelServer) -> AsyncIterator[CompatibleModel]:
    """A model at OpenAI's own address, whose name leads to the fake."""
    connector = aiohttp.TCPConnector(resolver=_Here(server.port))
    async with aiohttp.ClientSession(connector=connector) as session:
        yield model_at("http://api.openai.com/v1", session)


def model_at(base_url: str, session: aiohttp.ClientSession) -> CompatibleModel:
    return CompatibleModel(
        provider="openai",
        model="gpt-6-luna",
        base_url=base_url,
        api_key=KEY,
        context_window=8000,
        session=lambda: session,
        request_timeout_s=WAIT_S,
        stream_idle_timeout_s=WAIT_S,
    )


async def finished(model: CompatibleModel, request: ModelRequest = HELLO) -> Finished:
    async with asyncio.timeout(WAIT_S):
        last = [event async for event in model.stream(request)][-1]
    assert isinstance(last, Finished)
    return last


async def failure(model: CompatibleModel, request: ModelRequest = HELLO) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await finished(model, request)
    return caught.value


def streamed(says: Says, model: str) -> bytes:
    body = {"model": model, "input": "Hi", "include": ["reasoning.encrypted_content"]}
    asked, family = read("responses", body), ModelServer().profile
    answer = answer_of(says, asked, family, cached=0, serial=1)
    return b"".join(pieces(answer, asked, family.stream))


def user(text: str) -> dict[str, Any]:
    return {"type": "message", "role": "user", "content": text}


async def test_at_openais_own_address_the_responses_api_is_asked_and_stores_nothing(
    server: ModelServer, model: CompatibleModel
) -> None:
    """Thinking and tools go together only there (github.com/BerriAI/litellm/pull/34569)."""
    server.say("Hello there.")

    last = await finished(model, replace(HELLO, tools=(ADD,)))

    assert last.said == AssistantSaid("Hello there.")
    assert server.paths == ["/v1/responses"]
    assert server.requests == [
        {
            "model": "gpt-6-luna",
            "instructions": "You are kind.",
            "input": [user("Hello")],
            "stream": True,
            "store": False,
            "include": ["reasoning.encrypted_content"],
            "max_output_tokens": 4096,
            "tools": [
                {
                    "type": "function",
                    "name": "add",
                    "description": "Add a row.",
                    "parameters": ADD.parameters,
                    "strict": False,
                }
            ],
        }
    ]


async def test_what_the_owner_set_goes_along(server: ModelServer, model: CompatibleModel) -> None:
    server.say("Hello.")

    await finished(model, replace(HELLO, effort="low", temperature=0.5))

    assert server.requests[0]["reasoning"] == {"effort": "low"}
    assert server.requests[0]["temperature"] == 0.5


async def test_a_conversation_goes_out_item_by_item_with_the_context_in_the_newest_words(
    server: ModelServer, model: CompatibleModel
) -> None:
    long_id = "call_" + "x" * 80
    calls = (ToolCall("c1", "add", '{"row": "milk"}'), ToolCall(long_id, "add", "broken"))
    image = Image("image/png", b"\x89PNG")
    server.say("Done.")

    await finished(
        model,
        ModelRequest(
            "",
            (
                SystemSaid("Earlier: nothing."),
                UserSaid("Add milk"),
                AssistantSaid("One moment.", calls),
                ToolReturned("c1", "add", "ok"),
                ToolReturned(long_id, "add", "no", failed=True),
                UserSaid("And this?", (image,)),
            ),
            (),
            context="It is noon.",
        ),
    )

    *told, seen = server.requests[0]["input"]
    shortened = told[3]["call_id"]
    assert len(shortened) <= 64
    assert told == [
        user("Earlier: nothing.\n\nAdd milk"),
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "One moment."}],
        },
        {
            "type": "function_call",
            "call_id": "c1",
            "name": "add",
            "arguments": '{"row": "milk"}',
        },
        {
            "type": "function_call",
            "call_id": shortened,
            "name": "add",
            "arguments": '{"": "broken"}',
        },
        {"type": "function_call_output", "call_id": "c1", "output": "ok"},
        {"type": "function_call_output", "call_id": shortened, "output": "no"},
        {
            "type": "message",
            "role": "assistant",
            "content": [{"type": "output_text", "text": "[no answer yet]"}],
        },
    ]
    assert seen["content"] == [
        {"type": "input_text", "text": "[It is noon.]\n\nAnd this?"},
        {"type": "input_image", "detail": "auto", "image_url": "data:image/png;base64,iVBORw=="},
    ]


async def test_sealed_thoughts_go_back_before_what_came_of_them_and_to_nobody_else(
    server: ModelServer, model: CompatibleModel
) -> None:
    """With `store: false` the service keeps nothing of them. `status` is refused in what goes
    back (github.com/lidge-jun/opencodex/pull/2252), a missing `summary` too."""
    server.reply(
        Says("One moment.", (CallPart("add", {"row": "milk"}, "c1"),), thoughts="Milk, then."),
        Says("Added."),
    )
    said = (await finished(model, replace(HELLO, tools=(ADD,)))).said
    ours = replace(said, calls=(replace(said.calls[0], id="ours"),))  # as a turn names it
    after = replace(HELLO, messages=(UserSaid("Hi"), ours, ToolReturned("ours", "add", "ok")))

    await finished(model, after)

    thought, words, call, result = server.requests[1]["input"][1:]
    assert thought == {
        "type": "reasoning",
        "id": "rs_00000001",
        "summary": [],
        "encrypted_content": server.answers[0].signature,
    }
    assert words["content"] == [{"type": "output_text", "text": "One moment."}]
    assert (call["call_id"], call["arguments"]) == ("c1", '{"row": "milk"}')
    assert result["call_id"] == "c1"
    for provider, name in (("mine", "gpt-6-luna"), ("openai", "gpt-6-sol")):
        other = ResponsesBodies(model=name, provider=provider)
        told = json.loads(other.body(after, Dialect()))["input"]
        assert {item["call_id"] for item in told if "call_id" in item} == {"ours"}
        assert [item["type"] for item in told] == [
            "message",
            "message",
            "function_call",
            "function_call_output",
        ]


def test_ten_megabytes_of_sealed_thoughts_are_not_kept() -> None:
    """The call goes back as if another model had made it."""
    call = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": "{}"}
    sealed_item = {"type": "reasoning", "id": "rs_1", "encrypted_content": "x" * 10_000_000}

    assert dump_native("openai", "m", [sealed_item, call], [ToolCall("c1", "add", "{}")]) == ""


async def test_the_phase_of_a_message_goes_back(
    server: ModelServer, model: CompatibleModel
) -> None:
    """Without it answers get worse (`ResponseOutputMessage.phase`)."""
    parts = [[{"type": "output_text", "text": text}] for text in ("I look.", "Done.")]
    output = [
        {"type": "message", "role": "assistant", "content": part, "phase": phase}
        for part, phase in zip(parts, ("commentary", "final_answer"), strict=True)
    ]
    response = {"object": "response", "status": "completed", "output": output}
    server.raw(line({"type": "response.completed", "response": response}))
    server.say("Yes.")

    said = (await finished(model)).said
    await finished(model, replace(HELLO, messages=(UserSaid("Hi"), said, UserSaid("Sure?"))))

    assert said.text == "I look.\n\nDone."
    told = server.requests[1]["input"][1:3]
    assert [(item["content"][0]["text"], item["phase"]) for item in told] == [
        ("I look.", "commentary"),
        ("Done.", "final_answer"),
    ]


@pytest.mark.parametrize(
    ("status", "refusal"),
    [
        (400, {"code": "invalid_encrypted_content", "param": None}),
        (400, {"code": None, "param": "input"}),
        (400, {"code": "unknown_parameter", "param": "input[1].status"}),
        (404, {"code": None, "param": "input"}),
    ],
)
async def test_thoughts_that_the_service_does_not_take_back_are_left_out_from_then_on(
    server: ModelServer, model: CompatibleModel, status: int, refusal: dict[str, object]
) -> None:
    """Another key or organization cannot open them (github.com/openai/codex/issues/8119), and some
    look for what nobody stored (maximhq/bifrost#5410 of July 2026, openai/openai-agents-js#546:
    "Item with id 'rs_…' not found"); the conversation must not be stuck for that."""
    error = {"error": {"message": "words", "type": "invalid_request_error", **refusal}}
    server.reply(Says("Seven.", thoughts="Let me count."), Fails(status, error), Says("Yes."))
    said = (await finished(model)).said
    after = replace(HELLO, messages=(UserSaid("Hi"), said, UserSaid("Sure?")))

    assert (await finished(model, after)).said.text == "Yes."
    await finished(model, after)

    kinds = [[item["type"] for item in body["input"]] for body in server.requests[1:]]
    assert kinds == [["message", "reasoning", "message", "message"], *[["message"] * 3] * 2]


async def test_the_tokens_of_an_answer_are_told_by_kind(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.reply(Says("Seven.", usage=(30, 12, 20), thoughts="Hm.", reasoning_tokens=14))

    assert (await finished(model)).usage == Usage(30, 12, 20, 14)


async def test_an_answer_without_a_stream_is_read_too(
    server: ModelServer, model: CompatibleModel
) -> None:
    message = {"type": "message", "content": [{"type": "output_text", "text": "Seven."}]}
    whole = {"object": "response", "status": "completed", "output": [message], "error": None}
    server.raw(json.dumps(whole, indent=1).encode(), content_type="application/json")

    last = await finished(model)

    assert (last.said, last.reason) == (AssistantSaid("Seven."), "stop")


async def test_a_refusal_of_the_model_is_what_it_says(
    server: ModelServer, model: CompatibleModel
) -> None:
    place = {"output_index": 0, "content_index": 0}
    refusal = {"type": "message", "content": [{"type": "refusal", "refusal": "I must not."}]}
    response = {"status": "completed", "output": [refusal]}
    server.raw(
        line({"type": "response.refusal.delta", "delta": "I must ", **place}),
        line({"type": "response.refusal.delta", "delta": "not.", **place}),
        line({"type": "response.completed", "response": response}),
    )

    assert (await finished(model)).said == AssistantSaid("I must not.")


async def test_a_call_that_was_cut_off_is_not_one_without_arguments(
    server: ModelServer, model: CompatibleModel
) -> None:
    item = {"type": "function_call", "call_id": "c1", "name": "add", "arguments": ""}
    begun = {"type": "response.output_item.added", "output_index": 0, "item": item}
    piece = {"type": "response.function_call_arguments.delta", "output_index": 0, "delta": '{"r'}
    why = {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}}
    ended = line({"type": "response.incomplete", "response": why})
    server.raw(line(begun), ended)
    server.raw(line(begun), line(piece), ended)

    cut = [await finished(model) for _ in range(2)]

    assert [last.said.calls for last in cut] == [
        (ToolCall("c1", "add", "{"),),
        (ToolCall("c1", "add", '{"r'),),
    ]
    assert {last.reason for last in cut} == {"length"}


@pytest.mark.parametrize(
    ("events", "kind"),
    [
        ([{"type": "error", "code": "server_error", "message": "m", "param": None}], ProviderBusy),
        ([{"type": "error", "error": {"code": "context_length_exceeded"}}], PromptTooLong),
        ([{"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded"}}}],
         ProviderBusy),
        ([{"type": "response.failed", "response": {"error": {"code": "invalid_prompt"}}}],
         ContentFiltered),
        ([{"type": "response.failed", "response": {"error": {"code": "bio_policy"}}}],
         ContentFiltered),
        ([{"type": "response.failed", "response": {"error": {"code": "invalid_image"}}}],
         ProviderRejected),
        ([{"type": "response.failed", "response": {"status": "failed"}}], ProviderBusy),
        ([{"type": "response.output_item.done", "output_index": 0}], ProviderBusy),
        ([{"type": "response.output_text.delta", "delta": "Half"}], ProviderTimeout),
    ],
)  # fmt: skip
async def test_what_goes_wrong_inside_a_stream_is_told_by_its_code(
    server: ModelServer,
    model: CompatibleModel,
    events: Sequence[dict[str, object]],
    kind: type[ProviderError],
) -> None:
    for _ in range(2):
        server.raw(*map(line, events))

    assert type(await failure(model)) is kind


async def test_any_cutting_of_the_same_bytes_gives_the_same_answer() -> None:
    says = Says("Well, seven.", (CallPart("add", {"row": "é"}),), chunks=5, thoughts="Hm.")
    whole = streamed(says, "m")
    dice = random.Random(7)
    answers: list[Finished] = []
    for _ in range(50):
        cuts = sorted(dice.sample(range(1, len(whole)), 9))
        reader = ResponsesParser("openai", model="m")
        text = "".join(
            reader.feed(whole[begin:end])
            for begin, end in zip([0, *cuts], [*cuts, len(whole)], strict=True)
        )
        answers.append(reader.finish())
        assert text == "Well, seven."

    assert answers == [answers[0]] * 50


def test_a_body_in_pieces_is_the_body_to_the_byte() -> None:
    reader = ResponsesParser("openai", model="mödel")
    says = Says("Well.", (CallPart("add", {"row": "é"}, "c1"),), thoughts="Hm.")
    reader.feed(streamed(says, "mödel"))
    said = reader.finish().said
    foreign = AssistantSaid(
        "Hi",
        (),
        '{"wire": "chat", "provider": "deepseek", "model": "m", "message": {}, "calls": []}',
    )
    history = (UserSaid("\ud83d é"), said, ToolReturned("c1", "add", "ok"), foreign, UserSaid("Hm"))
    bodies = ResponsesBodies(model="mödel", provider="openai", bytes_max=1_500)
    for upto in (1, 3, 5, 5):
        for dialect in (Dialect(), Dialect(encrypted=False, max_tokens="")):
            request = ModelRequest("sys", history[:upto], (ADD,), "now", 99, 0.5, "low")

            assert bodies.body(request, dialect) == encode(
                whole_body(request, "openai", "mödel", dialect)
            )
