"""What a service sent of its own goes back to it to the letter, and to nobody else.

Source: issue 12; each shape below from the thread or page that is named.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.transcript import (
    AssistantSaid,
    Finished,
    Message,
    ModelRequest,
    ToolCall,
    ToolReturned,
    Usage,
    UserSaid,
)
from aouo.plumbing.redact import Redactor
from aouo.providers.fallback import Cleaning
from aouo.providers.formats.chat_answers import ChatParser
from aouo.providers.formats.chat_requests import PLAIN, Dialect, chat_body
from aouo.providers.thoughts import _CHARS_MAX, FOREIGN, Signed, family, signed_in

GEMINI: Mapping[str, Any] = {
    "id": "function-call-1",
    "function": {"name": "look", "arguments": "{}"},
    "extra_content": {"google": {"thought_signature": "EjQKMgEMOdbHJ"}},
}
"""A call of Gemini's at its compatible address, whole and without an index (noho/dayu-agent#45)."""


def answer(*deltas: Mapping[str, Any], provider: str = "mine", model: str = "m-1") -> Finished:
    """What is read of a stream of these pieces, in whatever cuts."""
    reader = ChatParser(provider, model=model)
    for delta in deltas:
        reader.feed(b"data: %b\n\n" % json.dumps({"choices": [{"delta": delta}]}).encode())
    reader.feed(b'data: {"choices": [{"delta": {}, "finish_reason": "stop"}]}\n\n')
    return reader.finish()


def told(
    said: AssistantSaid, *, provider: str = "mine", model: str = "m-1", dialect: Dialect = PLAIN
) -> list[dict[str, Any]]:
    """How that answer and its results are sent back, after they have been in the house."""
    calls = tuple(ToolCall(f"01J{at}", c.name, c.arguments) for at, c in enumerate(said.calls))
    results: list[Message] = [ToolReturned(call.id, call.name, "ok") for call in calls]
    ours = AssistantSaid(said.text, calls, said.native)
    request = ModelRequest("", (UserSaid("hi"), ours, *results, UserSaid("and?")), ())
    body = chat_body(request, model=model, dialect=dialect, provider=provider)
    messages: list[dict[str, Any]] = body["messages"]
    return messages[1 : 2 + len(results)]


def call(**more: object) -> dict[str, Any]:
    return {"tool_calls": [{"index": 0, "id": "x", "function": {"name": "look"}} | more]}


def test_a_call_goes_back_with_its_signature_and_its_own_id() -> None:
    said = answer({"tool_calls": [GEMINI]}).said

    message, result = told(said)
    assert message["tool_calls"] == [dict(GEMINI) | {"type": "function"}]
    assert result["tool_call_id"] == "function-call-1"


def test_the_id_that_kimi_gave_is_the_one_it_reads() -> None:
    """It falls silent over others: getkimchi/kimchi#1063."""
    message, result = told(answer(call(id="functions.look:0")).said)

    assert message["tool_calls"][0]["id"] == result["tool_call_id"] == "functions.look:0"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
def test_thoughts_with_calls_go_back_under_the_name_they_came_under(name: str) -> None:
    """vLLM renamed the field; OpenRouter sends both."""
    said = answer({name: "Let me "}, {name: "look."}, call()).said

    assert told(said)[0][name] == "Let me look."


def test_thoughts_without_calls_stay_here() -> None:
    """No service asks for them: api-docs.deepseek.com/guides/thinking_mode."""
    assert answer({"reasoning_content": "Hm."}, {"content": "Yes."}).said == AssistantSaid("Yes.")


def detail(kind: str = "reasoning.text", **more: object) -> dict[str, Any]:
    return {"reasoning_details": [{"type": kind, "index": 0, **more}]}


def test_the_pieces_of_a_signed_block_go_back_as_one() -> None:
    """The signature comes last, alone: agno-agi/agno#8794. `index` is 0 for every block, and a
    summary and what is encrypted stay apart: OpenRouterTeam/ai-sdk-provider#520."""
    said = answer(
        detail(text="Let", format="anthropic-claude-v1"),
        detail(text=" me see.", format="anthropic-claude-v1"),
        detail(signature="Et8BCm", format="anthropic-claude-v1"),
        detail(text="Again", format="anthropic-claude-v1"),
        detail("reasoning.summary", summary="In "),
        detail("reasoning.summary", summary="short"),
        detail("reasoning.encrypted", data="b64=", id="rs_1"),
        detail("reasoning.encrypted", data="b65=", id="rs_2"),
        call(),
    ).said

    assert told(said)[0]["reasoning_details"] == [
        {
            "type": "reasoning.text",
            "index": 0,
            "text": "Let me see.",
            "format": "anthropic-claude-v1",
            "signature": "Et8BCm",
        },
        {"type": "reasoning.text", "index": 0, "text": "Again", "format": "anthropic-claude-v1"},
        {"type": "reasoning.summary", "index": 0, "summary": "In short"},
        {"type": "reasoning.encrypted", "index": 0, "data": "b64=", "id": "rs_1"},
        {"type": "reasoning.encrypted", "index": 0, "data": "b65=", "id": "rs_2"},
    ]


def test_details_go_back_with_words_alone_too() -> None:
    said = answer(detail("reasoning.encrypted", data="b64="), {"content": "Yes."}).said

    assert told(said) == [
        {
            "role": "assistant",
            "content": "Yes.",
            "reasoning_details": [{"type": "reasoning.encrypted", "index": 0, "data": "b64="}],
        }
    ]


@given(st.text(min_size=1, max_size=30), st.lists(st.integers(0, 30)))
def test_any_cutting_of_a_block_gives_the_same_block(text: str, cuts: list[int]) -> None:
    edges = [0, *sorted(cuts), len(text)]
    pieces = [detail(text=text[a:b]) for a, b in pairwise(edges)]
    said = answer(*pieces, detail(signature="s"), call()).said

    assert told(said)[0]["reasoning_details"][0]["text"] == text


@pytest.mark.parametrize(
    ("provider", "model"),
    [("other", "m-1"), ("mine", "another-1"), ("mine", "maker/m-1")],
)
def test_to_another_service_or_another_family_nothing_of_it_goes(provider: str, model: str) -> None:
    """A model cannot read another one's signatures; a fallback may be at the same address."""
    said = answer({"reasoning": "Hm."}, detail(text="Hm."), {"tool_calls": [GEMINI]}).said
    message, result = told(said, provider=provider, model=model)
    (made,) = message["tool_calls"]

    assert message.keys() == {"role", "content", "tool_calls"}
    assert made.keys() == {"id", "type", "function"}
    assert len(made["id"]) == 9
    assert result["tool_call_id"] == made["id"]


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("anthropic/claude-sonnet-5", "anthropic/claude-opus-4.7", True),
        ("anthropic/claude-sonnet-5", "google/gemini-3-flash", False),
        ("gemini-3-flash", "models/gemini-3.5-pro", True),
        ("kimi-k3", "kimi-k2.6", True),
        ("qwen3.5:9b", "qwen3-coder", True),
        ("openai/gpt-oss-120b", "qwen/qwen3.6-27b", False),
    ],
)
def test_a_family_is_told_by_its_maker_and_the_first_word(one: str, other: str, same: bool) -> None:
    assert (family(one) == family(other)) is same


@pytest.mark.parametrize(
    ("provider", "model", "where"),
    [
        ("google", "gemini-3.5-flash", "extra_content"),
        ("mine", "models/gemini-3.5-flash", "extra_content"),
        ("vertex", "google/gemini-3.5-flash", "extra_content"),
        ("openrouter", "google/gemini-3.5-flash", "reasoning_details"),
        ("google", "gemini-2.5-flash", ""),
        ("openrouter", "google/gemma-4", ""),
        ("openrouter", "anthropic/claude-sonnet-5", ""),
    ],
)
def test_gemini_hears_of_a_call_that_it_did_not_make(
    provider: str, model: str, where: Signed
) -> None:
    """At Google in the first call, at OpenRouter in one entry that names it."""
    said = answer(call(), call(index=1)).said
    dialect = Dialect(signed=signed_in(provider, "https://gateway.example/v1", model))

    message = told(AssistantSaid("", said.calls), provider=provider, model=model, dialect=dialect)[
        0
    ]
    first, second = message["tool_calls"]
    detail = {"type": "reasoning.encrypted", "data": FOREIGN, "id": first["id"], "index": 0}
    signature = {"google": {"thought_signature": FOREIGN}}

    assert dialect.signed == where
    assert first.get("extra_content") == {"extra_content": signature}.get(where)
    assert message.get("reasoning_details") == {
        "reasoning_details": [detail | {"format": "google-gemini-v1"}]
    }.get(where)
    assert second.keys() == {"id", "type", "function"}


def test_a_signature_that_came_is_the_one_that_goes_back() -> None:
    (at_google,) = told(
        answer({"tool_calls": [GEMINI]}).said, dialect=Dialect(signed="extra_content")
    )[0]["tool_calls"]
    sealed = detail("reasoning.encrypted", data="b64=", id="x")
    at_openrouter = told(answer(sealed, call()).said, dialect=Dialect(signed="reasoning_details"))

    assert at_google["extra_content"] == GEMINI["extra_content"]
    assert at_openrouter[0]["reasoning_details"] == sealed["reasoning_details"]


@pytest.mark.parametrize(
    "empty",
    [answer(call()).said, answer({"reasoning_content": ""}, call()).said, AssistantSaid("Yes.")],
)
def test_where_thoughts_are_wanted_an_answer_without_any_has_a_space(empty: AssistantSaid) -> None:
    """DeepSeek V4 Pro and Kimi refuse an empty text (NousResearch/hermes-agent#18263,
    charmbracelet/crush#2696), and DeepSeek words without (experientiallabs/experiential#890)."""
    assert told(empty, dialect=Dialect(thoughts=True))[0]["reasoning_content"] == " "


def test_a_long_block_in_small_pieces_is_kept_whole() -> None:
    """What a piece repeats around its few letters (type, format, index) is no thought."""
    pieces = [detail(text=f"{at:04} ", format="anthropic-claude-v1") for at in range(9_999)]
    said = answer(*pieces, detail(signature="s"), call()).said

    assert len(told(said)[0]["reasoning_details"][0]["text"]) == 5 * 9_999


def test_ten_megabytes_of_thoughts_are_neither_kept_nor_sent() -> None:
    thought = "so " * (_CHARS_MAX // 6)
    much = [{"reasoning_content": thought, **detail(text=thought)}] * 20
    said = answer(*much, {"extra_content": {"x": "y" * 3 * _CHARS_MAX}}, call()).said

    assert len(said.native) < 1_000
    assert told(said)[0].keys() == {"role", "content", "tool_calls"}


def test_secrets_are_taken_out_of_thoughts_and_signatures_stay_to_the_letter() -> None:
    """A signed block with a secret goes as a whole: what is left of it would not be signed."""
    secret = "correct-horse-battery"
    said = answer(
        {"reasoning_content": f"It is {secret}."},
        detail(text=f"It is {secret}."),
        detail(signature="s1"),
        detail(text="I see."),
        detail(signature=f"s2{secret}"),
        detail("reasoning.encrypted", data=f"b64{secret}="),
        {"tool_calls": [dict(GEMINI)]},
    )
    (clean,) = Cleaning(Redactor([secret])).of(said)
    assert isinstance(clean, Finished)
    message = told(clean.said)[0]

    assert message["reasoning_content"] == "It is [redacted]."
    assert [d.get("signature") or d.get("data") for d in message["reasoning_details"]] == [
        f"s2{secret}",
        f"b64{secret}=",
    ]
    assert message["tool_calls"][0]["extra_content"] == GEMINI["extra_content"]


@pytest.mark.parametrize(
    ("usage", "cached"),
    [
        ({"prompt_tokens_details": {"cached_tokens": 7}}, 7),  # OpenAI, Groq, xAI, OpenRouter
        ({"prompt_cache_hit_tokens": 7, "prompt_cache_miss_tokens": 3}, 7),  # DeepSeek
        ({"cached_tokens": 7}, 7),  # Kimi: platform.kimi.ai/docs/api/chat
        ({"num_cached_tokens": 7}, 7),
        ({"cache_read_input_tokens": 7, "cache_creation_input_tokens": 2}, 7),
        ({"prompt_tokens_details": None, "cached_tokens": None}, 0),
        ({"prompt_tokens_details": {"cached_tokens": 0}, "cached_tokens": 0}, 0),
    ],
)
@pytest.mark.parametrize("place", ["chunk", "x_groq", "choice"])
def test_what_was_read_from_a_cache_is_counted_wherever_it_is_said(
    place: str, usage: dict[str, Any], cached: int
) -> None:
    """Kimi says it in the choice: earendil-works/pi#2017."""
    said = {"usage": {"prompt_tokens": 10, "completion_tokens": 2, **usage}}
    choice = {"delta": {"content": "Hi"}, "finish_reason": "stop"}
    chunk = {
        "chunk": {"choices": [choice], **said},
        "x_groq": {"choices": [choice], "x_groq": said},
        "choice": {"choices": [choice | said]},
    }[place]
    reader = ChatParser("mine")
    reader.feed(b"data: %b\n\n" % json.dumps(chunk).encode())

    assert reader.finish().usage == Usage(10, cached, 2)
