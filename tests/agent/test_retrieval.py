"""What a turn is reminded of, and in how many words. Source: issue 14, "Memory"; ours."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.retrieval import (
    _TOKENS_MAX,
    _WORDS_MAX,
    LOOKED_AT,
    MESSAGES_MAX,
    NOTES_MAX,
    best,
    notes_with,
    ranked,
    reminder,
    useful_words,
)
from aouo.agent.tokens import Scale
from aouo.plumbing.web.envelope import untrusted
from aouo.store.search import Hit

NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ("Hello", []),
        ("Hello, how are you today?", []),
        ("Guten Morgen, wie geht's?", ["geht"]),
        ("Привет! Как дела?", ["дела"]),
        ("", []),
        ("?!…", []),
        ("Where is the dentist's invoice from 2024?", ["2024", "dentist", "invoice"]),
        ("DENTIST Dentist dentists", ["dentist"]),
        ("我们六月去东京", ["我们", "们六", "六月", "月去", "去东", "东京"]),
        (f"so what about {untrusted('pelicans in Peru', 'forwarded from Eve')} ?", []),
        ("[forwarded from Eve]\npelicans", ["pelicans"]),
    ],
)
def test_only_words_that_say_what_it_is_about_are_looked_for(
    said: str, words: Sequence[str]
) -> None:
    assert sorted(useful_words(said)) == sorted(words)


@given(st.text(max_size=400))
def test_whatever_is_said_few_words_are_looked_for(said: str) -> None:
    words = useful_words(said)

    assert len(words) <= _WORDS_MAX
    assert all(word.isalnum() for word in words)


@pytest.mark.parametrize(
    ("words", "found", "sent", "kept"),
    [
        (["boiler", "müller"], [[1], [1, 2]], set[int](), [1, 2]),
        (["milk", "tea"], [[1, 2], [2, 3]], set[int](), [2]),
        (["boiler"], [[5]], set[int](), [5]),
        (["milk"], [[5]], set[int](), []),
        (["boiler"], [list(range(10))], set[int](), []),
        (["2024"], [[5]], set[int](), [5]),
        (["boiler", "müller"], [[1], [1]], {1}, []),
        ([], [], set[int](), []),
    ],
)
def test_a_message_counts_if_it_shares_two_words_or_a_rare_one_and_is_not_sent_anyway(
    words: Sequence[str], found: Sequence[Sequence[int]], sent: set[int], kept: Sequence[int]
) -> None:
    assert list(ranked(words, found, sent)) == kept


@given(st.lists(st.lists(st.integers(1, 400), unique=True, max_size=150), max_size=_WORDS_MAX))
def test_of_many_the_ones_that_share_the_rarest_words_are_looked_at(found: list[list[int]]) -> None:
    words = ["boiler"] * len(found)
    weights = ranked(words, found, set())

    assert len(weights) <= LOOKED_AT
    assert list(weights.values()) == sorted(weights.values(), reverse=True)


def test_of_equal_ones_the_newer_and_the_shorter_are_worth_more() -> None:
    three = [
        (number, (NOW - timedelta(days=days)).isoformat(), chars)
        for number, (days, chars) in enumerate([(90, 100), (1, 100), (1, 9_000)], start=1)
    ]
    many = [(number, NOW.isoformat(), 10) for number in range(50)]

    assert best({1: 2.0, 2: 2.0, 3: 2.0}, three, NOW) == [2, 1, 3]
    assert len(best(dict.fromkeys(range(50), 1.0), many, NOW)) == MESSAGES_MAX


def test_lines_of_a_file_are_found_whatever_their_accents_and_endings() -> None:
    text = "# Notes\n- die Rechnung von Müller\n- tea\n" + "- boiler\n" * 20

    assert notes_with(["muller", "rechnungen"], "MEMORY.md", text) == [
        ("MEMORY.md", "- die Rechnung von Müller")
    ]
    assert len(notes_with(["boiler"], "MEMORY.md", text)) == NOTES_MAX


def test_what_says_the_same_twice_or_what_is_said_now_is_told_once_or_not() -> None:
    hits = [hit("The boiler is new"), hit("the  BOILER is new"), hit("Is the boiler new?")]

    told = reminder([], hits, "is the boiler NEW?", Scale())

    assert told.count("boiler") == 1


@given(
    st.lists(st.text(max_size=3_000), max_size=MESSAGES_MAX),
    st.lists(st.text(max_size=3_000), max_size=NOTES_MAX),
)
def test_a_reminder_is_never_too_long_and_ends_no_paragraph(
    said: list[str], noted: list[str]
) -> None:
    hits = [hit(text) for text in said]
    notes = [("MEMORY.md", " ".join(text.split())) for text in noted]
    told = reminder(notes, hits, "", Scale())

    assert Scale().text(told) <= _TOKENS_MAX
    assert "\n\n" not in told
    assert not told or "\n- " in told


def hit(text: str) -> Hit:
    return Hit("chat/tg:1/1", "", NOW.isoformat(), "user", text, " ".join(text.split())[:240])
