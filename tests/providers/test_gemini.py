"""What Gemini's own format asks of us, over a real socket and through its SDK."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing

import aiohttp
import pytest

from aouo.facts.errors import (
    ContentFiltered,
    ModelGone,
    NoModelService,
    ProviderAuth,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    ProviderTimeout,
    RegionRefused,
    UnexplainedRefusal,
)
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Image,
    Message,
    ModelEvent,
    ModelRequest,
    SystemSaid,
    TextDelta,
    ToolCall,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)
from aouo.providers.formats.gemini import _dump_native, gemini_body
from aouo.providers.gemini import GeminiModel
from tests.fakes.gemini_server import (
    FOREIGN,
    GeminiServer,
    error,
    reason,
    retry_in,
)
from tests.fakes.model_server import CallPart, Says

KEY = "AIza-very-secret"
HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), ())
ADD = ToolSpec(
    "add",
    "Add a row.",
    {
        "type": "object",
        "properties": {"row": {"type": "string"}},
    },
)
LOOK = ToolSpec("look", "Look around.", {"type": "object", "properties": {}})
WAIT_S = 30.0  # the first call imports the SDK


@pytest.fixture
async def server() -> AsyncIterator[GeminiServer]:
    async with GeminiServer(api_key=KEY) as server:
        yield server


@pytest.fixture
async def model(server: GeminiServer, session: aiohttp.ClientSession) -> GeminiModel:
    return await model_at(server, session)


async def model_at(
    server: GeminiServer,
    session: aiohttp.ClientSession,
    *,
    model: str = "gemini-3-flash",
    key: str = KEY,
    idle_s: float = WAIT_S,
) -> GeminiModel:
    made = GeminiModel(
        provider="gemini",
        model=model,
        api_key=key,
        base_url=server.base_url + "/v1beta/openai/",
        context_window=8000,
        sees=True,
        session=lambda: session,
        request_timeout_s=WAIT_S,
        stream_idle_timeout_s=idle_s,
    )
    if key:
        await made.prepare()
    return made


async def events(model: GeminiModel, request: ModelRequest = HELLO) -> list[ModelEvent]:
    async with asyncio.timeout(WAIT_S):
        return [event async for event in model.stream(request)]


async def finished(model: GeminiModel, request: ModelRequest = HELLO) -> Finished:
    last = (await events(model, request))[-1]
    assert isinstance(last, Finished)
    return last


def asking(*messages: Message) -> ModelRequest:
    return ModelRequest("", messages, (ADD, LOOK))


async def test_a_request_in_its_own_words(server: GeminiServer, model: GeminiModel) -> None:
    call, photo = ToolCall("c1", "add", '{"row": "milk"}'), Image("image/png", b"\x89PNG")
    request = ModelRequest(
        system="You are kind.",
        messages=(
            SystemSaid("[Previous conversation summary: tea]"),
            UserSaid("Hi"),
            AssistantSaid("Hello."),
            UserSaid("Add this", (photo,)),
            AssistantSaid("", (call,)),
            ToolReturned("c1", "add", "ok"),
        ),
        tools=(ADD, LOOK),
        context="It is noon.",
        max_tokens=99,
        temperature=0.25,
    )
    await finished(model, request)

    schema = {"type": "object", "properties": {"row": {"type": "string"}}}
    assert server.requests == [
        {
            "systemInstruction": {"parts": [{"text": "You are kind."}]},
            "tools": [
                {
                    "functionDeclarations": [
                        {
                            "name": "add",
                            "description": "Add a row.",
                            "parametersJsonSchema": schema,
                        },
                        {"name": "look", "description": "Look around."},
                    ]
                }
            ],
            "contents": [
                {
                    "role": "user",
                    "parts": [{"text": "[Previous conversation summary: tea]\n\nHi"}],
                },
                {"role": "model", "parts": [{"text": "Hello."}]},
                {
                    "role": "user",
                    "parts": [
                        {"text": "[It is noon.]\n\nAdd this"},
                        {"inlineData": {"mimeType": "image/png", "data": "iVBORw=="}},
                    ],
                },
                {
                    "role": "model",
                    "parts": [
                        {
                            "functionCall": {"id": "c1", "name": "add", "args": {"row": "milk"}},
                            "thoughtSignature": FOREIGN,
                        }
                    ],
                },
                {
                    "role": "user",
                    "parts": [
                        {
                            "functionResponse": {
                                "id": "c1",
                                "name": "add",
                                "response": {"output": "ok"},
                            }
                        }
                    ],
                },
            ],
            "generationConfig": {"maxOutputTokens": 99, "temperature": 0.25},
        }
    ]


async def test_the_sdk_says_who_we_are_and_the_key_is_in_no_address(
    server: GeminiServer, model: GeminiModel
) -> None:
    await finished(model)

    (headers,) = server.headers
    assert headers["x-goog-api-key"] == KEY
    assert headers["x-goog-api-client"].startswith("google-genai-sdk/")
    assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("GOOGLE_API_KEY", "another"),
        ("GOOGLE_GENAI_USE_VERTEXAI", "true"),
        ("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9"),
        ("GOOGLE_GENAI_API_VERSION", "v1beta"),
    ],
)
async def test_the_environment_says_nothing_about_where_to_go(
    server: GeminiServer,
    session: aiohttp.ClientSession,
    monkeypatch: pytest.MonkeyPatch,
    variable: str,
    value: str,
) -> None:
    monkeypatch.setenv(variable, value)
    server.say("Here I am")

    assert (await finished(await model_at(server, session))).said.text == "Here I am"


async def test_text_streams_and_ends_with_all_of_it_and_its_cost(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.reply(Says("Hello, who is there?", chunks=4, usage=(30, 12, 46), reasoning_tokens=40))

    *deltas, last = await events(model)

    assert "".join(e.text for e in deltas if isinstance(e, TextDelta)) == "Hello, who is there?"
    assert last == Finished(
        AssistantSaid("Hello, who is there?"), Usage(30, 12, 46, reasoning_tokens=40), "stop"
    )


async def test_thoughts_are_never_part_of_the_answer(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.reply(Says("Seven.", thoughts="I should count them.", signature="c2ln"))

    shown = await events(model)

    assert [e for e in shown if isinstance(e, TextDelta)] == [TextDelta("Seven.")]


def test_ten_megabytes_of_parts_are_not_kept() -> None:
    assert _dump_native([{"text": "x" * 10_000_000, "thoughtSignature": "c2ln"}]) == ""


def test_words_that_stand_before_an_answer_of_its_own_are_not_lost() -> None:
    """Neighbours of one side become one message, and only the second has parts of its own."""
    own = _dump_native([{"text": "Two.", "thoughtSignature": "c2ln"}])
    body = gemini_body(
        asking(UserSaid("Hi"), AssistantSaid("One."), AssistantSaid("Two.", (), own), UserSaid("")),
        model="gemini-3-flash",
    )

    assert "One." in str(body["contents"])


@pytest.mark.parametrize("call_ids", [False, True])
async def test_a_turn_with_calls_goes_back_in_the_parts_it_came_in(
    server: GeminiServer, model: GeminiModel, call_ids: bool
) -> None:
    """Gemini 3 refuses a call whose signature is lost, and pairs results by order or id."""
    ids = ("fc-0", "fc-1") if call_ids else ("", "")
    calls = (CallPart("add", {"row": "milk"}, ids[0]), CallPart("look", {}, ids[1]))
    server.reply(Says("One moment.", calls, chunks=3, signature="c2ln"))
    first = await finished(model, asking(UserSaid("Add milk")))
    ours = tuple(ToolCall(f"t{at}", c.name, c.arguments) for at, c in enumerate(first.said.calls))
    said = AssistantSaid(first.said.text, ours, first.said.native)

    again = asking(
        UserSaid("Add milk"),
        said,
        ToolReturned("t1", "look", "No such room", failed=True),
        ToolReturned("t0", "add", "added"),
    )
    await finished(model, again)

    assert first.reason == "tool_calls"
    assert [(c.name, json.loads(c.arguments)) for c in ours] == [
        ("add", {"row": "milk"}),
        ("look", {}),
    ]
    add: dict[str, object] = {"id": "fc-0"} if call_ids else {}
    look: dict[str, object] = {"id": "fc-1"} if call_ids else {}
    assert server.requests[1]["contents"][1:] == [
        {
            "role": "model",
            "parts": [
                {"text": "One moment."},
                {
                    "functionCall": {"name": "add", "args": {"row": "milk"}} | add,
                    "thoughtSignature": "c2ln",
                },
                {"functionCall": {"name": "look", "args": {}} | look},
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "add", "response": {"output": "added"}} | add},
                {
                    "functionResponse": {"name": "look", "response": {"error": "No such room"}}
                    | look
                },
            ],
        },
    ]


async def test_signatures_that_the_service_does_not_know_are_left_out_from_then_on(
    server: GeminiServer, session: aiohttp.ClientSession
) -> None:
    """Another key, project or version of the model made them: one refused request, and then none.
    The history stays, and so does what is signed since."""
    said = AssistantSaid("", (ToolCall("t", "look", "{}"),), json.dumps(
        {"wire": "gemini", "parts": [{"functionCall": {"name": "look"}}]}
    ))  # fmt: skip
    model = await model_at(server, session)
    asked = asking(UserSaid("Look"), said, ToolReturned("t", "look", "dark"))

    for _ in range(2):
        server.say("It is dark.")
        assert (await finished(model, asked)).said.text == "It is dark."

    assert [refusal.trouble for refusal in server.refusals] == ["signature"]
    server.refusals.clear()
    assert len(server.requests) == 3
    told = json.dumps(server.requests[-1]["contents"])
    assert "dark" in told
    assert FOREIGN in told


@pytest.mark.parametrize(
    ("model_name", "signature"),
    [("gemini-3-flash", FOREIGN), ("models/gemini-2.5-flash", None)],
)
async def test_what_another_model_said_is_told_in_this_format(
    server: GeminiServer, session: aiohttp.ClientSession, model_name: str, signature: str | None
) -> None:
    """Signatures are asked for by Gemini 3 only; its documentation names one for such calls."""
    calls = (ToolCall("a", "add", '{"row": '), ToolCall("b", "look", ""))
    said = AssistantSaid("Wait.", calls, native='{"wire": "other", "parts": [1]}')

    await finished(
        await model_at(server, session, model=model_name),
        asking(
            UserSaid("Add"),
            said,
            ToolReturned("a", "add", "broken JSON", failed=True),
            ToolReturned("b", "look", "dark"),
        ),
    )

    words, add, look = server.requests[0]["contents"][1]["parts"]
    assert words == {"text": "Wait."}
    assert add["functionCall"] == {"id": "a", "name": "add", "args": {"": '{"row": '}}
    assert add.get("thoughtSignature") == signature
    assert look == {"functionCall": {"id": "b", "name": "look", "args": {}}}
    results = [part["functionResponse"] for part in server.requests[0]["contents"][2]["parts"]]
    assert [result["id"] for result in results] == ["a", "b"]


async def test_signed_words_are_replayed_and_plain_ones_need_no_native_form(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.say("Plain")
    server.reply(Says("Signed", signature="c2ln"))

    plain, signed = await finished(model), await finished(model)

    assert plain.said == AssistantSaid("Plain")
    assert json.loads(signed.said.native)["parts"] == [
        {"text": "Signed"},
        {"text": "", "thoughtSignature": "c2ln"},
    ]


async def test_an_empty_part_does_not_go_back(server: GeminiServer, model: GeminiModel) -> None:
    """Streams end with one; in a history it is refused: "Unable to submit request because it has an
    empty text parameter" (google-gemini/deprecated-generative-ai-js#361 of February 2025)."""
    native = _dump_native(
        [
            {"text": ""},
            {"functionCall": {"name": "add", "args": {}}, "thoughtSignature": FOREIGN},
            {"text": "", "thoughtSignature": "ZW5k"},
            {"text": ""},
        ]
    )
    said = AssistantSaid("", (ToolCall("t1", "add", "{}"),), native)

    await finished(model, asking(UserSaid("Add"), said, ToolReturned("t1", "add", "added")))

    assert server.requests[0]["contents"][1]["parts"] == [
        {"functionCall": {"name": "add", "args": {}}, "thoughtSignature": FOREIGN},
        {"text": "", "thoughtSignature": "ZW5k"},
    ]


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("STOP", "stop"),
        ("MAX_TOKENS", "length"),
        ("SAFETY", "content_filter"),
        ("RECITATION", "content_filter"),
        ("PROHIBITED_CONTENT", "content_filter"),
        ("BLOCKLIST", "content_filter"),
        ("SPII", "content_filter"),
        ("OTHER", "unknown"),
        ("SOMETHING_NEW", "unknown"),
    ],
)
async def test_why_it_ended(
    server: GeminiServer, model: GeminiModel, given: str, reason: str
) -> None:
    server.reply(Says("So far", reason=given))

    assert (await finished(model)).reason == reason


async def test_an_unreadable_call_is_an_empty_answer_but_never_half_of_one(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.reply(Says("", reason="MALFORMED_FUNCTION_CALL"))
    server.reply(Says("I will add", reason="MALFORMED_FUNCTION_CALL"))

    assert await finished(model) == Finished(AssistantSaid(""), Usage(10, 0, 5), "unknown")
    with pytest.raises(ProviderBusy):
        await finished(model)


REFUSALS: list[tuple[int, object, type[ProviderError], float]] = [
    (400, error(400, "INVALID_ARGUMENT", reason("API_KEY_INVALID")), ProviderAuth, 0),
    (400, error(400, "INVALID_ARGUMENT"), UnexplainedRefusal, 0),
    (400, error(400, "FAILED_PRECONDITION"), RegionRefused, 0),
    (401, error(401, "UNAUTHENTICATED"), ProviderAuth, 0),
    (403, error(403, "PERMISSION_DENIED"), ProviderAuth, 0),
    (404, error(404, "NOT_FOUND"), ModelGone, 0),
    (429, error(429, "RESOURCE_EXHAUSTED", retry_in(34.5)), ProviderBusy, 34.5),
    (500, error(500, "INTERNAL"), ProviderBusy, 0),
    (503, error(503, "UNAVAILABLE"), ProviderBusy, 0),
    (503, [error(503, "UNAVAILABLE")], ProviderBusy, 0),
    (504, error(504, "DEADLINE_EXCEEDED"), ProviderTimeout, 0),
    (502, "<html>bad gateway</html>", ProviderBusy, 0),
    (500, "\ud83d".encode("utf-16-le", "surrogatepass").decode("latin-1"), ProviderBusy, 0),
    (429, '"slow down"', ProviderBusy, 0),
]


@pytest.mark.parametrize(("status", "body", "kind", "wait_s"), REFUSALS)
async def test_a_refusal_by_its_status_and_typed_codes(
    server: GeminiServer,
    model: GeminiModel,
    status: int,
    body: object,
    kind: type[ProviderError],
    wait_s: float,
) -> None:
    server.fail(status, body)

    with pytest.raises(kind) as refused:
        await finished(model)
    assert kind is ProviderRejected or type(refused.value) is kind
    assert getattr(refused.value, "retry_after_s", 0) == wait_s


async def test_no_message_holds_the_key(server: GeminiServer, model: GeminiModel) -> None:
    server.fail(400, error(400, "INVALID_ARGUMENT", message=f"API key {KEY} not valid"))

    with pytest.raises(ProviderRejected) as refused:
        await finished(model)
    assert KEY not in str(refused.value)


@pytest.mark.parametrize("key", ["", "ключ", "wrong"])
async def test_a_key_that_is_none(
    server: GeminiServer, session: aiohttp.ClientSession, monkeypatch: pytest.MonkeyPatch, key: str
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", KEY)

    with pytest.raises(ProviderAuth):
        await finished(await model_at(server, session, key=key))


async def test_a_blocked_prompt_is_declined_content(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.raw(b'data: {"promptFeedback": {"blockReason": "SAFETY"}}\r\n\r\n')

    with pytest.raises(ContentFiltered):
        await finished(model)


async def test_an_error_inside_the_stream_is_read_as_any_other(
    server: GeminiServer, model: GeminiModel
) -> None:
    told = json.dumps(error(429, "RESOURCE_EXHAUSTED", retry_in(2))).encode()
    server.raw(b"data: %b\r\n\r\n" % told)

    with pytest.raises(ProviderBusy) as busy:
        await finished(model)
    assert busy.value.retry_after_s == 2


@pytest.mark.parametrize(
    ("pieces", "kind"),
    [
        ((b"data: {broken\r\n\r\n",), ProviderBusy),
        ((b'data: {"candidates": [7]}\r\n\r\n',), ProviderBusy),
        ((b'data: "words"\r\n\r\n',), ProviderBusy),
        ((b"<html>Welcome</html>\n",), NoModelService),
        ((b"",), ProviderTimeout),
    ],
)
async def test_what_is_no_answer(
    server: GeminiServer,
    model: GeminiModel,
    pieces: tuple[bytes, ...],
    kind: type[ProviderError],
) -> None:
    server.raw(*pieces)

    with pytest.raises(kind) as failed:
        await finished(model)
    assert type(failed.value) is kind


async def test_a_server_that_does_not_stream_is_read_all_the_same(
    server: GeminiServer, model: GeminiModel
) -> None:
    candidate = {"content": {"parts": [{"text": "All"}]}, "finishReason": "STOP"}
    body = json.dumps([{"candidates": [candidate]}], indent=1).encode()
    server.raw(body[:9], body[9:], content_type="application/json")

    shown = await events(model)

    assert shown == [TextDelta("All"), Finished(AssistantSaid("All"), Usage(), "stop")]


async def test_a_cut_stream_is_no_answer(server: GeminiServer, model: GeminiModel) -> None:
    server.cut(2)

    with pytest.raises(ProviderTimeout):
        await finished(model)


async def test_a_silence_in_the_middle_has_an_end(
    server: GeminiServer, session: aiohttp.ClientSession
) -> None:
    model = await model_at(server, session, idle_s=0.05)
    server.stall(2)

    with pytest.raises(ProviderTimeout):
        await finished(model)


async def test_letting_go_of_an_answer_reaches_the_socket(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.stall(1)

    async with asyncio.timeout(WAIT_S):
        async with aclosing(model.stream(HELLO)) as stream:
            assert isinstance(await anext(stream), TextDelta)
        await server.closed_by_client.wait()


async def test_cancelling_before_the_answer_begins_reaches_the_socket(
    server: GeminiServer, model: GeminiModel
) -> None:
    server.stall(0)

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        task = group.create_task(finished(model))
        await server.stalled.wait()
        task.cancel()
    async with asyncio.timeout(WAIT_S):
        await server.closed_by_client.wait()


async def test_answers_at_the_same_time_do_not_mix(
    server: GeminiServer, model: GeminiModel
) -> None:
    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        tasks = [
            group.create_task(finished(model, ModelRequest("", (UserSaid(f"word {at}"),), ())))
            for at in range(20)
        ]

    assert [task.result().said.text for task in tasks] == [f"word {at}" for at in range(20)]


async def test_broken_unicode_is_no_failure(server: GeminiServer, model: GeminiModel) -> None:
    last = await finished(model, ModelRequest("", (UserSaid("half a pair \ud83d"),), ()))

    assert last.said.text == "half a pair ?"


async def test_making_a_model_imports_no_sdk() -> None:
    program = (
        "import sys, aouo.providers.gemini as g;"
        "g.GeminiModel(provider='gemini', model='m', api_key='k', base_url='', context_window=1,"
        " sees=True, session=lambda: None);"
        "print([m for m in ('google.genai', 'httpx2') if m in sys.modules])"
    )
    async with asyncio.timeout(WAIT_S * 3):
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", program, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()

    assert said.strip() == b"[]"


@pytest.mark.parametrize(
    ("name", "effort", "thinking"),
    [
        ("gemini-3.5-flash", "low", {"thinkingLevel": "low"}),
        ("models/gemini-2.5-flash", "none", {"thinkingBudget": 0}),
        ("gemini-2.5-pro", "high", {"thinkingBudget": 24_576}),
        ("gemini-2.5-pro", "-1", {"thinkingBudget": -1}),
        ("gemini-2.5-pro", "hardest", {"thinkingLevel": "hardest"}),
    ],
)
def test_the_owners_effort_is_a_level_or_for_older_models_a_number_of_tokens(
    name: str, effort: str, thinking: dict[str, object]
) -> None:
    """Both together are a 400, says ai.google.dev/gemini-api/docs/gemini-3."""
    body = gemini_body(ModelRequest("", (UserSaid("Hi"),), (), effort=effort), model=name)

    assert body["generationConfig"]["thinkingConfig"] == thinking


async def test_an_effort_that_it_does_not_know_is_left_out_and_told_to_the_owner(
    server: GeminiServer, model: GeminiModel
) -> None:
    refused = {"error": {"code": 400, "message": "words", "status": "INVALID_ARGUMENT"}}
    server.fail(400, refused)
    server.say("Hello.")
    server.say("Hello again.")
    request = ModelRequest("", (UserSaid("Hi"),), (), effort="hardest")

    texts = [(await finished(model, request)).said.text for _ in range(2)]

    assert texts == ["Hello.", "Hello again."]
    assert ["thinkingConfig" in body["generationConfig"] for body in server.requests] == [
        True,
        False,
        False,
    ]
    assert model.left_out == ("provider.effort",)
