"""Which entries a model reads: laws that hold for any history. Source: design §3.4."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.history import (
    _SHORT_CHARS,
    newest_that_fit,
    sanitised,
    stale_shortened,
    without_repeats,
)
from aouo.agent.tokens import Scale
from aouo.facts.transcript import (
    AssistantSaid,
    Message,
    SystemSaid,
    ToolCall,
    ToolReturned,
    UserSaid,
)

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
    kept = newest_that_fit(messages, room, Scale())

    assert kept == messages[len(messages) - len(kept) :]
    assert not kept or Scale().entries(kept) <= room
    assert not kept or isinstance(kept[0], UserSaid)
    assert paired(kept)
    left = messages[: len(messages) - len(kept)]
    if left:  # half as many turns again would not have fitted, or only to a few tokens
        starts = [i for i, entry in enumerate(messages) if isinstance(entry, UserSaid)]
        stay = sum(isinstance(entry, UserSaid) for entry in kept)
        more = messages[starts[max(0, len(starts) - 2 * stay - 1)] :]
        assert Scale().entries(more) + 2 * len(messages) > room


@pytest.mark.parametrize(("fit", "moves"), [(4, 30), (7, 30), (20, 8), (40, 5)])
def test_the_front_of_a_history_that_fills_the_window_moves_in_blocks(fit: int, moves: int) -> None:
    """Otherwise a service that caches prefixes, or one's own machine, reads all of it each turn."""
    session = [UserSaid("some words " * 5), AssistantSaid("more words " * 5)]
    room = Scale().entries(session * fit) + fit
    lengths = [len(newest_that_fit(session * n, room, Scale())) // 2 for n in range(1, fit + 60)]
    fronts = [n - length for n, length in enumerate(lengths, start=1)]

    assert fronts == sorted(fronts)
    assert len(set(fronts)) - 1 <= moves
    assert all(fit // 2 <= length <= fit for length in lengths[fit:])


def test_a_summary_stays_whatever_else_goes() -> None:
    summary = SystemSaid("[Previous conversation summary: a walk in the rain]")
    messages = [summary, UserSaid("long ago " * 50), BYE, HI, BYE]

    assert newest_that_fit(messages, 40, Scale()) == [summary, HI, BYE]
    assert sanitised([summary, BYE, HI]) == [summary, HI]


LONG = "A first line.\n" + "\n".join(f"{n}: something that was found" for n in range(56))


def looked_up(text: str, number: int = 0) -> list[Message]:
    call = ToolCall(str(number), "persist", "{}")
    said = UserSaid(f"look {number}")
    return [said, AssistantSaid("", (call,)), ToolReturned(call.id, call.name, text), BYE]


def test_results_become_one_line_four_turns_at_once_and_the_newest_four_stay_whole() -> None:
    told = "[persist: 1,627 characters, 57 lines: A first line. 0: something that was found 1: "
    session = [entry for number in range(20) for entry in looked_up(LONG, number)]
    whole: list[int] = []
    for turns_ago in range(1, 21):
        read = stale_shortened(session[: 4 * turns_ago])
        results = [entry for entry in read if isinstance(entry, ToolReturned)]
        stale = [entry for entry in results if entry.text != LONG]
        whole.append(len(results) - len(stale))
        assert results[: len(stale)] == stale
        assert all(entry.text.startswith(told) for entry in stale)
        assert all(len(entry.text) < _SHORT_CHARS for entry in stale)

    assert whole == [1, 2, 3, 4, 5, 6, 7, *[4, 5, 6, 7] * 3, 4]


@given(st.lists(turns(), min_size=2, max_size=12))
def test_what_was_read_of_earlier_turns_changes_every_fourth_turn_only(
    said: list[list[Message]],
) -> None:
    """So that a service which caches prefixes reads it once."""
    history: list[Message] = []
    changed = 0
    read: list[Message] = []
    for turn, messages in enumerate(said):
        history += [UserSaid(f"{turn}"), *looked_up(f"{LONG} {turn}")[1:], *messages]
        newer = without_repeats(stale_shortened(history))
        changed += newer[: len(read)] != read
        read = newer

    starts = sum(isinstance(entry, UserSaid) for entry in history)
    assert changed <= starts // 4


@given(turns(), st.integers(0, 3))
def test_shortening_keeps_every_entry_in_its_place(messages: list[Message], more: int) -> None:
    messages += looked_up(LONG) * more
    shortened = stale_shortened(messages)

    assert [type(entry) for entry in shortened] == [type(entry) for entry in messages]
    assert paired(shortened) == paired(messages)
    assert stale_shortened(shortened) == shortened


@pytest.mark.parametrize(
    ("messages", "kept"),
    [
        ([HI, HI, BYE], [HI, BYE]),
        ([HI, BYE, HI, BYE], [HI, BYE, HI, BYE]),
        ([HI, UserSaid("hi again")], [HI, UserSaid("hi again")]),
        (looked_up("short") * 2, looked_up("short") * 2),
    ],
)
def test_words_that_come_twice_in_a_row_are_read_once(
    messages: Sequence[Message], kept: Sequence[Message]
) -> None:
    """A platform may deliver a message again."""
    assert without_repeats(messages) == list(kept)


def test_of_large_results_that_are_the_same_the_first_is_read_whole() -> None:
    """What was sent before stays as it was."""
    read = without_repeats([*looked_up(LONG, 1), *looked_up(LONG, 2)])

    results = [entry.text for entry in read if isinstance(entry, ToolReturned)]
    assert results == [LONG, "[the same as an earlier result of persist]"]
    assert paired(read)
    assert without_repeats(read) == read
