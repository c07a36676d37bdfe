"""A message is one phrase, none, or a tie; a pattern is no expression. Source: issue 27."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.packs.actions.patterns import check
from aouo.packs.actions.phrases import Phrase, Phrases
from aouo.packs.actions.reading import parse
from aouo.packs.actions.slots import Here

HERE = Here(datetime(2026, 3, 2, 12, tzinfo=UTC), UTC)
WHEN = {"when": "datetime", "text": "text"}
ALL = Phrases(
    [
        Phrase("own", "once", "remind me {when} to {text}", "en", kinds=WHEN),
        Phrase("own", "once", "remind me to {text} {when}", "en", kinds=WHEN),
        Phrase("money", "spend", "[I] spent {money} on {text}", "en", kinds={"money": "money"}),
        Phrase("notes", "add", "note: {text+}", "en", kinds={"text": "text"}),
        Phrase("notes", "find", "(find|search) notes about {text}", "en"),
        Phrase("vocab", "add", "{word} = {meaning}", "en"),
        Phrase("vocab", "ask", "what does {word} mean?", "en"),
        Phrase("one", "a", "same {text}", "en"),
        Phrase("two", "b", "same {text}", "en"),
    ]
)
PACKS = ("own", "money", "notes", "vocab", "one", "two")


def found(text: str) -> list[tuple[str, dict[str, str]]]:
    return [(one.phrase.action, dict(one.texts)) for one in ALL.match(text, HERE, PACKS)]


@pytest.mark.parametrize(
    ("text", "action", "texts"),
    [
        ("Remind me tomorrow at 8 to go to the bank!", "once", "go to the bank"),
        ("remind me to call Tom tomorrow at 8", "once", "call Tom"),
        ("I  spent 12,50 € on lunch.", "spend", "lunch"),
        ("NOTE: buy milk\nand eggs?", "add", "buy milk\nand eggs?"),
        ("search notes about “tea”", "find", "“tea”"),
    ],
)
def test_a_message_is_the_phrase_that_it_says(text: str, action: str, texts: str) -> None:
    ((said, slots),) = found(text)

    assert (said, slots["text"]) == (action, texts)


@pytest.mark.parametrize(
    "text",
    [
        "remind me to be kind",
        "find notes about tea?",
        "a = b, c = d",
        "what is a note",
        "note",
        "x" * 250 + " = y",
        "please note that this is a longer letter to somebody else",
    ],
)
def test_what_is_none_goes_on(text: str) -> None:
    assert found(text) == []


def test_of_two_packs_with_one_phrase_neither_is_chosen() -> None:
    first, second = ALL.match("same thing", HERE, PACKS)

    assert first.rank == second.rank
    assert {first.phrase.pack, second.phrase.pack} == {"one", "two"}


def test_what_is_near_holds_the_persons_own_words() -> None:
    offers = [(one.phrase.action, one.texts) for one in ALL.nearest("buy milk", HERE, PACKS)]

    assert ("add", {"text": "buy milk"}) in offers


@pytest.mark.parametrize(
    ("pattern", "why"),
    [
        ("{text}", "needs a word besides its slots"),
        ("add {other}", "{other} is no argument of the action"),
        ("add {text}{word}", "needs a word between {text} and {word}"),
        ("add (text", "has a '(' that belongs to nothing"),
        ("in {text}", 'needs a word besides its slots and "in"'),
        ("[später] in {text}", 'needs a word besides its slots and "in"'),
        ("{text}: {word}", 'needs a word besides its slots and ":"'),
        ("set {text} x{word}", "never fits: {word} stands in a word"),
        ("[a|b|c][a|b|c][a|b|c][a|b|c] x", "can be read in more than 200 ways"),
    ],
)
def test_a_wrong_pattern_is_named(pattern: str, why: str) -> None:
    assert check(pattern, {"text": "text", "word": "text"}) == [why]


def test_of_two_actions_that_are_said_alike_the_second_is_named() -> None:
    text = """
      actions:
        put: {title: Put, arguments: {what: text}, sql: SELECT 1, answer: ok}
        take: {title: Take, arguments: {thing: text}, sql: SELECT 1, answer: ok}
      phrases:
        - {action: put, en: ["[please] move {what}"], de: ["move {what}"]}
        - {action: take, en: ["(move|take) {thing}"], de: ["nimm {thing}"]}
    """
    _, problems = parse(text)

    assert [str(one) for one in problems] == [
        'actions.yml:7: phrases: "(move|take) {thing}" is said of put already, in line 6'
    ]


@given(st.text(max_size=300))
def test_no_text_breaks_the_search(text: str) -> None:
    ALL.match(text, HERE, PACKS)
    ALL.nearest(text, HERE, PACKS)


@given(st.text("abc =:to", max_size=400))
def test_words_of_patterns_in_any_order_end(text: str) -> None:
    ALL.match(f"remind me {text} to {text}", HERE, PACKS)


def test_lower_is_warned_of_and_the_action_stays() -> None:
    declared, problems = parse(
        "actions: {a: {title: A, find: SELECT lower(x) FROM t, nothing: no}}"
    )

    assert [(one.severity, one.field) for one in problems] == [("warning", "actions.a")]
    assert list(declared.actions) == ["a"]
