"""Which entries a model reads: laws that hold for any history. Source: design §3.4."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.transcript import (
    AssistantSaid,
    Message,
    ToolCall,
    ToolReturned,
    UserSaid,
    message_tokens,
)
from aouo.turn.history import newest_that_fit, sanitised

HI, BYE = UserSaid("hi"), AssistantSaid("bye")
CALLS = AssistantSaid("let me see", (ToolCall("1", "a", "{}"), ToolCall("2", "b", "{}")))
ONE, TWO = ToolReturned("1", "a", "x"), ToolReturned("2", "b", "y")


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([], []),
        ([HI, BYE], [HI, BYE]),
        ([BYE, HI], [HI]),
        ([HI, CALLS, ONE, TWO, BYE], [HI, CALLS, ONE, TWO, BYE]),
        ([HI, CALLS, TWO, ONE], [HI, CALLS, TWO, ONE]),
        ([HI, CALLS, ONE], [HI, AssistantSaid("let me see")]),
        ([HI, AssistantSaid("", CALLS.calls), ONE, BYE], [HI, BYE]),
        ([ONE, TWO, HI], [HI]),
        ([HI, ONE, BYE], [HI, BYE]),
        ([CALLS, ONE, TWO, BYE], []),
        ([HI, CALLS, HI, ONE, TWO], [HI, AssistantSaid("let me see"), HI]),
    ],
)
def test_what_no_provider_accepts_is_dropped(
    messages: Sequence[Message], kept: Sequence[Message]
) -> None:
    assert sanitised(messages) == list(kept)


@st.composite
def turns(draw: st.DrawFn) -> list[Message]:
    """Some whole turns, as they are stored."""
    messages: list[Message] = []
    for turn in range(draw(st.integers(0, 5))):
        messages.append(UserSaid(draw(st.text(max_size=40))))
        for dispatch in range(draw(st.integers(0, 3))):
            ids = [f"{turn}.{dispatch}.{n}" for n in range(draw(st.integers(1, 3)))]
            messages.append(AssistantSaid("", tuple(ToolCall(i, "t", "{}") for i in ids)))
            messages += [ToolReturned(i, "t", draw(st.text(max_size=9))) for i in ids]
        messages.append(AssistantSaid(draw(st.text(min_size=1, max_size=40))))
    return messages


def paired(messages: Sequence[Message]) -> bool:
    """Each call is answered right behind it, each result follows its call."""
    waiting: list[str] = []
    for entry in messages:
        if isinstance(entry, ToolReturned):
            if entry.call_id not in waiting:
                return False
            waiting.remove(entry.call_id)
        elif waiting:
            return False
        elif isinstance(entry, AssistantSaid):
            waiting = [call.id for call in entry.calls]
    return not waiting


@given(turns(), st.integers(0, 60), st.integers(0, 60))
def test_any_cut_keeps_calls_with_their_results_and_begins_with_a_person(
    messages: list[Message], start: int, end: int
) -> None:
    kept = sanitised(messages[start:end])

    assert paired(kept)
    assert not kept or isinstance(kept[0], UserSaid)
    assert sanitised(kept) == kept


@given(turns())
def test_whole_turns_are_left_as_they_are(messages: list[Message]) -> None:
    assert sanitised(messages) == messages


@given(turns(), st.integers(-5, 400))
def test_the_newest_whole_turns_fit(messages: list[Message], room: int) -> None:
    kept = newest_that_fit(messages, room)

    assert kept == messages[len(messages) - len(kept) :]
    assert sum(map(message_tokens, kept)) <= max(room, 0)
    assert not kept or isinstance(kept[0], UserSaid)
    assert paired(kept)
    left = messages[: len(messages) - len(kept)]
    if left:  # one more turn would not have fitted
        newest = max(i for i, entry in enumerate(left) if isinstance(entry, UserSaid))
        assert sum(map(message_tokens, messages[newest:])) > room


@given(turns(), st.integers(0, 200))
def test_more_room_never_means_less_history(messages: list[Message], room: int) -> None:
    assert len(newest_that_fit(messages, room)) <= len(newest_that_fit(messages, room + 50))
