"""How an answer comes in, breaks off or is left, whatever its format: one behaviour a test, each
format of the wire a column (issue 3, "Real parts")."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing
from dataclasses import dataclass

import aiohttp
import pytest

from aouo.facts.errors import ProviderAuth, ProviderBusy, ProviderError, ProviderTimeout
from aouo.facts.ports import ChatModel
from aouo.facts.transcript import Finished, FinishReason, ModelEvent, TextDelta, Usage
from tests.fakes.models import ModelService, Says, profile
from tests.fakes.models.service import KEY
from tests.providers.test_services import HELLO, WAIT_S, answered, bare, made, refusal


@dataclass(frozen=True, slots=True)
class Wire:
    """A format, and what its streams look like when something is wrong."""

    name: str
    model: str
    half: bytes
    error: bytes
    garbage: bytes
    first: int = 1
    """So many chunks bring the first words."""


WIRES = {
    "chat": Wire(
        "deepseek",
        "deepseek-flash",
        half=b'data: {"choices": [{"index": 0, "delta": {"content": "Half"}}]}\n\n',
        error=b'data: {"error": {"message": "wait", "type": "overloaded_error"}}\n\n',
        garbage=b'data: {"choices": [{"delta"\n\n',
        first=5,
    ),
    "responses": Wire(
        "openai",
        "gpt-6-astra",
        half=b'data: {"type": "response.output_text.delta", "output_index": 0, "delta": "Half"}'
        b"\n\n",
        error=b'data: {"type": "response.failed", "response": {"status": "failed", "output": [], '
        b'"error": {"code": "server_error", "message": "wait"}}}\n\n',
        garbage=b'data: {"type": "response.created"\n\n',
        first=7,
    ),
    "gemini": Wire(
        "gemini",
        "gemini-3.5-flash-lite",
        half=b'data: {"candidates": [{"content": {"parts": [{"text": "Half"}]}, "index": 0}]}'
        b"\r\n\r\n",
        error=b'data: {"error": {"code": 503, "message": "", "status": "UNAVAILABLE"}}\r\n\r\n',
        garbage=b'data: {"candidates": [{"content"\r\n\r\n',
    ),
}


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> Wire:
    return WIRES[request.param]


@pytest.fixture
async def service(wire: Wire) -> AsyncIterator[ModelService]:
    async with ModelService(profile(wire.name)) as service:
        yield service


@pytest.fixture
async def model(
    wire: Wire, service: ModelService, session: aiohttp.ClientSession
) -> AsyncIterator[ChatModel]:
    async with AsyncExitStack() as stack:
        yield await made(service, session, stack, wire.model)


async def events(model: ChatModel) -> list[ModelEvent]:
    async with asyncio.timeout(WAIT_S):
        return [event async for event in model.stream(bare(HELLO))]


async def failure(model: ChatModel) -> type[ProviderError]:
    return type(await refusal(model, bare(HELLO)))


async def test_the_pieces_are_the_answer_and_its_end_says_who_gave_it_and_what_it_took(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.say("Hello, who is there?", chunks=4, usage=(30, 12, 6))

    *deltas, last = await events(model)

    pieces = [event.text for event in deltas if isinstance(event, TextDelta)]
    assert "".join(pieces) == "Hello, who is there?"
    assert isinstance(last, Finished)
    assert (last.said.text, last.said.calls) == ("Hello, who is there?", ())
    assert (last.reason, last.usage) == ("stop", Usage(30, 12, 6))
    assert (last.provider, last.model) == (wire.name, wire.model)


async def test_an_empty_answer_is_an_answer(service: ModelService, model: ChatModel) -> None:
    service.say("")

    said = (await answered(model, bare(HELLO))).said

    assert (said.text, said.calls) == ("", ())


@pytest.mark.parametrize("reason", ["stop", "length", "content_filter"])
async def test_why_an_answer_ended_is_told(
    service: ModelService, model: ChatModel, reason: FinishReason
) -> None:
    service.reply(Says("So far", reason="" if reason == "stop" else reason))

    assert (await answered(model, bare(HELLO))).reason == reason


async def test_a_refusal_is_told_without_the_key_that_it_quotes(
    service: ModelService, model: ChatModel
) -> None:
    error = {"message": f"words about {KEY}, 500 and a timeout", "code": 401}
    service.fail(401, {"error": error})

    told = await refusal(model, bare(HELLO))

    assert type(told) is ProviderAuth
    assert KEY not in f"{told} {told!r}"


async def test_a_busy_service_says_when_to_come_back(
    service: ModelService, model: ChatModel
) -> None:
    service.fail(429, headers={"Retry-After": "7"})

    error = await refusal(model, bare(HELLO))

    assert isinstance(error, ProviderBusy)
    assert error.retry_after_s == 7


async def test_an_error_inside_a_stream_that_began_well_is_an_error(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.raw(wire.half, wire.error)

    assert await failure(model) is ProviderBusy


async def test_a_cut_stream_is_never_a_short_answer(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.cut(after_chunks=wire.first + 1)

    assert await failure(model) is ProviderTimeout


async def test_a_stream_that_ends_without_saying_why_was_cut(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.raw(wire.half)

    assert await failure(model) is ProviderTimeout


async def test_a_stream_that_falls_silent_is_given_up(
    wire: Wire, service: ModelService, session: aiohttp.ClientSession
) -> None:
    service.stall(after_chunks=wire.first)

    async with AsyncExitStack() as stack:
        model = await made(service, session, stack, wire.model, idle_s=0.05)

        assert await failure(model) is ProviderTimeout


async def test_text_is_told_before_the_rest_is_there_and_leaving_then_closes_the_connection(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.stall(after_chunks=wire.first)

    async with asyncio.timeout(WAIT_S):
        async with aclosing(model.stream(bare(HELLO))) as stream:
            first = await anext(stream)
            await service.stalled.wait()
        await service.closed_by_client.wait()

    assert isinstance(first, TextDelta)
    assert first.text


async def test_cancelling_closes_the_connection(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.stall(after_chunks=wire.first)

    async with asyncio.timeout(WAIT_S), asyncio.TaskGroup() as group:
        task = group.create_task(events(model))
        await service.stalled.wait()
        task.cancel()
        await service.closed_by_client.wait()

    assert task.cancelled()


async def test_an_event_that_is_no_json_is_a_failure_of_the_service(
    wire: Wire, service: ModelService, model: ChatModel
) -> None:
    service.raw(wire.garbage)

    assert await failure(model) is ProviderBusy


async def test_a_service_answers_again_after_it_failed(
    service: ModelService, model: ChatModel
) -> None:
    service.fail(500)
    service.say("Here I am.")
    await failure(model)

    assert (await answered(model, bare(HELLO))).said.text == "Here I am."
