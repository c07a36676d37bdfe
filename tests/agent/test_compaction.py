"""Which messages a summary stands for: laws that hold for any history. Source: design §3.4."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.compaction import (
    _SUMMARY_CHARS,
    _SUMMARY_SHARE,
    KEPT_SHARE,
    _material,
    _read_by_model,
    _shortened_to,
    budget_tokens,
    cut,
    heading,
)
from aouo.agent.tokens import Scale
from aouo.facts.records import HistoryEntry, Past, Reach, Summary
from aouo.facts.transcript import (
    AssistantSaid,
    Message,
    SystemSaid,
    ToolCall,
    ToolReturned,
    UserSaid,
)
from tests.agent.test_history import paired, turns

SCALE = Scale()


def rows(messages: Sequence[Message]) -> list[HistoryEntry]:
    """As they are stored: ids that grow, a turn for each message of the person."""
    turn = 0
    entries: list[HistoryEntry] = []
    for number, message in enumerate(messages, start=1):
        turn += isinstance(message, UserSaid)
        entries.append(HistoryEntry(number, str(turn), message))
    return entries


def summary(text: str, upto: int) -> Summary:
    return Summary(1, "s", "s", upto, upto, upto, text, SCALE.text(text))


@given(turns(), st.integers(60, 600), st.text(max_size=900))
def test_what_is_read_after_a_compaction_is_under_the_limit_and_nothing_is_done_twice(
    messages: list[Message], budget: int, said_by_model: str
) -> None:
    older, kept = cut(rows(messages), int(budget * KEPT_SHARE), SCALE)
    words = _shortened_to(said_by_model, int(budget * _SUMMARY_SHARE), SCALE)
    stays = tuple(entry.message for entry in kept)
    read = _read_by_model(Past(Reach(summary(words, len(older))), stays))

    assert SCALE.entries(read) <= 0.7 * budget + SCALE.entries([heading(summary("", 0))])
    assert not cut(kept, int(budget * KEPT_SHARE), SCALE)[0]


@given(turns(), st.integers(0, 300))
def test_a_cut_loses_nothing_and_keeps_turns_whole(messages: list[Message], keep: int) -> None:
    entries = rows(messages)
    older, kept = cut(entries, keep, SCALE)

    assert [*older, *kept] == entries
    assert not {e.turn_id for e in older} & {e.turn_id for e in kept}
    assert paired([entry.message for entry in older])
    assert paired([entry.message for entry in kept])


def test_the_newest_turn_is_kept_though_it_is_a_little_too_large() -> None:
    messages = [UserSaid("old " * 40), AssistantSaid("yes"), UserSaid("new " * 60)]
    tokens = SCALE.entries(messages[2:])

    assert len(cut(rows(messages), tokens * 3 // 4, SCALE)[1]) == 1
    assert len(cut(rows(messages), tokens * 3 // 5, SCALE)[1]) == 0


@pytest.mark.parametrize(
    ("window", "fixed", "tokens"),
    [(128_000, 2_000, 121_904), (8_000, 1_000, 5_000), (4_096, 0, 3_072), (1_000, 2_000, -1_250)],
)
def test_history_may_take_the_window_without_reserve_and_what_is_sent_anyway(
    window: int, fixed: int, tokens: int
) -> None:
    assert budget_tokens(window, fixed) == tokens


def test_the_material_of_a_summary_names_who_spoke_and_shortens_results() -> None:
    call = ToolCall("1", "persist", '{"action": "recent"}')
    spoken = [
        UserSaid("what did I note?"),
        AssistantSaid("let me see", (call,)),
        ToolReturned("1", "persist", "row " * 500),
        AssistantSaid("Milk."),
    ]
    text = _material("They keep a list.", spoken, 10_000, SCALE)

    lines = text.splitlines()
    assert lines[0] == "Summary so far: They keep a list."
    assert lines[1] == "Person: what did I note?"
    assert lines[2] == 'Assistant: let me see [called persist {"action": "recent"}]'
    assert lines[3] == "Result of persist: " + "row " * 75
    assert lines[4] == "Assistant: Milk."


@given(turns(), st.integers(30, 200))
def test_the_material_is_bounded_and_its_newest_words_are_there(
    messages: list[Message], most: int
) -> None:
    text = _material("", [*messages, UserSaid("the newest")], most, SCALE)

    assert SCALE.text(text) <= most + 20
    assert text.endswith("Person: the newest")


def test_a_model_that_does_not_stop_is_cut() -> None:
    assert len(_shortened_to("word " * 10_000, 10_000, SCALE)) <= _SUMMARY_CHARS
    assert _shortened_to("short", 100, SCALE) == "short"
    assert heading(summary("A walk.", 3)) == SystemSaid("[Previous conversation summary: A walk.]")
