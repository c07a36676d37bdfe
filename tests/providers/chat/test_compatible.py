"""Every way a model service can answer, over a real socket, in our events and our errors."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import replace

import aiohttp
import pytest
from aiohttp import web

from aouo.facts.errors import (
    ContentFiltered,
    ModelGone,
    NoModelService,
    PlanTooSmall,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
)
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolCall,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)
from aouo.providers.service import CompatibleModel
from aouo.providers.thoughts import sendable_id
from tests.fakes.model_server import CallPart, Fails, ModelServer, Says

KEY = "sk-very-secret"
HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), ())
ADD = ToolSpec("add", "Add a row.", {"type": "object", "properties": {"row": {"type": "string"}}})
WAIT_S = 30.0


@pytest.fixture
async def server() -> AsyncIterator[ModelServer]:
    async with ModelServer(api_key=KEY) as server:
        yield server


@pytest.fixture
def model(server: ModelServer, session: aiohttp.ClientSession) -> CompatibleModel:
    return model_at(server.base_url, session)


def model_at(
    base_url: str,
    session: aiohttp.ClientSession,
    *,
    idle_s: float = WAIT_S,
    key: str = KEY,
    provider: str = "fake",
) -> CompatibleModel:
    return CompatibleModel(
        provider=provider,
        model="fake-1",
        base_url=base_url,
        api_key=key,
        context_window=8000,
        session=lambda: session,
        request_timeout_s=WAIT_S,
        stream_idle_timeout_s=idle_s,
    )


@asynccontextmanager
async def serving(
    answer: Callable[[web.BaseRequest], Awaitable[web.StreamResponse]],
) -> AsyncGenerator[str]:
    """The address of a server that answers everything that way."""
    runner = web.ServerRunner(web.Server(answer, handler_cancellation=True), shutdown_timeout=0.1)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
    finally:
        await runner.cleanup()


async def events(model: CompatibleModel, request: ModelRequest = HELLO) -> list[ModelEvent]:
    return [event async for event in model.stream(request)]


async def finished(model: CompatibleModel, request: ModelRequest = HELLO) -> Finished:
    last = (await events(model, request))[-1]
    assert isinstance(last, Finished)
    return last


def error(code: str = "", kind: str = "", **more: object) -> dict[str, object]:
    return {"error": {"message": f"words about {KEY}", "type": kind, "code": code, **more}}


async def test_text_streams_and_ends_with_all_of_it_and_its_cost(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.say("Hello, who is there?", chunks=4, usage=(30, 12, 6))

    *deltas, last = await events(model)

    assert "".join(e.text for e in deltas if isinstance(e, TextDelta)) == "Hello, who is there?"
    assert last == Finished(AssistantSaid("Hello, who is there?"), Usage(30, 12, 6), "stop")


async def test_the_stable_prefix_comes_first_and_the_context_stands_before_the_newest_words(
    server: ModelServer, model: CompatibleModel
) -> None:
    call = ToolCall("c1", "add", '{"row": "milk"}')
    request = ModelRequest(
        system="You are kind.",
        messages=(
            UserSaid("Hi"),
            AssistantSaid("Hello."),
            UserSaid("Add milk"),
            AssistantSaid("", (call,)),
            ToolReturned("c1", "add", "ok"),
        ),
        tools=(ADD,),
        context="It is noon.",
        max_tokens=99,
        temperature=0.25,
    )
    await finished(model, request)

    assert server.requests == [
        {
            "model": "fake-1",
            "messages": [
                {"role": "system", "content": "You are kind."},
                {"role": "user", "content": "Hi"},
                {"role": "assistant", "content": "Hello."},
                {"role": "user", "content": "[It is noon.]\n\nAdd milk"},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [
                        {
                            "id": sendable_id("c1"),
                            "type": "function",
                            "function": {"name": "add", "arguments": '{"row": "milk"}'},
                        }
                    ],
                },
                {"role": "tool", "tool_call_id": sendable_id("c1"), "content": "ok"},
            ],
            "stream": True,
            "max_tokens": 99,
            "stream_options": {"include_usage": True},
            "temperature": 0.25,
            "tools": [
                {
                    "type": "function",
                    "function": {
                        "name": "add",
                        "description": "Add a row.",
                        "parameters": ADD.parameters,
                    },
                }
            ],
        }
    ]


async def test_a_tool_call_arrives_whole_with_its_arguments_as_they_came(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.call("add", '{"row": "mi', id="c7")

    said = (await finished(model)).said

    assert said.calls == (ToolCall("c7", "add", '{"row": "mi'),)


async def test_parallel_calls_keep_their_order_and_get_ids_of_their_own(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.calls(
        CallPart("add", {"row": 1}, "same"), CallPart("add", {"row": 2}, "same"), text="Yes."
    )

    last = await finished(model)

    assert last.reason == "tool_calls"
    assert last.said.text == "Yes."
    assert [call.arguments for call in last.said.calls] == ['{"row": 1}', '{"row": 2}']
    assert last.said.calls[0].id == "same"
    assert len({call.id for call in last.said.calls}) == 2


async def test_thoughts_before_a_call_go_back_to_who_had_them_and_to_nobody_else(
    session: aiohttp.ClientSession,
) -> None:
    """DeepSeek refuses answers without them, and a space is taken by every model of its
    (`thoughts.NONE_KEPT`); others refuse a field they do not know."""
    result = ToolReturned("c0", "add", "ok")
    foreign = AssistantSaid("", (ToolCall("c0", "add", "{}"),))
    seen: dict[str, list[object]] = {}
    thought, answer = foreign, result
    async with ModelServer() as server:
        for provider in ("deepseek", "mine", "other"):
            model = model_at(server.base_url, session, provider=provider)
            if provider != "other":
                server.reply(Says("", (CallPart("add"),), thoughts="Milk, then."))
                thought = (await finished(model)).said
                answer = ToolReturned(thought.calls[0].id, "add", "ok")
            request = ModelRequest("", (UserSaid("Hi"), foreign, result, thought, answer), ())
            await finished(model, request)
            messages = server.requests[-1]["messages"]
            seen[provider] = [m.get("reasoning_content") for m in messages]
        said = (UserSaid("Hi"), foreign, result, AssistantSaid("Done."), UserSaid("Thanks"))
        await finished(
            model_at(server.base_url, session, provider="deepseek"), ModelRequest("", said, ())
        )
        seen["after another"] = [
            m.get("reasoning_content") for m in server.requests[-1]["messages"]
        ]

    assert seen == {
        "deepseek": [None, " ", None, "Milk, then.", None],
        "mine": [None, None, None, "Milk, then.", None],
        "other": [None, None, None, None, None],
        "after another": [None, " ", None, " ", None],
    }


async def test_an_empty_answer_is_an_answer(server: ModelServer, model: CompatibleModel) -> None:
    server.say("")

    assert await events(model) == [Finished(AssistantSaid(""), Usage(10, 0, 5), "stop")]


async def test_a_server_that_ignores_streaming_is_understood(
    server: ModelServer, model: CompatibleModel
) -> None:
    calls = [{"id": "", "function": {"name": "add", "arguments": "{}"}}] * 2
    message = {"role": "assistant", "content": "Hello", "tool_calls": calls}
    body = {
        "choices": [{"message": message, "finish_reason": "stop"}],
        "usage": {"prompt_tokens": 3},
    }
    server.raw(json.dumps(body, indent=1).encode(), content_type="application/json")

    first, last = await events(model)

    assert first == TextDelta("Hello")
    assert isinstance(last, Finished)
    assert [call.name for call in last.said.calls] == ["add", "add"]
    assert len({call.id for call in last.said.calls} - {""}) == 2
    assert (last.usage, last.reason) == (Usage(3), "tool_calls")


@pytest.mark.parametrize(
    ("status", "body", "expected"),
    [
        (400, error("context_length_exceeded", "invalid_request_error"), PromptTooLong),
        (400, error("", "exceed_context_size_error"), PromptTooLong),
        (400, error("content_filter"), ContentFiltered),
        (400, error("unsupported_value", "invalid_request_error"), ProviderRejected),
        (400, [{"error": {"code": 400, "details": [{"reason": "API_KEY_INVALID"}]}}], ProviderAuth),
        (401, error("invalid_api_key"), ProviderAuth),
        (402, error("", "insufficient_balance"), ProviderBilling),
        (403, error(), ProviderAuth),
        (404, error("model_not_found"), ModelGone),
        (404, "<html>nothing here</html>", NoModelService),
        (408, None, ProviderTimeout),
        (413, error("rate_limit_exceeded", "tokens"), PlanTooSmall),
        (422, {"detail": [{"msg": "field required"}]}, ProviderRejected),
        (429, error("rate_limit_exceeded"), ProviderBusy),
        (429, error("insufficient_quota", "insufficient_quota"), ProviderBilling),
        (500, "{broken", ProviderBusy),
        (503, None, ProviderBusy),
        (504, None, ProviderTimeout),
        (529, error("", "overloaded_error"), ProviderBusy),
        (307, None, ProviderRejected),
    ],
)
async def test_a_refusal_is_told_by_its_status_and_code_and_never_quotes_the_key(
    server: ModelServer,
    model: CompatibleModel,
    status: int,
    body: object,
    expected: type[ProviderError],
) -> None:
    for _ in range(2):  # what names nothing is asked once more without the optional fields
        server.fail(status, body, {"Location": "http://127.0.0.1:9/"})

    with pytest.raises(ProviderError) as caught:
        await events(model)

    assert type(caught.value) is expected or (
        expected is ProviderRejected and isinstance(caught.value, ProviderRejected)
    )
    assert str(status) in str(caught.value)
    assert KEY not in str(caught.value) + repr(caught.value) + repr(model)


@pytest.mark.parametrize(
    ("headers", "body", "expected_s"),
    [
        ({"Retry-After": "7"}, None, 7.0),
        ({"retry-after-ms": "1500", "Retry-After": "2"}, None, 1.5),
        (
            {
                "Date": "Sat, 21 Nov 2026 10:00:00 GMT",
                "Retry-After": "Sat, 21 Nov 2026 10:00:42 GMT",
            },
            None,
            42.0,
        ),
        ({}, [{"error": {"code": 429, "details": [{"retryDelay": "34.5s"}]}}], 34.5),
        ({"Retry-After": "soon"}, None, 0.0),
        ({"Retry-After": "-3"}, None, 0.0),
        ({"Retry-After": "inf"}, None, 0.0),
    ],
)
async def test_a_busy_service_says_when_to_come_back(
    server: ModelServer,
    model: CompatibleModel,
    headers: dict[str, str],
    body: object,
    expected_s: float,
) -> None:
    server.fail(429, body, headers)

    with pytest.raises(ProviderBusy) as caught:
        await events(model)

    assert caught.value.retry_after_s == expected_s


@pytest.mark.parametrize("chunks", [0, 1, 3])
async def test_a_cut_stream_is_an_error_and_never_a_short_answer(
    server: ModelServer, model: CompatibleModel, chunks: int
) -> None:
    server.cut(after_chunks=chunks)

    with pytest.raises(ProviderTimeout):
        await events(model)


async def test_a_stream_that_ends_politely_without_saying_why_is_cut_too(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.raw(b'data: {"choices": [{"delta": {"content": "Half an ans"}}]}\n\n')

    with pytest.raises(ProviderTimeout, match="in the middle"):
        await events(model)


@pytest.mark.parametrize("after", [0, 2])
async def test_a_stream_that_falls_silent_is_given_up(
    server: ModelServer, session: aiohttp.ClientSession, after: int
) -> None:
    server.stall(after_chunks=after)

    with pytest.raises(ProviderTimeout):
        await events(model_at(server.base_url, session, idle_s=0.05))


async def test_leaving_early_closes_the_connection(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.stall(after_chunks=1)

    async with aclosing(model.stream(HELLO)) as stream:
        await anext(stream)
        await server.stalled.wait()

    async with asyncio.timeout(WAIT_S):
        await server.closed_by_client.wait()


async def test_cancelling_closes_the_connection(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.stall()
    async with asyncio.TaskGroup() as group:
        task = group.create_task(events(model))
        await server.stalled.wait()
        task.cancel()

    async with asyncio.timeout(WAIT_S):
        await server.closed_by_client.wait()
    assert task.cancelled()


async def test_a_connection_that_was_read_out_serves_again(
    server: ModelServer, model: CompatibleModel, session: aiohttp.ClientSession
) -> None:
    for _ in range(3):
        await finished(model)

    connector = session.connector
    assert connector is not None
    assert len(connector._conns) == 1


async def test_the_end_that_comes_a_moment_after_the_last_word_is_read_too(
    session: aiohttp.ClientSession,
) -> None:
    """Else every answer would cost a connection."""
    connections = set[object]()

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        connections.add(request.transport)
        await request.read()
        response = web.StreamResponse()
        await response.prepare(request)
        await response.write(b'data: {"choices": [{"delta": {"content": "Yes"}}]}\n\n')
        await response.write(b"data: [DONE]\n\n")
        for _ in range(50):
            await asyncio.sleep(0)
        await response.write_eof()
        return response

    async with serving(answer) as url:
        texts = [(await finished(model_at(url, session))).said.text for _ in range(3)]

    assert texts == ["Yes"] * 3
    assert len(connections) == 1


async def test_a_kept_connection_the_server_dropped_costs_one_more_request_and_no_error(
    session: aiohttp.ClientSession,
) -> None:
    """The server answers on a connection once, takes the next request on it and hangs up."""
    body = b'{"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}'
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    connections = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal connections
        connections += 1
        await reader.readuntil(b"stream_options")
        writer.write(answer)
        await reader.readuntil(b"stream_options")
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as listening:
        port = listening.sockets[0].getsockname()[1]
        model = model_at(f"http://127.0.0.1:{port}", session)
        texts = [(await finished(model)).said.text for _ in range(2)]
        await session.close()

    assert texts == ["Yes", "Yes"]
    assert connections == 2


@pytest.mark.parametrize(
    ("pieces", "expected"),
    [
        ((b"data: {broken\n\n",), ProviderBusy),
        ((b"data: 17\n\n",), ProviderBusy),
        ((b'data: {"choices": 17}\n\n',), ProviderBusy),
        ((b"<html>\n<body>Log in</body>\n",), NoModelService),
        ((b'{"hello": "world"}',), NoModelService),
        ((b'data: {"error": {"code": 429, "message": "slow"}}\n\n',), ProviderBusy),
        ((b'data: {"error": {"code": 402, "message": "pay"}}\n\n',), ProviderBilling),
        ((b'data: {"error": {"type": "overloaded_error"}}\n\n',), ProviderBusy),
        ((b'data: {"error": "it broke"}',), ProviderBusy),
        (
            (
                b'data: {"choices": [{"delta": {"content": "So"}}]}\n\n',
                b'event: error\ndata: {"error": {"code": "context_length_exceeded"}}\n\n',
            ),
            PromptTooLong,
        ),
    ],
)
async def test_what_is_no_answer_is_an_error_although_the_status_is_200(
    server: ModelServer,
    model: CompatibleModel,
    pieces: tuple[bytes, ...],
    expected: type[ProviderError],
) -> None:
    server.raw(*pieces)

    with pytest.raises(ProviderError) as caught:
        await events(model)

    assert type(caught.value) is expected


async def test_an_optional_field_a_service_refuses_is_left_out_from_then_on(
    session: aiohttp.ClientSession,
) -> None:
    """OpenAI's reasoning models: no `max_tokens`, no temperature of the owner's."""
    warm = replace(HELLO, temperature=0.5)

    def script(body: dict[str, object]) -> Says | Fails:
        for field in ("max_tokens", "temperature"):
            if field in body:
                return Fails(400, error("unsupported_parameter", param=field))
        return Says("Thought through.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, session)
        texts = [(await finished(model, warm)).said.text for _ in range(2)]

    assert texts == ["Thought through."] * 2
    assert len(server.requests) == 4
    assert server.requests[-1]["max_completion_tokens"] == HELLO.max_tokens


async def test_a_field_that_cannot_be_left_out_is_the_owners_business(
    server: ModelServer, model: CompatibleModel
) -> None:
    server.fail(400, error("invalid_value", param="tools"))

    with pytest.raises(ProviderRejected):
        await events(model)

    assert len(server.requests) == 1


async def test_nobody_listening_is_busy_and_a_wrong_address_is_rejected(
    server: ModelServer, session: aiohttp.ClientSession
) -> None:
    with pytest.raises(ProviderBusy):
        await events(model_at("http://127.0.0.1:9/v1", session))
    with pytest.raises(ProviderRejected):
        await events(model_at("no address", session))
    with pytest.raises(ProviderAuth):
        await events(model_at(server.base_url, session, key="sk\nX-Evil: 1"))
    with pytest.raises(ProviderAuth):
        await events(model_at(server.base_url, session, key="sk-wrong"))

    assert server.requests == []


async def test_a_closed_session_is_busy(server: ModelServer) -> None:
    session = aiohttp.ClientSession()
    await session.close()

    with pytest.raises(ProviderBusy):
        await events(model_at(server.base_url, session))


async def test_an_address_that_speaks_no_tls_is_the_owners_business(
    server: ModelServer, session: aiohttp.ClientSession
) -> None:
    with pytest.raises(NoModelService):
        await events(model_at(server.base_url.replace("http:", "https:"), session))


async def test_a_server_that_asks_for_no_key_gets_no_authorization(
    session: aiohttp.ClientSession,
) -> None:
    async with ModelServer() as server:
        await finished(model_at(server.base_url, session, key=""))

        assert "Authorization" not in server.headers[0]


async def test_what_the_environment_says_of_another_account_is_not_sent(
    server: ModelServer, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The SDK would read it; ours is the configuration and nothing else."""
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ADMIN_KEY", "sk-of-somebody-else")
    monkeypatch.setenv("OPENAI_ORG_ID", "org-else")
    monkeypatch.setenv("OPENAI_PROJECT_ID", "proj-else")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/else")
    monkeypatch.setenv("OPENAI_CUSTOM_HEADERS", "Authorization: else\nX-Else: else")

    await finished(model_at(server.base_url, session))
    async with ModelServer() as keyless:
        await finished(model_at(keyless.base_url, session, key=""))

    sent = server.headers[0]
    assert sent["Authorization"] == f"Bearer {KEY}"
    assert "else" not in str([*sent.items(), *keyless.headers[0].items()])


async def test_a_compressed_answer_is_read_though_nobody_asked_for_one(
    session: aiohttp.ClientSession,
) -> None:
    body = gzip.compress(b'{"choices": [{"message": {"content": "Yes"}, "finish_reason": "stop"}]}')

    async def answer(request: web.BaseRequest) -> web.Response:
        await request.read()
        assert request.headers["Accept-Encoding"] == "identity"
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    async with serving(answer) as url:
        assert (await finished(model_at(url, session))).said.text == "Yes"


async def test_a_refusal_without_end_is_read_in_part(session: aiohttp.ClientSession) -> None:
    sent = 0

    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = web.StreamResponse(status=500)
        await response.prepare(request)
        while True:
            await response.write(b"x" * 65536)
            sent += 65536

    async with serving(answer) as url:
        with pytest.raises(ProviderBusy, match="HTTP 500"):
            await events(model_at(url, session))

    assert sent < 64 * 1024 * 1024


async def test_without_a_script_the_server_echoes(
    server: ModelServer, model: CompatibleModel
) -> None:
    """A promise of the fake that other tests rest on."""
    assert (await finished(model)).said.text == "Hello"
