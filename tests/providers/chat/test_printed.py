"""A call that a model printed as text: read as a call when it is one, and as words otherwise."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import Stumbled
from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    ModelEvent,
    ModelRequest,
    StartedOver,
    TextDelta,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)
from aouo.providers.aloud import Aloud

SAVE = ToolSpec("save", "", {"type": "object"})
CALL = '{"name": "save", "arguments": {"text": "milk"}}'
ASKED = ModelRequest("", (UserSaid("note: milk"),), (SAVE,))


async def heard(text: str, request: ModelRequest = ASKED, step: int = 3) -> list[ModelEvent]:
    """What comes of an answer that arrives in pieces of `step` letters."""

    async def events() -> AsyncGenerator[ModelEvent]:
        for at in range(0, len(text), step):
            yield TextDelta(text[at : at + step])
        yield Finished(AssistantSaid(text), Usage(), "stop")

    return [event async for event in Aloud().read(events(), request)]


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


# What a server should have kept apart


THOUGHTS = "The user greets me. Secret plan."
HARMONY = "<|channel|>analysis<|message|>{}<|end|><|start|>assistant<|channel|>final<|message|>{}"


def shown(events: Sequence[ModelEvent]) -> str:
    """What stands in the chat at the end."""
    text = ""
    for event in events:
        if isinstance(event, StartedOver):
            text = ""
        elif isinstance(event, TextDelta):
            text += event.text
    return text


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (f"<think> {THOUGHTS} </think> Hello Ann!", "Hello Ann!"),
        (f"\n<thinking>\n{THOUGHTS}\n</thinking>\n\nHello Ann!", "Hello Ann!"),
        (f"{THOUGHTS}\n</think>\n\nHello Ann!", "Hello Ann!"),
        (f"<think>a</think><think>{THOUGHTS}</think>Hello Ann!", "Hello Ann!"),
        (f"<think>{THOUGHTS}", ""),
        (HARMONY.format(THOUGHTS, "Hello Ann!"), "Hello Ann!"),
        (f"analysis{THOUGHTS}assistantfinalHello Ann!", "Hello Ann!"),
        ("Write `</think>` at the end.", "Write `</think>` at the end."),
        ("```xml\n<think>plan</think>\n```", "```xml\n<think>plan</think>\n```"),
        ("a < b and [TOOL] and <thin", "a < b and [TOOL] and <thin"),
        ("analysis of the plums", "analysis of the plums"),
    ],
)
@pytest.mark.parametrize("step", [1, 5, 1_000])
async def test_thoughts_are_neither_shown_nor_stored(text: str, said: str, step: int) -> None:
    events = await heard(text, step=step)
    end = events[-1]

    assert isinstance(end, Finished)
    assert end.said.text.strip() == said.strip()
    assert shown(events).strip() == said.strip()


async def test_thoughts_without_an_opening_mark_are_shown_once_and_never_again() -> None:
    reader = Aloud()
    text = f"{THOUGHTS}</think>Hello"

    async def events() -> AsyncGenerator[ModelEvent]:
        for at in range(0, len(text), 3):
            yield TextDelta(text[at : at + 3])
        yield Finished(AssistantSaid(text), Usage(), "stop")

    first = [event async for event in reader.read(events(), ASKED)]
    again = [event async for event in reader.read(events(), ASKED)]

    assert StartedOver() in first
    assert "Secret" not in words(again)
    assert shown(again) == "Hello"


@pytest.mark.parametrize(
    "markup",
    [
        f"<tool_call> {CALL} </tool_call>",
        "<tool_call><function=save><parameter=text>\nmilk\n</parameter></function></tool_call>",
        '<function=save>{"text": "milk"}</function>',
        f"[TOOL_CALLS][{CALL}]",
        '[TOOL_CALLS]save[ARGS]{"text": "milk"}',
        '<function_calls><invoke name="save"><parameter name="text">milk</parameter></invoke>'
        "</function_calls>",
        '<|channel|>commentary to=functions.save<|constrain|>json<|message|>{"text": "milk"}',
    ],
)
@pytest.mark.parametrize("step", [1, 1_000])
async def test_a_call_behind_words_is_made_and_its_marks_are_not_shown(
    markup: str, step: int
) -> None:
    before = "" if "channel" in markup else "I will note that. "
    events = await heard(before + markup, step=step)
    end = events[-1]

    assert isinstance(end, Finished)
    assert [(call.name, json.loads(call.arguments)) for call in end.said.calls] == [
        ("save", {"text": "milk"})
    ]
    assert end.said.text == shown(events) == before.strip()


async def test_a_call_of_no_tool_of_ours_is_asked_for_once_more() -> None:
    with pytest.raises(Stumbled):
        await heard('I will. <tool_call>{"name": "steal", "arguments": {}}</tool_call>')


async def test_marks_that_the_model_read_somewhere_are_words() -> None:
    quoted = f"<tool_call>{CALL}</tool_call>"
    request = ModelRequest("", (UserSaid(f"what is {quoted}?"),), (SAVE,))

    events = await heard(f"It says {quoted}", request)

    assert shown(events) == f"It says {quoted}"


PIECES = (
    *("<think>", "</think>", "a ", "`", "\n", "<", "<|channel|>final", "<|message|>", "<|end|>"),
    *("analysis", "B", "[", "<tool_call>", CALL),
)


@given(st.lists(st.sampled_from(PIECES), max_size=9), st.integers(1, 7))
async def test_however_an_answer_is_cut_the_same_is_shown(parts: list[str], step: int) -> None:
    outcomes: list[object] = []
    for size in (step, 10_000):
        try:
            events = await heard("".join(parts), step=size)
        except Stumbled:
            outcomes.append("stumbled")
            continue
        end = events[-1]
        assert isinstance(end, Finished)
        assert shown(events) == end.said.text
        outcomes.append((end.said.text, [call.arguments for call in end.said.calls]))
    assert outcomes[0] == outcomes[1]
