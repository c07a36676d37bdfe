"""No more than two refused requests for a new model, then none (issue 12): services that refuse by
their own rules, each with its own words, and what is learnt from them."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import aiohttp
import pytest

from aouo.facts.errors import (
    ModelGone,
    ProviderBusy,
    ProviderRejected,
    ScopeMissing,
    ToolsRefused,
    UnexplainedRefusal,
)
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelRequest,
    ToolCall,
    ToolReturned,
    ToolSpec,
    UserSaid,
)
from aouo.providers.dialect import Dialects, first_dialect
from aouo.providers.service import CompatibleModel
from tests.fakes.model_server import Body, Fails, ModelServer, Reply, Says

ADD = ToolSpec("add", "Add a row.", {"type": "object", "properties": {"row": {"type": "string"}}})
HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), (ADD,))
TITLE = ModelRequest("Name this.", (UserSaid("Hello"),), ())
WAIT_S = 30.0
BOTH = ("/responses", "/chat/completions")
CHAT = ("/chat/completions",)


def refusal(status: int = 400, **error: object) -> Fails:
    return Fails(status, {"error": {"type": "invalid_request_error", **error}})


def named(field: str, code: str | None = "unsupported_parameter") -> Fails:
    return refusal(message=f"words about '{field}'", param=field, code=code)


def thinking(body: Body, *, may_be_none: bool = True) -> Reply:
    """OpenAI's models of 2026: github.com/langflow-ai/langflow/issues/14361 (Jul 2026), for
    gpt-6-astra github.com/genkit-ai/genkit/pull/6303 (Sep 2026)."""
    if "input" in body:
        return named("temperature") if "temperature" in body else Says("Hello.")
    for field in ("max_tokens", "temperature"):
        if field in body:
            return named(field)
    effort = body.get("reasoning_effort")
    if effort == "none" and not may_be_none:
        return named("reasoning_effort", "unsupported_value")
    if "tools" in body and effort != "none":
        return named("reasoning_effort", None)
    return Says("Hello.")


def only_responses(body: Body) -> Reply:
    return thinking(body, may_be_none=False)


def kimi(body: Body) -> Reply:
    """github.com/opencyvis/opencyvis-phone/issues/12."""
    words = "invalid temperature: only 1 is allowed for this model"
    return refusal(message=words) if "temperature" in body else Says("Hello.")


def claude(body: Body) -> Reply:
    """github.com/yilewang/llm-for-zotero/issues/133."""
    words = "temperature is deprecated for this model."
    error = refusal(message=words, param=None, code=None)
    return error if "temperature" in body else Says("Hello.")


def mistral(body: Body) -> Reply:
    """github.com/dnakov/anon-kode/issues/53 (Mar 2025)."""
    if "stream_options" not in body:
        return Says("Hello.")
    loc = ["body", "stream_options", "include_usage"]
    detail = {"detail": [{"type": "extra_forbidden", "loc": loc, "msg": "Extra inputs"}]}
    whole = {"object": "error", "message": detail, "param": None, "code": None}
    return Fails(422, whole)


def old_server(body: Body) -> Reply:
    return Fails(400, "unknown field") if "stream_options" in body else Says("Hello.")


def fastapi_server(body: Body) -> Reply:
    detail = [{"loc": ["body", "stream_options"], "msg": "extra fields not permitted"}]
    return Fails(422, {"detail": detail}) if "stream_options" in body else Says("Hello.")


def short_answers(body: Body) -> Reply:
    """An old model that writes less than we would let it."""
    for field in ("max_tokens", "max_completion_tokens"):
        if field in body:
            return named(field, "invalid_value")
    return Says("Hello.")


def deepseek(body: Body) -> Reply:
    """github.com/qwersyk/Newelle/issues/404 (Jul 2026): the refusal names nothing."""
    words = "The `reasoning_content` in the thinking mode must be passed back to the API."
    said = [one for one in body["messages"] if one["role"] == "assistant"]
    lost = [one for one in said if not one.get("reasoning_content")]
    return (
        refusal(message=words, param=None, code="invalid_request_error") if lost else Says("Hello.")
    )


def groq(body: Body) -> Reply:
    """github.com/CherryHQ/cherry-studio/issues/12298 (Jan 2026)."""
    words = "for 'role:assistant' the following must be satisfied[property 'reasoning_content' …]"
    return refusal(message=words) if _thought(body) else Says("Hello.")


def cerebras(body: Body) -> Reply:
    """github.com/Kilo-Org/kilocode/issues/10375 (May 2026)."""
    error = {"type": "invalid_request_error", "param": "validation_error"}
    words = "messages.2.assistant.reasoning_content: … is unsupported"
    error |= {"code": "wrong_api_format", "message": words}
    return Fails(400, error) if _thought(body) else Says("Hello.")


def strict(body: Body) -> Reply:
    """A server that names the place: Mistral's form."""
    loc = ["body", "messages", 2, "assistant", "reasoning_content"]
    return Fails(422, {"detail": [{"loc": loc}]}) if _thought(body) else Says("Hello.")


def _thought(body: Body) -> bool:
    return any("reasoning_content" in message for message in body["messages"])


def gpt_4o(body: Body) -> Reply:
    """github.com/pydantic/pydantic-ai/issues/2865 (Sep 2025)."""
    return named("include", None) if "include" in body else Says("Hello.")


@dataclass(frozen=True)
class Kind:
    """A service: its rule, its paths, and how many refusals its rule may cost us."""

    rule: Callable[[Body], Reply]
    model: str
    paths: tuple[str, ...] = CHAT
    refused: int = 1
    request: ModelRequest = HELLO


WARM = replace(HELLO, temperature=0.7)
TALK = replace(HELLO, messages=(UserSaid("Hi"), AssistantSaid("Hello."), UserSaid("And?")))
KINDS: Mapping[str, Kind] = {
    "gpt-5.6, chat only": Kind(thinking, "gpt-5.6-luna", refused=2),
    "gpt-6, both wires": Kind(thinking, "gpt-6-luna", BOTH),
    "gpt-6 by another name": Kind(thinking, "work", BOTH, refused=2),
    "gpt-6, warm": Kind(thinking, "gpt-6-luna", BOTH, 2, WARM),
    "gpt-6, effort": Kind(thinking, "gpt-6-luna", BOTH, 2, replace(HELLO, effort="low")),
    "gpt-6-astra": Kind(only_responses, "gpt-6-astra", BOTH),
    "kimi": Kind(kimi, "kimi-k3", refused=0),
    "kimi, warm": Kind(kimi, "kimi-k3", request=WARM),
    "claude": Kind(claude, "claude-opus-4-7", refused=0),
    "claude, warm": Kind(claude, "claude-opus-4-7", request=WARM),
    "mistral": Kind(mistral, "mistral-large"),
    "mistral, warm": Kind(mistral, "mistral-large", request=WARM),
    "deepseek by another name": Kind(deepseek, "work", request=TALK),
    "deepseek by another name, warm": Kind(
        deepseek, "work", refused=2, request=replace(TALK, temperature=0.7)
    ),
    "old server, in the middle": Kind(old_server, "llama", refused=2, request=TALK),
    "kimi at Groq": Kind(groq, "moonshotai/kimi-k2-instruct", request=TALK),
    "kimi at Cerebras": Kind(cerebras, "kimi-k2.6", request=TALK),
    "kimi at a strict server": Kind(strict, "kimi-k2.6", request=TALK),
    "old server": Kind(old_server, "llama"),
    "old server, warm": Kind(old_server, "llama", refused=2, request=WARM),
    "FastAPI server": Kind(fastapi_server, "llama"),
    "short answers": Kind(short_answers, "gpt-4-turbo", refused=2),
}


def model_at(
    base_url: str,
    model: str,
    session: aiohttp.ClientSession,
    dialects: Dialects | None = None,
    key: str = "k",
) -> CompatibleModel:
    return CompatibleModel(
        provider="mine",
        model=model,
        base_url=base_url,
        api_key=key,
        context_window=8000,
        session=session,
        request_timeout_s=WAIT_S,
        stream_idle_timeout_s=WAIT_S,
        dialects=dialects or Dialects(),
    )


async def answer(model: CompatibleModel, request: ModelRequest) -> str:
    async with asyncio.timeout(WAIT_S):
        last = [event async for event in model.stream(request)][-1]
    assert isinstance(last, Finished)
    return last.said.text


@pytest.mark.parametrize("name", KINDS)
async def test_a_new_model_answers_after_at_most_two_refusals_and_then_refuses_no_more(
    session: aiohttp.ClientSession, name: str
) -> None:
    kind = KINDS[name]
    async with ModelServer(kind.rule, wires=kind.paths) as server:
        paths: list[str] = []
        dialects = Dialects()
        for _ in range(3):  # as settings make models anew
            model = model_at(server.base_url, kind.model, session, dialects)
            assert await answer(model, kind.request) == "Hello."
            paths.append(server.paths[-1])
        await answer(model_at(server.base_url, kind.model, session, dialects), TITLE)

        # A path that is not there is refused too, and the fake keeps no body of that.
        missing = int(kind.paths == CHAT and "reasoning_effort" in server.requests[-2])
        assert len(server.requests) + missing == 4 + kind.refused
        assert kind.refused <= 2
        assert len(set(paths)) == 1


@pytest.mark.parametrize(
    ("model", "base_url", "wire", "max_tokens"),
    [
        ("gpt-6-luna", "https://api.openai.com/v1", "responses", "max_completion_tokens"),
        ("gpt-4o-mini", "https://api.openai.com/v1", "responses", "max_tokens"),
        ("o4-mini", "https://eu.api.openai.com/v1", "responses", "max_completion_tokens"),
        ("gpt-6-luna", "https://gateway.example/openai/v1", "chat", "max_completion_tokens"),
        ("gpt-6-luna", "https://api.openai.com.example/v1", "chat", "max_completion_tokens"),
        ("openai/gpt-6-luna", "https://openrouter.ai/api/v1", "chat", "max_tokens"),
        ("gpt-oss:20b", "http://127.0.0.1:11434/v1", "chat", "max_tokens"),
    ],
)
def test_what_a_model_is_asked_like_at_first(
    model: str, base_url: str, wire: str, max_tokens: str
) -> None:
    first = first_dialect(model, base_url)

    assert (first.wire, first.max_tokens) == (wire, max_tokens)


async def test_thinking_with_tools_stays_on_where_the_service_has_a_wire_for_both(
    session: aiohttp.ClientSession,
) -> None:
    async with ModelServer(thinking, wires=BOTH) as server:
        await answer(model_at(server.base_url, "gpt-6-sol", session), HELLO)

    assert server.paths == ["/v1/chat/completions", "/v1/responses"]
    assert "reasoning" not in server.requests[1]


async def test_without_such_a_wire_tools_go_with_the_effort_none_and_words_without(
    session: aiohttp.ClientSession,
) -> None:
    async with ModelServer(thinking) as server:
        model = model_at(server.base_url, "gpt-6-sol", session)
        await answer(model, HELLO)
        await answer(model, TITLE)

    assert [body.get("reasoning_effort") for body in server.requests] == [None, "none", None]


async def test_openais_older_models_are_asked_for_no_sealed_thoughts(
    session: aiohttp.ClientSession,
) -> None:
    async with ModelServer(gpt_4o, wires=BOTH) as server:
        server.refused["/chat/completions"] = refusal(404, param="model", code=None)
        model = model_at(server.base_url, "gpt-4o", session)
        texts = [await answer(model, HELLO) for _ in range(2)]

    assert texts == ["Hello."] * 2
    assert len(server.requests) == 4


async def test_a_refusal_that_nothing_helps_against_is_raised_as_it_began_and_teaches_nothing(
    session: aiohttp.ClientSession,
) -> None:
    replies: list[Reply] = [refusal(message="first"), refusal(message="second"), Says("Hello.")]

    async with ModelServer(lambda _: replies.pop(0)) as server:
        model = model_at(server.base_url, "m", session)
        with pytest.raises(UnexplainedRefusal, match="first"):
            await answer(model, HELLO)
        await answer(model, HELLO)

    assert ["stream_options" in body for body in server.requests] == [True, False, True]


async def test_once_it_answered_an_unexplained_refusal_is_not_about_our_fields(
    session: aiohttp.ClientSession,
) -> None:
    """It is most often a prompt that is too long; asking twice would not make it shorter."""
    replies: list[Reply] = [Says("Hello."), refusal(message="prompt is too long")]

    async with ModelServer(lambda _: replies.pop(0)) as server:
        model = model_at(server.base_url, "m", session)
        await answer(model, HELLO)
        with pytest.raises(UnexplainedRefusal):
            await answer(model, HELLO)

    assert len(server.requests) == 2


async def test_two_that_learn_at_once_do_not_unlearn_from_each_other(
    session: aiohttp.ClientSession,
) -> None:
    """The second began before the first had learnt, and learns something else."""
    dialects = Dialects()
    async with ModelServer(thinking) as server:
        one = model_at(server.base_url, "work", session, dialects)
        other = model_at(server.base_url, "work", session, dialects)
        async with asyncio.TaskGroup() as group:
            group.create_task(answer(one, HELLO))
            group.create_task(answer(other, replace(TITLE, temperature=0.2)))
        before = len(server.requests)
        await answer(one, replace(HELLO, temperature=0.2))

        assert len(server.requests) == before + 1


async def test_what_a_refusal_named_is_kept_though_the_next_try_is_not_answered(
    session: aiohttp.ClientSession,
) -> None:
    replies: list[Reply] = [named("max_tokens"), Fails(503), Says("Hello.")]

    async with ModelServer(lambda _: replies.pop(0)) as server:
        model = model_at(server.base_url, "m", session)
        with pytest.raises(ProviderBusy):
            await answer(model, HELLO)
        await answer(model, HELLO)

    assert ["max_tokens" in body for body in server.requests] == [True, False, False]


async def test_a_wire_that_is_taken_away_later_is_left(session: aiohttp.ClientSession) -> None:
    """A service that changes its mind between two calls (issue 12, "Bad input")."""
    async with ModelServer(thinking, wires=BOTH) as server:
        model = model_at(server.base_url, "work", session)
        await answer(model, HELLO)
        server.refused["/responses"] = Fails(404, {"detail": "Not Found"})
        answers = [await answer(model, HELLO) for _ in range(2)]

    assert answers == ["Hello."] * 2
    assert server.requests[-1]["reasoning_effort"] == "none"
    assert server.paths[-2:] == ["/v1/chat/completions"] * 2


async def test_a_word_that_was_asked_for_and_is_refused_later_is_left_out(
    session: aiohttp.ClientSession,
) -> None:
    rules: list[Callable[[Body], Reply]] = [thinking]

    def rule(body: Body) -> Reply:
        return rules[0](body)

    def changed(body: Body) -> Reply:
        return named("reasoning_effort") if "reasoning_effort" in body else Says("Hello.")

    async with ModelServer(rule) as server:
        model = model_at(server.base_url, "gpt-6-sol", session)
        await answer(model, HELLO)
        rules[0] = changed
        before = len(server.requests)
        answers = [await answer(model, HELLO) for _ in range(2)]

        assert answers == ["Hello."] * 2
        assert len(server.requests) == before + 3


async def test_a_model_that_one_key_has_and_another_has_not_is_still_there_for_the_first(
    session: aiohttp.ClientSession,
) -> None:
    def rule(_: Body) -> Reply:
        gone = refusal(404, message="The model does not exist.", code="model_not_found")
        return gone if server.headers[-1]["Authorization"] == "Bearer other" else Says("Hello.")

    async with ModelServer(rule) as server:
        dialects = Dialects()
        mine = model_at(server.base_url, "m", session, dialects)
        other = model_at(server.base_url, "m", session, dialects, key="other")
        answers = [await answer(mine, HELLO)]
        with pytest.raises(ModelGone):
            await answer(other, HELLO)
        answers.append(await answer(mine, HELLO))

    assert answers == ["Hello."] * 2
    assert len(server.requests) == 3


@pytest.mark.parametrize("code", ["unsupported_value", None])
async def test_an_effort_that_the_service_does_not_know_is_left_out_and_told_to_the_owner(
    session: aiohttp.ClientSession, code: str | None
) -> None:
    def script(body: Body) -> Reply:
        return named("reasoning_effort", code) if "reasoning_effort" in body else Says("Hello.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, "m", session)
        for _ in range(2):
            assert await answer(model, replace(HELLO, effort="ultra")) == "Hello."

    assert len(server.requests) == 3
    assert model.left_out == ("provider.effort",)


@pytest.mark.parametrize(
    ("model", "effort", "sent"),
    [
        ("gpt-oss-120b", "low", {"reasoning_effort": "low"}),
        ("gpt-oss-120b", "none", {"reasoning_effort": "none"}),
        ("deepseek-flash", "max", {"reasoning_effort": "max"}),
        ("deepseek-flash", "none", {"thinking": {"type": "disabled"}}),
        ("kimi-k2.6", "none", {"thinking": {"type": "disabled"}}),
        ("deepseek/deepseek-flash", "none", {"reasoning_effort": "none"}),
        ("deepseek-r1:8b", "none", {"reasoning_effort": "none"}),
    ],
)
async def test_the_effort_goes_out_in_the_words_of_the_service(
    session: aiohttp.ClientSession, model: str, effort: str, sent: dict[str, Any]
) -> None:
    """The first road to no thoughts: api-docs.deepseek.com/guides/thinking_mode."""
    async with ModelServer() as server:
        await answer(model_at(server.base_url, model, session), replace(HELLO, effort=effort))

    fields = ("reasoning_effort", "thinking")
    assert {name: server.requests[0][name] for name in fields if name in server.requests[0]} == sent


async def test_a_picture_that_is_refused_teaches_nothing(session: aiohttp.ClientSession) -> None:
    error = refusal(message="words", param="messages.[1].content", code="invalid_image")

    async with ModelServer(lambda _: error) as server:
        with pytest.raises(ProviderRejected):
            await answer(model_at(server.base_url, "m", session), HELLO)

    assert len(server.requests) == 1


def values(*listed: str) -> str:
    return f"Unsupported value. Supported values are: {', '.join(map(repr, listed))}."


@pytest.mark.parametrize(
    ("name", "wish", "taken", "sent"),
    [
        ("m", "none", ("low", "medium", "high"), "low"),
        ("m", "minimal", ("low", "high"), "low"),
        ("m", "max", ("low", "medium", "high"), "high"),
        ("m", "medium", ("none", "high"), "high"),
        ("m", "8192", ("low", "high"), "high"),
        ("m", "0", ("none", "low"), "none"),
        ("gpt-6.1-sol", "none", ("low", "medium", "high", "xhigh"), "low"),
        ("x-ai/grok-4.6", "max", ("low", "medium", "high", "xhigh"), "xhigh"),
        ("mistral-small-4", "low", ("none", "high"), "high"),
    ],
)
@pytest.mark.parametrize("lists", [True, False])
async def test_an_effort_is_lowered_or_raised_to_the_nearest_that_is_taken(
    session: aiohttp.ClientSession,
    name: str,
    wish: str,
    taken: tuple[str, ...],
    sent: str,
    lists: bool,
) -> None:
    """Whoever asks for the least shall not get a model's default: `reasoning_effort` is sent."""
    blind = not lists and wish in {"medium", "8192"}  # nothing tells which neighbour it takes

    def script(body: Body) -> Reply:
        if body.get("reasoning_effort", taken[0]) in taken:
            return Says("Hello.")
        words = values(*taken) if lists else "Unsupported value."
        return refusal(400, message=words, code="unsupported_value", param="reasoning_effort")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, name, session)
        for _ in range(2):
            assert await answer(model, replace(HELLO, effort=wish)) == "Hello."

    assert len(server.requests) <= 3
    assert server.requests[-1].get("reasoning_effort", "") == model.effort_for(wish)
    assert model.effort_for(wish) == ("" if blind else sent)


async def test_thinking_that_cannot_be_turned_off_is_asked_for_the_least(
    session: aiohttp.ClientSession,
) -> None:
    """OpenRouter names no field (github.com/earendil-works/pi/issues/8454, 2026)."""

    def script(body: Body) -> Reply:
        if body.get("reasoning_effort") in {"none", "minimal"}:
            words = "Reasoning is mandatory for this endpoint and cannot be disabled."
            return refusal(400, message=words, code=400)
        return Says("Hello.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, "m", session)
        assert await answer(model, replace(HELLO, effort="none")) == "Hello."

    assert server.requests[-1]["reasoning_effort"] == "low"


async def test_fields_that_no_endpoint_takes_are_left_out_and_nothing_else_is(
    session: aiohttp.ClientSession,
) -> None:
    def script(body: Body) -> Reply:
        if "reasoning_effort" in body:
            words = "No endpoints found that can handle the requested parameters."
            return refusal(404, message=words, code=404)
        return Says("Hello.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, "m", session)
        for _ in range(2):
            assert await answer(model, replace(HELLO, effort="xhigh")) == "Hello."

    assert len(server.requests) == 3


@pytest.mark.parametrize("helps", [True, False])
async def test_a_key_without_a_scope_is_tried_on_the_other_wire(
    session: aiohttp.ClientSession, helps: bool
) -> None:
    words = "You have insufficient permissions for this operation. Missing scopes: model.request."

    def script(body: Body) -> Reply:
        if helps and "input" in body:
            return Says("Hello.")
        return refusal(401, message=words, code="")

    wires = ("/chat/completions", "/responses")
    async with ModelServer(script, wires=wires) as server:
        model = model_at(server.base_url, "m", session)
        if helps:
            for _ in range(2):
                assert await answer(model, HELLO) == "Hello."
            assert len(server.requests) == 3
            return
        with pytest.raises(ScopeMissing) as caught:
            await answer(model, HELLO)

    assert caught.value.scope == "model.request"


async def test_tools_that_are_taken_at_no_address_cost_no_further_request(
    session: aiohttp.ClientSession,
) -> None:
    """gpt-6.1-sol behind a gateway that has Chat Completions alone."""

    def script(body: Body) -> Reply:
        if body.get("tools"):
            return named("reasoning_effort", "unsupported_value")
        return Says("Hello.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, "gpt-6.1-sol", session)
        for _ in range(3):
            with pytest.raises(ToolsRefused):
                await answer(model, replace(HELLO, tools=(ADD,)))
        assert len(server.requests) <= 3
        assert await answer(model, replace(HELLO, tools=())) == "Hello."


async def test_foreign_signatures_go_before_anything_else_does(
    session: aiohttp.ClientSession,
) -> None:
    """On the chat wire, too: details and `extra_content`, and neither thoughts nor ids."""
    native = {
        "wire": "chat",
        "provider": "mine",
        "model": "m",
        "message": {"reasoning_details": [{"type": "reasoning.encrypted", "data": "foreign"}]},
        "calls": [{"id": "call_1"}],
    }
    said = AssistantSaid("", (ToolCall("c", "add", "{}"),), json.dumps(native))
    request = replace(
        HELLO, messages=(UserSaid("Hi"), said, ToolReturned("c", "add", "added"), UserSaid("So?"))
    )

    def script(body: Body) -> Reply:
        if "foreign" in json.dumps(body):
            return refusal(400, message="Corrupted thought signature.", code=400)
        return Says("Hello.")

    async with ModelServer(script) as server:
        model = model_at(server.base_url, "m", session)
        for _ in range(2):
            assert await answer(model, request) == "Hello."

    assert len(server.requests) == 3
    assert "call_1" in json.dumps(server.requests[-1])
    assert len(server.requests[-1]["messages"]) == len(server.requests[0]["messages"])


async def test_headers_and_fields_of_the_owners_go_with_each_request(
    session: aiohttp.ClientSession,
) -> None:
    """A workspace's id, the order of OpenRouter's servers; what they add stands above ours."""
    async with ModelServer(lambda body: Says("Hello.")) as server:
        model = CompatibleModel(
            provider="mine",
            model="m",
            base_url=server.base_url,
            api_key="k",
            context_window=8000,
            session=session,
            headers={"X-Workspace": "w1"},
            body={"provider": {"order": ["one"]}, "temperature": 0.5},
        )
        assert await answer(model, replace(HELLO, temperature=1.0)) == "Hello."

    assert server.headers[-1]["X-Workspace"] == "w1"
    assert server.requests[-1]["provider"] == {"order": ["one"]}
    assert server.requests[-1]["temperature"] == 0.5
