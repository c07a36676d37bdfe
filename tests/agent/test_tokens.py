"""How near the estimate comes to what services count.

`token_counts.json` holds texts of ours with their counts in the o200k_base and cl100k_base
vocabularies, made with the package bpe-openai: `len(get_encoding(name).encode(text))`.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.tokens import _ENTRY_TOKENS, Estimator, Scale, estimate, estimate_entries
from aouo.facts.transcript import (
    AssistantSaid,
    Image,
    Message,
    ModelRequest,
    ToolCall,
    ToolReturned,
    ToolSpec,
    Usage,
    UserSaid,
)

CORPUS: list[dict[str, Any]] = json.loads(
    (Path(__file__).parent / "token_counts.json").read_text("utf-8")
)
KINDS = [str(item["kind"]) for item in CORPUS]


def request(items: list[dict[str, Any]]) -> ModelRequest:
    return ModelRequest("", tuple(UserSaid(item["text"]) for item in items), ())


def counted(items: list[dict[str, Any]], vocabulary: str) -> int:
    return sum(item[vocabulary] + _ENTRY_TOKENS for item in items)


@pytest.mark.parametrize("vocabulary", ["o200k", "cl100k"])
@given(order=st.permutations(CORPUS))
def test_after_three_turns_the_estimate_for_a_mixed_corpus_is_within_15_percent(
    vocabulary: str, order: list[dict[str, Any]]
) -> None:
    """Issue 3, Context: prose in twelve languages and scripts, code, JSON, tables, logs."""
    learning = Estimator()
    hands = [order[start::3] for start in range(3)]
    for hand in hands:
        learning.observe("p", "m", request(hand), Usage(counted(hand, vocabulary)))

    whole = learning.scale("p", "m").tokens(learning.request(request(order), ("p", "m")))
    assert whole == pytest.approx(counted(order, vocabulary), rel=0.15)


@pytest.mark.parametrize("item", CORPUS, ids=KINDS)
def test_no_kind_of_text_is_far_off_with_a_vocabulary_of_today(item: dict[str, Any]) -> None:
    assert Scale().text(item["text"]) == pytest.approx(item["o200k"], rel=0.25)


def test_a_model_with_an_old_vocabulary_is_learnt_and_another_is_not_touched() -> None:
    learning = Estimator()
    chinese = [item for item in CORPUS if item["kind"] in ("chinese", "traditional")]
    for _ in range(3):
        learning.observe("p", "old", request(chinese), Usage(counted(chinese, "cl100k")))

    assert learning.scale("p", "old").other > 1.2
    assert learning.scale("p", "new") == Scale()


def test_a_service_that_counts_nothing_or_counts_images_teaches_nothing() -> None:
    learning = Estimator()
    seen = UserSaid("what is this? " * 20, (Image("image/jpeg", b"x"),))
    learning.observe("p", "m", request(CORPUS), Usage())
    learning.observe("p", "m", ModelRequest("", (seen,), ()), Usage(2_000))

    assert learning.scale("p", "m") == Scale()


def test_a_refusal_as_too_long_raises_the_estimate() -> None:
    learning = Estimator()
    learning.was_too_long("p", "m")

    assert learning.scale("p", "m").text("word " * 100) > Scale().text("word " * 100)


def test_what_is_told_of_tools_counts_and_is_looked_at_once() -> None:
    learning = Estimator()
    spec = ToolSpec("persist", "Keep and read rows.", {"type": "object", "properties": {}})

    assert learning.tools([spec]) == learning.tools([spec])
    assert learning.tools([spec]).ascii > 5
    assert learning.request(ModelRequest("", (), (spec,)), ("p", "m")).fixed > 0


CALLS = (ToolCall("1", "persist", "{}"),)
THOUGHTS = "so I thought about the garden and the fence. " * 200


@pytest.mark.parametrize(
    ("wire", "of", "to", "counts"),
    [
        ("chat", ("mine", "m-1"), ("mine", "m-2"), True),
        ("chat", ("mine", "m-1"), ("mine", "other"), False),
        ("chat", ("mine", "m-1"), ("theirs", "m-1"), False),
        ("responses", ("openai", "gpt-6-luna"), ("openai", "gpt-6-luna"), True),
        ("responses", ("openai", "gpt-6-luna"), ("openai", "gpt-6.1-sol"), False),
        ("gemini", ("gemini", ""), ("gemini", "gemini-3.5-flash"), True),
        ("gemini", ("gemini", ""), ("mine", "m-1"), False),
    ],
)
def test_thoughts_count_where_they_go_back_and_nowhere_else(
    wire: str, of: tuple[str, str], to: tuple[str, str], counts: bool
) -> None:
    """As each wire writes them (`thoughts`, `responses_wire`, `gemini_wire`)."""
    kept: dict[str, Any] = {"wire": wire}
    if wire != "gemini":
        kept |= {"provider": of[0], "model": of[1]}
    compact = (", ", ": ") if wire == "chat" else (",", ":")
    native = json.dumps(kept | {"parts": [{"text": THOUGHTS}]}, separators=compact)
    said = AssistantSaid("Yes.", CALLS, native)

    scale = Estimator().scale(*to)
    plain = scale.entries([AssistantSaid("Yes.", CALLS)])
    assert (scale.entries([said]) > plain + 1_000) is counts
    assert counts or scale.entries([said]) == plain
    assert scale.entries([said]) <= scale.at_most([said]) + 1


TEXTS = st.text(max_size=60) | st.sampled_from([item["text"] for item in CORPUS])
ENTRIES = st.lists(
    st.builds(UserSaid, TEXTS)
    | st.builds(AssistantSaid, TEXTS, st.tuples(st.builds(ToolCall, TEXTS, TEXTS, TEXTS)))
    | st.builds(ToolReturned, TEXTS, TEXTS, TEXTS),
    max_size=6,
)


@given(ENTRIES, st.floats(0.3, 4.0), st.floats(0.3, 4.0))
def test_the_bound_that_looks_at_no_character_is_never_exceeded(
    messages: list[Message], ascii_factor: float, other_factor: float
) -> None:
    scale = Scale(ascii_factor, other_factor)

    assert scale.entries(messages) <= scale.at_most(messages) + 1


@given(TEXTS, TEXTS)
def test_estimates_add_up(one: str, two: str) -> None:
    both = estimate(one) + estimate(two)

    assert (both.ascii, both.other) == pytest.approx(
        (estimate(one + two).ascii, estimate(one + two).other)
    )
    assert estimate_entries([UserSaid(one), UserSaid(two)], ("p", "m")).fixed == 2 * _ENTRY_TOKENS
