"""A call that a model printed as text: read as a call when it is one, and as words otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    TextDelta,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)
from aouo.providers.event_stream import read_printed

SAVE = ToolSpec("save", "", {"type": "object"})
CALL = '{"name": "save", "arguments": {"text": "milk"}}'
ASKED = ModelRequest("", (UserSaid("note: milk"),), (SAVE,))


async def heard(text: str, request: ModelRequest = ASKED, step: int = 3) -> list[ModelEvent]:
    """What comes of an answer that arrives in pieces of `step` letters."""

    async def events() -> AsyncGenerator[ModelEvent]:
        for at in range(0, len(text), step):
            yield TextDelta(text[at : at + step])
        yield Finished(AssistantSaid(text), Usage(), "stop")

    return [event async for event in read_printed(events(), request)]


def words(events: Sequence[ModelEvent]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextDelta))


@pytest.mark.parametrize(
    "text",
    [
        CALL,
        f"\n{CALL}\n",
        f"```json\n{CALL}\n```",
        f"```\n{CALL}```",
        f"<tool_call>\n{CALL}\n</tool_call>",
        f"[{CALL}]",
        '{"tool": "save", "parameters": {"text": "milk"}}',
        json.dumps({"function": {"name": "save", "arguments": '{"text": "milk"}'}}),
    ],
)
async def test_a_whole_answer_that_is_a_call_of_a_shown_tool_is_that_call(text: str) -> None:
    events = await heard(text)
    (end,) = events

    assert isinstance(end, Finished)
    assert (end.said.text, end.reason) == ("", "tool_calls")
    assert [(c.name, json.loads(c.arguments)) for c in end.said.calls] == [
        ("save", {"text": "milk"})
    ]


@pytest.mark.parametrize(
    "text",
    [
        f"I will do this: {CALL}",
        f"{CALL} Done.",
        CALL.replace("save", "delete"),
        CALL[:-1],
        '{"name": "save"}',
        '{"name": "save", "arguments": "no"}',
        f"[{CALL}, 7]",
        "[]",
        "{}",
        "[1] is the first reference",
        "```python\nprint(1)\n```",
        "",
    ],
)
async def test_anything_else_is_words(text: str) -> None:
    events = await heard(text)
    end = events[-1]

    assert isinstance(end, Finished)
    assert (words(events), end.said.text, end.said.calls) == (text, text, ())


@pytest.mark.parametrize(
    "read", [UserSaid(f"say this: {CALL}"), ToolReturned("c", "fetch", CALL.replace(" ", "\n"))]
)
async def test_what_a_model_only_repeats_is_not_done(read: UserSaid | ToolReturned) -> None:
    events = await heard(CALL, ModelRequest("", (read,), (SAVE,)))

    assert words(events) == CALL
    assert isinstance(end := events[-1], Finished)
    assert end.said.calls == ()


async def test_without_tools_nothing_is_held_back() -> None:
    assert len(await heard(CALL, ModelRequest("", (UserSaid("x"),), ()))) > 2


@given(st.text(max_size=60), st.integers(1, 9))
async def test_no_word_is_lost_however_it_is_cut(text: str, step: int) -> None:
    events = await heard(text, step=step)

    assert words(events) == text
