"""What is sent stands in an order that every template takes. Source: issue 12, `order`."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.transcript import (
    AssistantSaid,
    Image,
    Message,
    ModelRequest,
    SystemSaid,
    ToolCall,
    ToolReturned,
    UserSaid,
)
from aouo.providers.dialect import PLAIN, Dialect, alternatives
from aouo.providers.failures import ParameterRefused
from aouo.providers.formats.chat_requests import Bodies, chat_body, wants_marks
from aouo.providers.formats.gemini import gemini_body
from aouo.providers.order import in_order
from aouo.providers.thoughts import sendable_id, wants_thoughts

SUMMARY = "[Previous conversation summary: tea]"
PHOTO = Image("image/png", b"\x89PNG")
NOON = "It is noon."


@st.composite
def sessions(draw: st.DrawFn) -> ModelRequest:
    """Whatever may be read in a turn: settled turns, torn ones, and words that came meanwhile."""
    words = st.sampled_from(["", "hi", "[It is midnight.]\n\nhi", "there"])
    said = st.one_of(
        st.builds(UserSaid, words),
        st.builds(UserSaid, words, st.just((PHOTO,))),
        st.builds(AssistantSaid, words),
    )
    messages: list[Message] = [SystemSaid(SUMMARY)] if draw(st.booleans()) else []
    past: int | None = None
    for number in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            past = len(messages)
        if draw(st.integers(0, 3)) == 0:
            ids = [f"{number}.{n}" for n in range(draw(st.integers(1, 2)))]
            messages.append(AssistantSaid("", tuple(ToolCall(i, "t", "{}") for i in ids)))
            messages += [ToolReturned(i, "t", "found") for i in ids]
        else:
            messages += draw(st.lists(said, min_size=1, max_size=3))
    return ModelRequest(
        "Be kind.", tuple(messages), (), draw(st.sampled_from(["", NOON])), past=past
    )


def roles(messages: Sequence[dict[str, Any]]) -> list[str]:
    """As a strict template reads them: calls and their results belong to the model's turn."""
    return [message["role"] for message in messages]


def text_of(message: dict[str, Any]) -> str:
    content = message["content"]
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


def sent(request: ModelRequest, dialect: Dialect = PLAIN) -> list[dict[str, Any]]:
    body = chat_body(request, model="m", dialect=dialect, provider="p")
    messages: list[dict[str, Any]] = body["messages"]
    return messages


@given(sessions())
def test_one_system_message_at_the_head_then_person_and_model_in_turns(
    request: ModelRequest,
) -> None:
    """Qwen: the system at the head only. Mistral: no person after a tool, no model at the end.
    Gemma: in turns."""
    system, *said = sent(request)
    spoken = [m for m in said if m["role"] != "tool" and not m.get("tool_calls")]

    assert system == {"role": "system", "content": "Be kind."}
    assert "system" not in roles(said)
    assert roles(said[:1]) in ([], ["user"])
    assert all(pair != ("tool", "user") for pair in pairwise(roles(said)))
    assert all(pair not in (("user", "user"), ("assistant", "assistant")) or one.get("tool_calls")
               for one, pair in zip(said, pairwise(roles(said)), strict=False))  # fmt: skip
    assert all(one["role"] != other["role"] for one, other in pairwise(spoken))
    assert not said or said[-1]["role"] in ("user", "tool")
    assert all(text_of(m) or m.get("tool_calls") or m["role"] == "user" for m in said)


@given(sessions())
def test_no_word_and_no_picture_is_lost_and_all_keep_their_order(request: ModelRequest) -> None:
    whole = "\n".join(text_of(message) for message in sent(request))
    at = 0
    for message in request.messages:
        if not isinstance(message, SystemSaid) and message.text:
            at = whole.find(message.text, at)
            assert at >= 0
            at += len(message.text)
    pictures = sum(len(m.images) for m in request.messages if isinstance(m, UserSaid))

    assert whole.count(SUMMARY) == sum(isinstance(m, SystemSaid) for m in request.messages)
    assert whole.count(f"[{NOON}]") == bool(request.context)
    assert str(sent(request)).count("data:image/png") == pictures


@given(sessions())
def test_each_result_stands_right_after_its_call_under_the_same_id(request: ModelRequest) -> None:
    waiting: list[str] = []
    for message in sent(request):
        if message["role"] == "tool":
            assert message["tool_call_id"] == waiting.pop(0)
        else:
            assert waiting == []
            waiting = [call["id"] for call in message.get("tool_calls", ())]
    assert waiting == []


@given(sessions(), st.lists(st.sampled_from(["tool", "nudge", "edit"]), max_size=4))
def test_what_a_turn_adds_leaves_all_that_was_sent_before_as_it_was(
    request: ModelRequest, added: list[str]
) -> None:
    """So the prefix that is cached grows from call to call of a turn."""
    words: tuple[Message, ...] = (*request.messages, UserSaid("Now this"))
    first = ModelRequest("", words, (), NOON, past=len(request.messages))
    more: list[Message] = []
    for number, kind in enumerate(added):
        if kind == "tool":
            call = ToolCall(f"now{number}", "t", "{}")
            more += [AssistantSaid("", (call,)), ToolReturned(call.id, "t", "ok")]
        elif more:  # what a person changes of words that nobody has answered yet joins them
            more += [AssistantSaid("An answer"), UserSaid("[Again.]")] if kind == "nudge" else []
    later = ModelRequest("", (*words, *more), (), NOON, past=len(request.messages))

    before, after = sent(first), sent(later)
    assert after[: len(before)] == before


def test_messages_that_need_no_change_are_the_same_objects() -> None:
    """So that each is written once: `bodies`."""
    call = ToolCall("1", "t", "{}")
    said = (
        UserSaid("hi"),
        AssistantSaid("", (call,)),
        ToolReturned("1", "t", "ok"),
        AssistantSaid("done"),
        UserSaid("more"),
    )

    ordered, words_at = in_order(ModelRequest("", said, (), NOON))

    assert [one is other for one, other in zip(ordered, said, strict=True)] == [
        True,
        True,
        True,
        True,
        False,
    ]
    assert words_at == 4


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        # a summary and the context before one message, the person's brackets stay theirs
        (
            [SystemSaid(SUMMARY), UserSaid("[It is midnight.]\n\nhi")],
            [("user", f"{SUMMARY}\n\n[{NOON}]\n\n[It is midnight.]\n\nhi")],
        ),
        # words that nobody answered, and new ones
        ([UserSaid("one"), UserSaid("two")], [("user", f"one\n\n[{NOON}]\n\ntwo")]),
        # a picture without words
        ([UserSaid("", (PHOTO,))], [("user", f"[{NOON}]")]),
        # a turn without any words
        ([], [("user", f"[{NOON}]")]),
        ([AssistantSaid("So.")], [("user", "[Earlier messages are not shown.]"),
                                  ("assistant", "So."), ("user", f"[{NOON}]")]),
    ],
)  # fmt: skip
def test_what_the_runtime_says_stands_before_the_words(
    said: list[Message], expected: list[tuple[str, str]]
) -> None:
    messages = sent(ModelRequest("", tuple(said), (), NOON))

    assert [(message["role"], text_of(message)) for message in messages] == expected


def test_a_person_who_speaks_right_after_a_tool_is_not_the_next_message() -> None:
    """Mistral: "Unexpected role 'user' after role 'tool'"."""
    call = ToolCall("1", "t", "{}")
    said = (
        UserSaid("Look"),
        AssistantSaid("", (call,)),
        ToolReturned("1", "t", "ok"),
        UserSaid("[You gave no answer.]"),
    )
    messages = sent(ModelRequest("", said, (), NOON, past=0))

    assert [(m["role"], m["content"]) for m in messages] == [
        ("user", f"[{NOON}]\n\nLook"),
        ("assistant", None),
        ("tool", "ok"),
        ("assistant", "[no answer yet]"),
        ("user", "[You gave no answer.]"),
    ]


@given(sessions())
def test_gemini_reads_the_same_in_its_own_form(request: ModelRequest) -> None:
    contents = gemini_body(request, model="gemini-3-flash")["contents"]
    texts = [part["text"] for turn in contents for part in turn["parts"] if "text" in part]
    said = [text for text in map(text_of, sent(request)[1:]) if text and text != "found"]

    assert texts == said
    assert [turn["role"] for turn in contents[:1]] in ([], ["user"])


@given(st.text(max_size=40))
def test_an_id_of_another_service_becomes_nine_letters_and_digits(call_id: str) -> None:
    """Mistral refuses any other: nearai/ironclaw#1241."""
    made = sendable_id(call_id)

    assert len(made) == 9
    assert made.isascii()
    assert made.isalnum()
    assert sendable_id(made) == made


def test_claude_at_openrouter_is_told_where_what_stays_ends() -> None:
    """System, and the newest two messages of the person that are history: at most three of the
    four marks that Anthropic takes, in parts of text."""
    said: list[Message] = []
    for number in range(4):
        said += [UserSaid(f"say {number}"), AssistantSaid(f"answer {number}")]
    request = ModelRequest("Be kind.", (*said, UserSaid("now")), (), NOON, past=len(said))
    dialect = Dialect(cache_marks=True)
    messages = sent(request, dialect)
    mark = {"cache_control": {"type": "ephemeral"}}

    assert [m["content"] for m in messages if isinstance(m["content"], list)] == [
        [{"type": "text", "text": "Be kind."} | mark],
        [{"type": "text", "text": "say 2"} | mark],
        [{"type": "text", "text": "say 3"} | mark],
    ]
    assert messages[-1]["content"] == f"[{NOON}]\n\nnow"


def test_a_long_history_with_thoughts_is_written_once() -> None:
    """With a reasoning model every answer has a native form."""
    native = (
        '{"wire": "chat", "provider": "p", "model": "m", "message": {}, "calls": [{"id": "x"}]}'
    )
    said: list[Message] = []
    for number in range(50):
        call = ToolCall(str(number), "t", "{}")
        said += [
            UserSaid(f"say {number}"),
            AssistantSaid("", (call,), native),
            ToolReturned(call.id, "t", "ok"),
            AssistantSaid("done"),
        ]
    bodies = Bodies(model="m", provider="p")
    bodies.body(ModelRequest("", (*said, UserSaid("one")), (), NOON))
    kept = dict(bodies._pieces[False])
    bodies.body(ModelRequest("", (*said, UserSaid("two")), (), NOON))

    assert bodies._pieces[False] == kept
    assert len(kept) == 200


@pytest.mark.parametrize(
    ("provider", "base_url", "model", "wanted"),
    [
        ("openrouter", "http://127.0.0.1:1/v1", "anthropic/claude-sonnet-5", True),
        ("mine", "https://openrouter.ai/api/v1", "anthropic/claude-opus-4.7", True),
        ("openrouter", "https://openrouter.ai/api/v1", "google/gemini-3-flash", False),
        ("claude", "https://api.anthropic.com/v1", "claude-opus-4.7", False),
        ("mine", "https://example.org/openrouters", "anthropic/claude-sonnet-5", False),
    ],
)
def test_only_claude_at_openrouter_needs_marks(
    provider: str, base_url: str, model: str, wanted: bool
) -> None:
    """Anthropic's own compatible address has no cache: platform.claude.com, openai-sdk."""
    assert wants_marks(provider, base_url, model) is wanted


@pytest.mark.parametrize(
    ("provider", "model", "wanted"),
    [
        ("deepseek", "deepseek-flash", True),
        ("mine", "kimi-k3", True),
        ("vllm", "deepseek-ai/DeepSeek-V4", True),
        ("openai", "gpt-6-luna", False),
        ("mine", "moonshot-v1-8k", False),
    ],
)
def test_which_models_want_thoughts_in_every_answer(
    provider: str, model: str, wanted: bool
) -> None:
    assert wants_thoughts(provider, model) is wanted


def test_a_refusal_teaches_that_thoughts_are_wanted_or_marks_are_not() -> None:
    asked = ModelRequest("", (UserSaid("Hi"),), ())
    (thinking,) = alternatives(PLAIN, ParameterRefused("", "reasoning_content"), asked)
    marking = Dialect(cache_marks=True)
    (unmarked,) = alternatives(marking, ParameterRefused("", "cache_control"), asked)

    assert (thinking.thoughts, unmarked.cache_marks) == (True, False)
