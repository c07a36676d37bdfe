"""aouo's own model code against every family's rules: one behaviour a test, each profile a column.

The local services refuse what the real ones refuse (`tests.fakes.models`), so that a green cell
means: this works there, as far as anybody wrote down how the service behaves.
"""

from __future__ import annotations

import asyncio
import base64
import json
import re
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, suppress
from typing import Any

import aiohttp
import pytest

from aouo.app.services import model_of
from aouo.config.settings import Settings
from aouo.facts.errors import (
    ContentFiltered,
    ModelGone,
    PromptTooLong,
    ProviderAuth,
    ProviderBilling,
    ProviderBroke,
    ProviderBusy,
    ProviderError,
    ProviderRejected,
    QuotaUsedUp,
    Stumbled,
    UnexplainedRefusal,
)
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Image,
    Message,
    ModelRequest,
    StartedOver,
    SystemSaid,
    TextDelta,
    ToolCall,
    ToolReturned,
    ToolSpec,
    UserSaid,
)
from aouo.plumbing.resources import Holder
from aouo.providers.refusals import refuses_pictures
from tests.fakes.clock import FastClock
from tests.fakes.models import CallPart, ModelService, Says, names, profile
from tests.fakes.models.telling import Fails
from tests.sampling import FAMILIES, taking

WAIT_S = 20.0
LEARNT = 2
"""So many refused requests a new model may cost, all in all (issue 12, "Done when")."""
ADD = ToolSpec("add", "Add a row.", {"type": "object", "properties": {"row": {"type": "string"}}})
SYSTEM = "You are kind. " + "Be brief. " * 700
PHOTO = Image("image/png", b"\x89PNG\x00\xff bytes")


def each(*only: str) -> Any:
    """Every profile, or those alone that have what a test is about."""
    return pytest.mark.parametrize("name", taking(only or names(), {*FAMILIES, *only[:1]}))


@pytest.fixture
async def service(name: str) -> AsyncIterator[ModelService]:
    async with ModelService(profile(name)) as service:
        yield service


@pytest.fixture
async def model(service: ModelService, session: aiohttp.ClientSession) -> AsyncIterator[ChatModel]:
    async with AsyncExitStack() as stack:
        yield await made(service, session, stack)


async def made(
    service: ModelService,
    session: aiohttp.ClientSession,
    stack: AsyncExitStack,
    name: str = "",
    *,
    idle_s: float = WAIT_S,
) -> ChatModel:
    """The model as the runtime makes it from the settings, without retries."""
    known = service.settings(name)
    quick = {"max_retries": 0, "request_timeout_s": WAIT_S, "stream_idle_timeout_s": idle_s}
    settings = Settings.model_validate(known | {"provider": known["provider"] | quick})
    held = await stack.enter_async_context(Holder())
    return await model_of(settings, session, held, FastClock())


def asked(*messages: Message, **more: Any) -> ModelRequest:
    told: dict[str, Any] = {"tools": (ADD,), "context": "It is noon.", "max_tokens": 1_000}
    return ModelRequest(SYSTEM, messages, **(told | more))


def bare(*messages: Message, **more: Any) -> ModelRequest:
    """Without tools and context, so that only what a test is about can be refused."""
    return asked(*messages, **({"tools": (), "context": ""} | more))


async def answered(model: ChatModel, request: ModelRequest) -> Finished:
    async with asyncio.timeout(WAIT_S):
        events = [event async for event in model.stream(request)]
    last = events[-1]
    assert isinstance(last, Finished)
    said = "".join(event.text for event in events if isinstance(event, TextDelta))
    assert said == last.said.text
    return last


async def refusal(model: ChatModel, request: ModelRequest) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await answered(model, request)
    return caught.value


def refused(service: ModelService) -> list[str]:
    return [wrong.about for wrong in service.refusals]


HELLO = UserSaid("Hello")


@each()
async def test_a_greeting_with_tools_is_answered_and_what_was_learnt_is_kept(
    service: ModelService, model: ChatModel
) -> None:
    """Findings 2, 3, 4 and 17: the first message with most of what is sold."""
    service.say("Good morning")

    assert (await answered(model, asked(HELLO))).said.text == "Good morning"
    learnt = refused(service)
    await answered(model, asked(HELLO))

    assert refused(service) == learnt
    assert len(learnt) <= LEARNT


@each()
async def test_a_tool_turn_and_the_next_message_are_answered(
    service: ModelService, model: ChatModel
) -> None:
    """Findings 8 and 22: what came with a call goes back with it."""
    service.call("add", {"row": "milk"})
    first = await answered(model, asked(HELLO))
    learnt = len(refused(service))
    (call,) = first.said.calls
    turn = (HELLO, first.said, ToolReturned(call.id, "add", "done"))

    second = await answered(model, asked(*turn))
    await answered(model, asked(*turn, second.said, UserSaid("And eggs")))

    assert call.name == "add"
    assert refused(service)[learnt:] == []


@each()
async def test_two_calls_of_one_answer_are_told_apart_and_go_back_together(
    service: ModelService, model: ChatModel
) -> None:
    milk, eggs = {"row": "milk", "how": {"many": 2}}, {"row": "eggs"}
    service.calls(CallPart("add", milk), CallPart("add", eggs), text="I add both.")
    last = await answered(model, asked(HELLO))
    said = last.said
    learnt = len(refused(service))
    results = tuple(ToolReturned(call.id, "add", "done") for call in said.calls)

    await answered(model, asked(HELLO, said, *results))

    assert (said.text, last.reason) == ("I add both.", "tool_calls")
    assert [(call.name, json.loads(call.arguments)) for call in said.calls] == [
        ("add", milk),
        ("add", eggs),
    ]
    assert len({call.id for call in said.calls} - {""}) == 2
    assert refused(service)[learnt:] == []


@each()
async def test_the_context_of_a_later_message_is_taken(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 3."""
    history = (HELLO, AssistantSaid("Hello, who are you?"), UserSaid("I am Ada"))

    await answered(model, asked(*history))

    assert len(refused(service)) <= LEARNT


@each()
async def test_the_summary_of_what_was_said_before_is_taken(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 3."""
    history = (SystemSaid("Before: they bought milk."), HELLO, AssistantSaid("Hi"), UserSaid("?"))

    await answered(model, asked(*history))

    assert len(refused(service)) <= LEARNT


@each()
async def test_calls_of_another_service_are_taken_into_the_history(
    service: ModelService, model: ChatModel
) -> None:
    """Findings 21 and 22: a fallback, or a change of provider in the middle."""
    call = ToolCall("call_0123456789abcdef", "add", '{"row": "milk"}')
    native = (
        '{"wire": "chat", "provider": "nobody", "model": "m", '
        '"message": {"reasoning_content": "I add it."}, "calls": [{}]}'
    )
    before = (HELLO, AssistantSaid("", (call,), native), ToolReturned(call.id, "add", "done"))

    await answered(model, asked(*before, AssistantSaid("Done."), UserSaid("Thanks")))
    await answered(model, asked(*before))

    assert len(refused(service)) <= LEARNT


@each()
async def test_thoughts_and_calls_of_a_server_of_ones_own_are_taken_by_every_service(
    name: str, service: ModelService, model: ChatModel, session: aiohttp.ClientSession
) -> None:
    """Finding 22: a change of provider in the middle, from vLLM's `reasoning`."""
    async with ModelService(profile("vllm")) as vllm, AsyncExitStack() as stack:
        before = await made(vllm, session, stack, "deepseek-ai/DeepSeek-V4-Flash")
        vllm.reply(Says("", (CallPart("add", {"row": "milk"}),), thoughts="I add it."))
        said = (await answered(before, asked(HELLO))).said
    assert "I add it." in said.native
    turn = (HELLO, said, ToolReturned(said.calls[0].id, "add", "done"))

    last = (await answered(model, asked(*turn))).said
    await answered(model, asked(*turn, last, UserSaid("And eggs")))

    assert len(refused(service)) <= LEARNT
    if name != "vllm":
        assert "I add it." not in json.dumps(service.requests)


SEES = tuple(name for name in names() if profile(name).models[profile(name).model].sees)


@each(*SEES)
async def test_a_photo_reaches_a_model_that_sees(service: ModelService, model: ChatModel) -> None:
    """Finding 12: what its name tells of a model."""
    await answered(model, asked(UserSaid("What is this?", (PHOTO,))))

    assert model.sees
    assert base64.b64encode(PHOTO.data).decode() in json.dumps(service.requests[-1])
    assert service.answers[-1].prompt_tokens > 700


@each()
async def test_a_temperature_that_the_owner_set_is_dropped_where_it_is_refused(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 4."""
    await answered(model, bare(HELLO, temperature=0.2))
    learnt = len(refused(service))
    await answered(model, bare(HELLO, temperature=0.2))

    assert len(refused(service)) == learnt <= LEARNT + 1


@each()
async def test_thoughts_are_no_part_of_the_answer(service: ModelService, model: ChatModel) -> None:
    service.think("Who may it be?", "Come in.", reasoning_tokens=14)

    last = await answered(model, bare(HELLO))

    assert last.said.text == "Come in."
    assert last.usage.reasoning_tokens == 14


CACHES = tuple(name for name in names() if profile(name).caching.kind == "blocks")
TELL_CACHED = tuple(name for name in CACHES if profile(name).stream.cached != "none")


@each(*TELL_CACHED)
async def test_what_the_service_had_read_before_is_counted(
    service: ModelService, model: ChatModel
) -> None:
    """The prompt is one piece longer: all before it is cached (finding 10)."""
    await answered(model, bare(HELLO))
    last = await answered(model, bare(HELLO, AssistantSaid("Hi."), UserSaid("And now?")))

    assert last.usage.input_tokens > last.usage.cached_tokens > 0.7 * last.usage.input_tokens


@each("openrouter")
async def test_where_a_cache_has_to_be_asked_for_it_is(
    name: str, service: ModelService, session: aiohttp.ClientSession
) -> None:
    """Finding 23: Claude at OpenRouter caches what is marked, and nothing else."""
    async with AsyncExitStack() as stack:
        model = await made(service, session, stack, "anthropic/claude-sonnet-4.6")
        talk = (HELLO, AssistantSaid("Hi."), UserSaid("And now?"))
        await answered(model, asked(HELLO))
        usage = (await answered(model, asked(*talk))).usage

    assert usage.input_tokens > usage.cached_tokens > 0.7 * usage.input_tokens
    assert refused(service) == []


@each(*(name for name in names() if name not in ("ollama", "lmstudio", "gemini")))
async def test_a_prompt_that_is_too_long_makes_room(
    name: str, session: aiohttp.ClientSession
) -> None:
    """Finding 6: `make_room` meets both classes."""
    async with ModelService(profile(name), loaded=16_384) as service, AsyncExitStack() as stack:
        model = await made(service, session, stack)
        history = (UserSaid("word " * 16_000), AssistantSaid("Yes?"), UserSaid("Hello"))

        error = await refusal(model, bare(*history))

    assert any(wrong.trouble.startswith("too_long") for wrong in service.refusals)
    assert isinstance(error, PromptTooLong | UnexplainedRefusal)


@each("anthropic")
async def test_a_prompt_that_fits_without_its_answer_is_answered_with_less_room(
    name: str, session: aiohttp.ClientSession
) -> None:
    """Claude up to Opus 4.1: prompt and answer together are held against the window."""
    async with ModelService(profile(name), loaded=16_384) as service, AsyncExitStack() as stack:
        model = await made(service, session, stack, "claude-opus-4-1-20250805")
        history = (UserSaid("word " * 8_000), AssistantSaid("Yes?"), UserSaid("Hello"))

        last = await answered(model, bare(*history, max_tokens=12_000))

    assert last.said.text.endswith("Hello")
    assert [wrong.trouble for wrong in service.refusals] == ["too_long_with_answer"]


@each("anthropic")
async def test_a_prompt_that_leaves_no_room_for_its_answer_makes_room(
    name: str, session: aiohttp.ClientSession
) -> None:
    history = (UserSaid("word " * 8_000), AssistantSaid("Yes?"), UserSaid("Hello"))
    opus = "claude-opus-4-1-20250805"
    async with ModelService(profile(name)) as service, AsyncExitStack() as stack:
        model = await made(service, session, stack, opus)
        await answered(model, bare(*history))
        prompt = service.answers[-1].prompt_tokens
    small = ModelService(profile(name), loaded=prompt + 100)
    async with small as service, AsyncExitStack() as stack:
        model = await made(service, session, stack, opus)

        error = await refusal(model, bare(*history))

    assert [wrong.trouble for wrong in service.refusals] == ["too_long_with_answer"]
    assert isinstance(error, PromptTooLong)


TROUBLES: dict[str, type[ProviderError] | tuple[type[ProviderError], ...]] = {
    "wrong_key": ProviderAuth,
    "no_money": ProviderBilling,
    "billing": ProviderBilling,
    "busy": ProviderBusy,
    "capacity": ProviderBusy,
    "overloaded": ProviderBusy,
    "overloaded_inside": ProviderBusy,
    "down": ProviderBusy,
    "down_inside": ProviderBusy,
    "failed_inside": ProviderBusy,
    "loading": ProviderBusy,
    "html": ProviderBusy,
    "declined": ContentFiltered,
    "guardrail": ContentFiltered,
    "stumbled": Stumbled,
    "stumbled_inside": Stumbled,
    "stumbled_old": Stumbled,
    "idle_inside": ProviderBusy,
    "usage_limit": ProviderBusy,
    "no_subscription": ModelGone,
    "retired": ModelGone,
    "per_day": ProviderBusy,
    "too_long_inside": PromptTooLong,
    # refusals of 2026 (issue 12, item 5)
    "no_model_old": ModelGone,
    "no_model_any_more": ModelGone,
    "not_for_us": ModelGone,
    "not_for_us_at_all": ModelGone,
    "not_for_this_project": ModelGone,
    "restricted": ProviderAuth,
    "leaked_key": ProviderAuth,
    "denied": ProviderAuth,
    "credits_used_up": ProviderBilling,
    "credits_used_up_old": ProviderBilling,
    "spent": ProviderBilling,
    "spent_on_plan": ProviderBilling,
    "exhausted": ProviderBusy,
    "tokens_used_up": ProviderBusy,
    "too_many_at_once": ProviderBusy,
    "busy_account": ProviderBusy,
    "stumbled_schema": ProviderBusy,
    "too_long_input": (PromptTooLong, UnexplainedRefusal),
    "wrong_key_gateway": ProviderAuth,
    "wrong_key_named": ProviderAuth,
    "no_money_403": ProviderBilling,
    "no_money_429": ProviderBilling,
    "key_limit": ProviderBilling,
    "budget": ProviderBilling,
    "in_flight": ProviderBusy,
    "busy_gateway": ProviderBusy,
    "busy_now": ProviderBusy,
    "capacity_503": ProviderBusy,
    "overloaded_cloud": ProviderBusy,
    "not_loading": (ProviderBusy, ProviderBroke),
    "tokens_per_day": QuotaUsedUp,
    "declined_plain": ContentFiltered,
    "no_model_typed": ModelGone,
    "extra_field_plain": ProviderRejected,
    "no_effort_short": ProviderRejected,
    "no_tools": ProviderRejected,
    "no_tools_named": ProviderRejected,
    "no_thinking": ProviderRejected,
    "think_value": ProviderRejected,
    "no_jinja": ProviderRejected,
    "no_memory": ProviderBroke,
    "no_route": ProviderRejected,
    "not_loaded": ProviderBroke,
    "not_loaded_old": ProviderBroke,
    "data_policy": ProviderRejected,
    "tool_schema": ProviderRejected,
    "switch": ProviderRejected,
}
"""Sources that say different things of a service are met both: as two troubles."""


@pytest.mark.parametrize(
    ("name", "trouble"),
    taking((name, one) for name in names() for one in TROUBLES if one in profile(name).troubles),
)
async def test_a_trouble_comes_out_in_its_class(
    trouble: str, service: ModelService, model: ChatModel
) -> None:
    """Findings 13, 18 and 19."""
    service.trouble(trouble, times=5)

    error = await refusal(model, asked(HELLO))

    assert service.refusals[-1].trouble == trouble
    assert isinstance(error, TROUBLES[trouble])
    assert not re.search(r"\$[a-z]", str(error))


CANNOT = [
    (name, one)
    for name in names()
    for one in (
        "data_policy",
        "no_jinja",
        "no_tools",
        "not_loaded",
        "not_loaded_old",
        "tool_schema",
    )
    if one in profile(name).troubles
]


@pytest.mark.parametrize(("name", "trouble"), taking(CANNOT))
async def test_what_the_owner_has_to_mend_costs_no_history_and_no_waiting(
    trouble: str, service: ModelService, model: ChatModel
) -> None:
    """A refusal without an explanation makes room once; one that says what is wrong does not."""
    service.trouble(trouble, times=9)

    error = await refusal(model, bare(HELLO, AssistantSaid("Hi."), UserSaid("And now?")))

    assert service.refusals[-1].trouble == trouble
    assert not isinstance(error, UnexplainedRefusal | ProviderBusy | ModelGone)


@each("lmstudio")
async def test_a_model_that_crashed_costs_no_history(
    service: ModelService, model: ChatModel
) -> None:
    """LM Studio says so with 400 (finding 7)."""
    service.trouble("crashed", times=5)

    assert isinstance(await refusal(model, bare(HELLO)), ProviderBroke)


BLIND = [
    (name, one)
    for name in names()
    for one in ("blind", "blind_old")
    if one in profile(name).troubles
]


@pytest.mark.parametrize(("name", "trouble"), taking(BLIND))
async def test_a_model_that_sees_nothing_is_told_from_one_that_fails(
    trouble: str, service: ModelService, model: ChatModel
) -> None:
    service.trouble(trouble, times=9)

    error = await refusal(model, bare(UserSaid("What is this?", (PHOTO,))))

    assert service.refusals[-1].trouble == trouble
    assert refuses_pictures(error)


@each()
async def test_arguments_that_a_model_broke_are_sent_back_as_such_that_can_be_read(
    service: ModelService, model: ChatModel
) -> None:
    """Else one broken call poisons the conversation (github.com/local-inference-lab/vllm/issues/684
    of September 2026)."""
    call = ToolCall("call_0123456789abcdef", "add", '{"row": "mi')
    broken = AssistantSaid("", (call,))
    said = AssistantSaid("I could not.")

    await answered(
        model, asked(HELLO, broken, ToolReturned(call.id, "add", "No."), said, UserSaid("And?"))
    )

    assert len(refused(service)) <= LEARNT


@each()
async def test_an_answer_without_words_is_no_reason_to_refuse_the_next_message(
    service: ModelService, model: ChatModel
) -> None:
    await answered(model, asked(HELLO, AssistantSaid(""), UserSaid("Are you there?")))

    assert len(refused(service)) <= LEARNT


@each()
async def test_a_model_that_is_gone_is_not_taken_for_a_passing_or_a_long_request(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 1."""
    service.trouble("no_model", times=5)

    error = await refusal(model, bare(HELLO))

    assert service.refusals[-1].trouble == "no_model"
    assert isinstance(error, ModelGone)


@each("openai", "groq", "gemini", "google", "deepseek", "anthropic")
async def test_a_model_that_is_gone_is_said_to_be_gone(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 1: so that the fallback steps in, and the owner reads which ones there are."""
    service.trouble("no_model", times=5)

    assert isinstance(await refusal(model, bare(HELLO)), ModelGone)


@each("openai", "gemini", "google")
async def test_a_country_without_the_service_is_neither_the_key_nor_the_models_name(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 18."""
    service.trouble("region", times=5)

    error = await refusal(model, bare(HELLO))

    assert service.refusals[-1].trouble == "region"
    assert type(error) not in (ProviderAuth, ProviderRejected, UnexplainedRefusal)


@each("openrouter", "gemini")
async def test_a_daily_quota_is_waited_for_longer_than_a_minute(
    service: ModelService, model: ChatModel
) -> None:
    """Finding 19."""
    service.trouble("per_day", times=5)

    error = await refusal(model, bare(HELLO))

    assert isinstance(error, ProviderBusy)
    assert error.retry_after_s > 60


@each("groq")
async def test_a_minutes_tokens_are_not_taken_for_a_long_prompt(
    name: str, session: aiohttp.ClientSession
) -> None:
    """Finding 9: the room for the answer counts too, so less of it is asked for."""
    async with ModelService(profile(name), plan="free") as service, AsyncExitStack() as stack:
        model = await made(service, session, stack)

        last = await answered(model, bare(HELLO, max_tokens=16_384))

    assert last.said.text.endswith("Hello")
    assert [wrong.trouble for wrong in service.refusals] == ["tokens_per_minute_large"]


@each("openai")
async def test_a_model_that_is_on_responses_only_answers_with_tools(
    name: str, service: ModelService, session: aiohttp.ClientSession
) -> None:
    """Finding 2."""
    async with AsyncExitStack() as stack:
        model = await made(service, session, stack, "gpt-6-astra")

        service.call("add", {"row": "milk"})

        assert (await answered(model, asked(HELLO))).said.calls[0].name == "add"


@each("openrouter")
async def test_twenty_thousand_comments_before_the_first_word_are_no_answer_and_no_error(
    service: ModelService, model: ChatModel
) -> None:
    """Issue 12, "Bad input"."""
    said = b'data: {"choices": [{"index": 0, "delta": {"content": "So"}, "finish_reason": "stop"}]}'
    service.raw(*[b": OPENROUTER PROCESSING\n\n" * 1_000] * 20, said + b"\n\ndata: [DONE]\n\n")

    assert (await answered(model, bare(HELLO))).said.text == "So"


@each("deepseek", "openrouter", "llamacpp", "ollama")
async def test_ten_megabytes_of_thoughts_are_no_part_of_the_answer(
    service: ModelService, model: ChatModel
) -> None:
    """Issue 12, "Bad input"."""
    service.think("Hm, well. " * 1_000_000, "So", reasoning_tokens=10)

    assert (await answered(model, bare(HELLO))).said.text == "So"


ALOUD = [(name, at) for name in names() for at in range(len(profile(name).aloud))]


@pytest.mark.parametrize("chunks", [1, 3, 10_000])
@pytest.mark.parametrize(("name", "at"), ALOUD)
async def test_text_that_is_no_answer_is_neither_said_nor_sent_back(
    name: str, at: int, chunks: int, service: ModelService, model: ChatModel
) -> None:
    """However the stream is cut: thoughts, channels, tags of a server without the right parser."""
    one = profile(name).aloud[at]
    service.reply(Says(one.text, chunks=chunks))
    shown = ""
    async with asyncio.timeout(WAIT_S):
        async for event in model.stream(bare(HELLO)):
            match event:
                case TextDelta(text):
                    shown += text
                case StartedOver():
                    shown = ""
                case Finished(said):
                    assert said.text.strip() == one.says
                case _:
                    pass
    await answered(model, bare(HELLO, AssistantSaid(one.says or "…"), UserSaid("And now?")))

    assert shown.strip() == one.says
    assert "Secret plan" not in json.dumps(service.requests[-1])


@each()
async def test_after_a_refusal_that_says_nothing_what_was_said_is_still_told(
    service: ModelService, model: ChatModel
) -> None:
    """A model's code leaves out what is foreign, never what was said: to shorten a history is the
    turn's to decide, and to say."""
    await answered(model, bare(HELLO))
    service.reply(Fails(400, {"error": {"message": "Bad request.", "code": 400}}))
    history = (UserSaid("I am Ada."), AssistantSaid("Hello, Ada."), UserSaid("Who am I?"))
    before = len(service.requests)

    with suppress(ProviderError):
        await answered(model, bare(*history))

    for body in service.requests[before:]:
        assert "I am Ada." in json.dumps(body)


@pytest.mark.parametrize(
    ("name", "named", "wish"),
    [
        ("gemini", "gemini-3.8-flash", "minimal"),
        ("gemini", "gemini-4-argon", "8192"),
        ("gemini", "gemini-3.1-pro-preview", "none"),
        ("openai", "gpt-6.1-sol", "none"),
        ("xai", "grok-4.6", "max"),
    ],
)
async def test_who_asks_for_the_least_or_the_most_gets_the_nearest_and_it_costs_no_refusal(
    name: str, named: str, wish: str, service: ModelService, session: aiohttp.ClientSession
) -> None:
    """What the newest models take is known by their families."""
    async with AsyncExitStack() as stack:
        model = await made(service, session, stack, named)
        await answered(model, bare(HELLO, effort=wish))

    assert refused(service) == []
