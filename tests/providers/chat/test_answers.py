"""The reader of answers on its own: what holds for any bytes in any pieces."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ProviderError
from aouo.facts.transcript import AssistantSaid, Finished, ToolCall, Usage
from aouo.providers.formats.chat_answers import ChatParser


def chunk(delta: dict[str, object], reason: str | None = None, **more: object) -> dict[str, object]:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}], **more}


def call(index: int | None, id: str = "", name: str = "", arguments: str = "") -> dict[str, object]:  # noqa: A002
    piece = {"index": index, "id": id, "function": {"name": name, "arguments": arguments}}
    return chunk({"tool_calls": [{k: v for k, v in piece.items() if v not in (None, "")}]})


def stream(*chunks: dict[str, object]) -> bytes:
    return b"".join(b"data: %b\n\n" % json.dumps(c).encode() for c in chunks)


def read(*pieces: bytes) -> tuple[str, Finished]:
    reader = ChatParser("fake")
    text = "".join([reader.feed(piece) for piece in pieces])
    return text, reader.finish()


def outcome(*pieces: bytes) -> object:
    """What reading comes to, whichever way, in a form that can be compared."""
    try:
        _, last = read(*pieces)
    except ProviderError as error:
        return type(error), str(error)
    given_ids = [c.id if not c.id.startswith("call_") else "" for c in last.said.calls]
    calls = [(c.name, c.arguments) for c in last.said.calls]
    return last.said.text, given_ids, calls, last.usage, last.reason


WHOLE = (
    b"\xef\xbb\xbf: a comment\r\n\r\nevent: message\r\nid: 7\r\n"
    + 'data:{"choices":[{"delta":{"content":"Grüße, 你好 "}}]}\r\n\r\n'.encode()
    + 'data: {"choices":[{"delta":{"content":"🌍\\u2028!"}}]}\n\n'.encode()
    + stream(call(0, "a", "add", '{"row":'), call(1, "", "add", "{}"), call(0, arguments=' "ä"}'))
    + b'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\r\r'
    + b'data: {"choices":[],"x_groq":{"usage":{"prompt_tokens":9,"completion_tokens":4}}}\n\n'
)
CUT = WHOLE[: WHOLE.index(b'tool_calls"}')]
PLAIN = json.dumps(
    {"choices": [{"message": {"content": "Grüße 🌍"}, "finish_reason": "length"}]}, indent=2
).encode()
ERROR = stream(chunk({"content": "So"})) + b'data: {"error": {"code": 503, "message": "\xff"}}'


@given(
    body=st.sampled_from([WHOLE, WHOLE + b"data: [DONE]\n\n", CUT, PLAIN, ERROR, b"<html>\n", b""]),
    cuts=st.lists(st.integers(0, 900)),
)
def test_any_cutting_of_the_same_bytes_gives_the_same_result(body: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(body)) for cut in cuts), len(body)]
    pieces = [body[a:b] for a, b in pairwise(edges)]

    assert outcome(*pieces) == outcome(body)


@given(st.binary(max_size=200), st.booleans())
def test_no_bytes_at_all_raise_anything_but_a_provider_error(data: bytes, as_event: bool) -> None:
    outcome(b"data: " + data if as_event else data)


json_values = st.recursive(
    st.none() | st.booleans() | st.floats() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["choices", "delta", "tool_calls", "function", "usage", "error", "x_groq"]
            ),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(json_values)
def test_no_shape_of_a_chunk_raises_anything_but_a_provider_error(value: object) -> None:
    outcome(b"data: " + json.dumps(value).encode() + b"\n")


def test_the_whole_stream_is_read_right() -> None:
    text, last = read(WHOLE)

    assert text == "Grüße, 你好 🌍\u2028!"
    assert last.said.text == text
    assert last.said.calls[0] == ToolCall("a", "add", '{"row": "ä"}')
    assert last.said.calls[1].id.startswith("call_")
    assert (last.usage, last.reason) == (Usage(9, 0, 4), "tool_calls")


@pytest.mark.parametrize(
    ("chunks", "expected"),
    [
        # the id and the name repeated with every piece
        ([call(0, "a", "add", "{"), call(0, "a", "add", "}")], [("a", "{}")]),
        # every call has index 0 (Gemini), told apart by id
        ([call(0, "a", "add", "1"), call(0, "b", "add", "2")], [("a", "1"), ("b", "2")]),
        # no index at all
        ([call(None, "a", "add", "1"), call(None, "b", "add", "2")], [("a", "1"), ("b", "2")]),
        ([call(None, "a", "add", "1"), call(None, arguments="2")], [("a", "12")]),
        # interleaved
        (
            [
                call(0, "a", "add"),
                call(1, "b", "add"),
                call(0, arguments="1"),
                call(1, arguments="2"),
            ],
            [("a", "1"), ("b", "2")],
        ),
    ],
)
def test_the_pieces_of_calls_find_each_other(
    chunks: list[dict[str, object]], expected: list[tuple[str, str]]
) -> None:
    _, last = read(stream(*chunks, chunk({}, "tool_calls")))

    assert [(c.id, c.arguments) for c in last.said.calls] == expected
    assert {c.name for c in last.said.calls} == {"add"}


def test_a_repeated_id_on_a_second_call_stays_one_call() -> None:
    pieces = [call(0, "a", "add", "1"), call(1, "a", "add", "2"), call(1, "a", "add", "3")]
    _, last = read(stream(*pieces, chunk({}, "stop")))

    assert [c.arguments for c in last.said.calls] == ["1", "23"]
    assert len({c.id for c in last.said.calls}) == 2


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        ("content_filter", "content_filter"),
        # Claude behind an address of OpenAI's format, with nothing said (docs.apiyi.com/en/faq/
        # claude-content-safety-refusal, 2026-09; github.com/camel-ai/camel/issues/4209, 2026-07)
        ("refusal", "content_filter"),
        # github.com/laravel/ai/pull/881 (2026-08)
        ("model_context_window_exceeded", "length"),
        ("something_new", "unknown"),
    ],
)
def test_why_an_answer_ended_is_read_in_every_services_words(reason: str, expected: str) -> None:
    _, last = read(stream(chunk({"content": ""}, reason)))

    assert last.reason == expected


@pytest.mark.parametrize("ending", [b"data: [DONE]", b"data:[DONE]\r\n\r\n"])
def test_done_alone_ends_an_answer_and_what_follows_is_not_read(ending: bytes) -> None:
    reader = ChatParser("fake")
    reader.feed(stream(chunk({"content": "Yes"})) + ending)
    last = reader.finish()
    late = reader.feed(stream(chunk({"content": " and no"})))

    assert (last.said, last.reason, late) == (AssistantSaid("Yes"), "unknown", "")


@pytest.mark.parametrize(
    ("usage", "expected"),
    [
        ({"prompt_tokens": 5, "prompt_tokens_details": {"cached_tokens": 4}}, Usage(5, 4, 0)),
        ({"prompt_tokens": 5, "prompt_tokens_details": None}, Usage(5, 0, 0)),
        (
            {"prompt_tokens": 5, "prompt_cache_hit_tokens": 3, "completion_tokens": 2},
            Usage(5, 3, 2),
        ),
        (None, Usage()),
    ],
)
def test_usage_is_read_in_its_usual_shapes(usage: object, expected: Usage) -> None:
    _, last = read(stream(chunk({"content": "x"}, "stop", usage=usage)))

    assert last.usage == expected
