"""Bodies that are written in remembered pieces are the bodies, byte for byte."""

from __future__ import annotations

from collections.abc import Sequence

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
    ToolSpec,
    UserSaid,
)
from aouo.providers.dialect import Dialect
from aouo.providers.formats.chat_requests import Bodies, chat_body, encode

WORDS = st.text(max_size=12) | st.sampled_from(["\ud83d", "é\n\"'\\", "\u2028", "\x00", "😀"])
NATIVE = st.sampled_from(
    [
        "",
        '{"wire": "chat", "provider": "deepseek", "model": "mödel", "message": {"reasoning": "hm"},'
        ' "calls": [{"id": "fn:0", "extra_content": {"google": {"thought_signature": "c2ln"}}}]}',
        '{"wire": "chat", "provider": "other", "model": "mödel", "message": {"reasoning": "oh"},'
        ' "calls": [{}]}',
        '{"wire": "chat", "provider": "deepseek", "model": "another", "message": {}, "calls": []}',
    ]
)
IDS = st.sampled_from(["1", "2", "nineChars"])
CALLS = st.builds(ToolCall, IDS, WORDS, st.sampled_from(["{}", "", "{", '{"a": 1}', "[1]"]))
MESSAGES: st.SearchStrategy[Message] = st.one_of(
    st.builds(UserSaid, WORDS),
    st.builds(UserSaid, WORDS, st.just((Image("image/png", b"\x89PNG"),))),
    st.builds(AssistantSaid, WORDS),
    st.builds(AssistantSaid, WORDS, st.lists(CALLS, max_size=2).map(tuple), NATIVE),
    st.builds(ToolReturned, IDS, WORDS, WORDS, st.booleans()),
    st.builds(SystemSaid, WORDS),
)
SCHEMAS = [{"type": "object", "n": 1}, {"type": "object", "n": True}, {"examples": [{"user": "x"}]}]
SPECS = st.builds(ToolSpec, WORDS, WORDS, st.sampled_from(SCHEMAS))
DIALECTS = st.builds(
    Dialect,
    st.sampled_from(["max_tokens", "max_completion_tokens"]),
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.booleans(),
)


@st.composite
def requests(draw: st.DrawFn) -> list[tuple[ModelRequest, Dialect]]:
    """Requests over the same messages and tools, as the turns of some sessions make them."""
    pool = draw(st.lists(MESSAGES, min_size=1, max_size=8))
    tools = draw(st.lists(st.lists(SPECS, max_size=3).map(tuple), min_size=1, max_size=3))
    request = st.builds(
        ModelRequest,
        WORDS,
        st.lists(st.sampled_from(pool), max_size=8).map(tuple),
        st.sampled_from(tools),
        WORDS,
        st.integers(1, 9_999),
        st.sampled_from([0.0, 0.7, 1]),
        past=st.none() | st.integers(0, 8),
    )
    return draw(st.lists(st.tuples(request, DIALECTS), max_size=6))


@given(requests(), st.sampled_from([0, 400, 1_500, 1_000_000]))
def test_a_body_in_pieces_is_the_body_to_the_byte(
    asked: Sequence[tuple[ModelRequest, Dialect]], bytes_max: int
) -> None:
    bodies = Bodies(model="mödel", provider="deepseek", bytes_max=bytes_max)
    for request, dialect in asked:
        whole = chat_body(request, model="mödel", dialect=dialect, provider="deepseek")

        assert bodies.body(request, dialect) == encode(whole)


def test_tools_with_equal_schemas_are_told_apart() -> None:
    """1 and true are equal in Python, and not in JSON."""
    bodies = Bodies(model="m")
    one, true = ({"default": value} for value in (1, True))
    said = [
        bodies.body(ModelRequest("", (), (ToolSpec("t", "d", schema),))) for schema in (one, true)
    ]

    assert b'"default":1' in said[0]
    assert b'"default":true' in said[1]
