"""What every provider does the same way, whatever its format: one behaviour a test, each service
a column (issue 3, "Real parts")."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import aclosing

import aiohttp
import pytest

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
    ProviderTimeout,
    QuotaUsedUp,
    RegionRefused,
    Stumbled,
    UnexplainedRefusal,
)
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    FinishReason,
    Image,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolSpec,
    Usage,
    UserSaid,
)
from tests.providers.services import KEY, WAIT_S, Service, Trouble, all_services

HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), ())
ADD = ToolSpec("add", "Add a row.", {"type": "object", "properties": {"row": {"type": "string"}}})


@pytest.fixture
async def session() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture(params=[service.name for service in all_services()])
async def service(request: pytest.FixtureRequest) -> AsyncIterator[Service]:
    named = {service.name: service for service in all_services()}
    async with named[request.param] as service:
        yield service


@pytest.fixture
async def model(service: Service, session: aiohttp.ClientSession) -> ChatModel:
    return await service.model(session)


async def events(model: ChatModel, request: ModelRequest = HELLO) -> list[ModelEvent]:
    async with asyncio.timeout(4 * WAIT_S):
        return [event async for event in model.stream(request)]


async def finished(model: ChatModel, request: ModelRequest = HELLO) -> Finished:
    last = (await events(model, request))[-1]
    assert isinstance(last, Finished)
    return last


async def failure(model: ChatModel) -> ProviderError:
    with pytest.raises(ProviderError) as caught:
        await events(model)
    return caught.value


async def test_the_pieces_of_a_streamed_text_are_the_answer_and_its_end_says_who_gave_it(
    service: Service, model: ChatModel
) -> None:
    service.say("Hello, who is there?")

    *deltas, last = await events(model)

    assert "".join(e.text for e in deltas if isinstance(e, TextDelta)) == "Hello, who is there?"
    assert isinstance(last, Finished)
    assert last.said.text == "Hello, who is there?"
    assert (last.reason, last.said.calls) == ("stop", ())
    assert (last.provider, last.model) == (service.name, service.model_name)


async def test_the_tokens_of_a_call_are_told_those_from_a_cache_apart(
    service: Service, model: ChatModel
) -> None:
    service.say("Hello", usage=Usage(30, 12, 6))

    assert (await finished(model)).usage == Usage(30, 12, 6)


async def test_a_tool_is_called(service: Service, model: ChatModel) -> None:
    service.call(("add", {"row": "milk", "how": {"many": 2}}))

    last = await finished(model, ModelRequest("", (UserSaid("Add milk"),), (ADD,)))

    (call,) = last.said.calls
    assert (call.name, json.loads(call.arguments)) == ("add", {"row": "milk", "how": {"many": 2}})
    assert last.reason == "tool_calls"


async def test_parallel_calls_keep_their_order_and_have_ids_of_their_own(
    service: Service, model: ChatModel
) -> None:
    service.call(("add", {"row": "milk"}), ("add", {"row": "eggs"}), text="I add both.")

    said = (await finished(model)).said

    assert said.text == "I add both."
    assert [json.loads(call.arguments)["row"] for call in said.calls] == ["milk", "eggs"]
    assert len({call.id for call in said.calls} - {""}) == 2


async def test_an_image_goes_along_inline(service: Service, model: ChatModel) -> None:
    image = Image("image/png", b"\x89PNG\x00\xff bytes")
    service.say("A cat.")

    await finished(model, ModelRequest("", (UserSaid("What is this?", (image,)),), ()))

    assert service.seen_images() == [image]


async def test_an_empty_answer_is_an_answer(service: Service, model: ChatModel) -> None:
    service.say("")

    last = await finished(model)

    assert (last.said.text, last.said.calls) == ("", ())


async def test_thoughts_are_counted_and_are_no_answer(service: Service, model: ChatModel) -> None:
    service.think("Who may it be?", "Come in.", usage=Usage(30, 12, 20, 14))

    *deltas, last = await events(model)

    assert "".join(e.text for e in deltas if isinstance(e, TextDelta)) == "Come in."
    assert isinstance(last, Finished)
    assert (last.said.text, last.usage) == ("Come in.", Usage(30, 12, 20, 14))


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_why_an_answer_ended_is_told(
    service: Service, model: ChatModel, reason: FinishReason
) -> None:
    service.say("So far", reason=reason)

    assert (await finished(model)).reason == reason


@pytest.mark.parametrize(
    ("trouble", "expected"),
    [
        ("wrong key", ProviderAuth),
        ("no money", ProviderBilling),
        ("too long", PromptTooLong),
        ("busy", ProviderBusy),
        ("broken", ProviderBusy),
        ("overloaded", ProviderBusy),
        ("no such model", ModelGone),
        ("declined", ContentFiltered),
        ("moderated", ContentFiltered),
        ("wrong country", RegionRefused),
        ("day used up", QuotaUsedUp),
        ("plan too small", PlanTooSmall),
        ("stumbled", Stumbled),
        ("web page", NoModelService),
    ],
)
async def test_a_refusal_is_the_same_error_from_every_service(
    service: Service, model: ChatModel, trouble: Trouble, expected: type[ProviderError]
) -> None:
    if trouble in service.lacks:
        pytest.skip(f"{service.name} has no such refusal")
    if trouble == "too long" and not service.has_a_word_for_length:
        expected = UnexplainedRefusal
    service.fail(trouble)
    if trouble == "plan too small":  # is met with less room for the answer first
        service.fail(trouble)

    error = await failure(model)

    assert isinstance(error, expected)
    assert KEY not in f"{error} {error!r}"


async def test_a_busy_service_says_when_to_come_back(service: Service, model: ChatModel) -> None:
    service.fail("busy", retry_after_s=7)

    error = await failure(model)

    assert isinstance(error, ProviderBusy)
    assert error.retry_after_s == 7


async def test_an_error_inside_a_stream_that_began_well_is_an_error(
    service: Service, model: ChatModel
) -> None:
    service.fail_inside()

    assert type(await failure(model)) is ProviderBusy


async def test_a_cut_stream_is_never_a_short_answer(service: Service, model: ChatModel) -> None:
    service.cut()

    assert type(await failure(model)) is ProviderTimeout


async def test_a_stream_that_ends_without_saying_why_was_cut(
    service: Service, model: ChatModel
) -> None:
    service.end_without_reason()

    assert type(await failure(model)) is ProviderTimeout


async def test_a_stream_that_falls_silent_is_given_up(
    service: Service, session: aiohttp.ClientSession
) -> None:
    service.stall()

    assert type(await failure(await service.model(session, idle_s=0.05))) is ProviderTimeout


async def test_text_is_told_before_the_rest_is_there_and_leaving_then_closes_the_connection(
    service: Service, model: ChatModel
) -> None:
    service.stall()

    async with asyncio.timeout(WAIT_S):
        async with aclosing(model.stream(HELLO)) as stream:
            first = await anext(stream)
            await service.stalled()
        await service.left()

    assert isinstance(first, TextDelta)
    assert first.text


async def test_cancelling_closes_the_connection(service: Service, model: ChatModel) -> None:
    service.stall()

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        task = group.create_task(events(model))
        await service.stalled()
        task.cancel()
        await service.left()

    assert task.cancelled()


async def test_an_event_that_is_no_json_is_a_failure_of_the_service(
    service: Service, model: ChatModel
) -> None:
    service.send_garbage()

    assert type(await failure(model)) is ProviderBusy


async def test_a_service_answers_again_after_it_failed(service: Service, model: ChatModel) -> None:
    service.fail("broken")
    service.say("Here I am.")
    await failure(model)

    assert (await finished(model)).said == AssistantSaid("Here I am.")
