"""Of the card that asks the owner: every call on it stands there with all its targets.

Source: issue 44, item 2.
"""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.facts.transcript import ToolCall
from aouo.guard.flow import leads_to
from aouo.guard.prepared import Ask, PreparedCall
from aouo.words.catalogue import LIMIT_UNITS
from aouo.words.markdown.tables import utf16_len
from aouo.words.sentences import Asked, approval
from tests.fakes.turn_facts import facts_of

_PLACES = st.from_regex(r"[a-z]{1,12}@[a-z]{1,30}\.example", fullmatch=True)
_WORDS = st.text(st.sampled_from('a b"\\\n{}é😀'), max_size=4_000)
_CALL = st.tuples(st.lists(_PLACES, min_size=1, max_size=120, unique=True), _WORDS, st.integers(0))


def _asked(to: list[str], body: str, amount: int) -> Asked:
    payload = {"body": body, "to": to, "amount": amount}
    call = ToolCall("c", "send_money", json.dumps(payload))
    action = PreparedCall(call, "send_money", payload, facts_of(), "", targets=payload)
    ask = Ask("", to[0], why="spends")
    ask = Ask("", leads_to(action, ask), why="spends", arguments=call.arguments, for_good=True)
    return Asked(action, ask, 0)


@settings(max_examples=60, deadline=None)
@given(st.lists(_CALL, min_size=1, max_size=12))
def test_a_card_shows_each_call_that_it_asks_about_with_all_its_targets(
    calls: list[tuple[list[str], str, int]],
) -> None:
    asked = [_asked(*one) for one in calls]
    card, count = approval("g", asked, ("mcp:box",), None)

    assert utf16_len(card.text) <= LIMIT_UNITS
    assert card.text.count("send_money → ") >= count
    for to, _, amount in calls[:count]:
        assert all(place in card.text for place in to)
        assert str(amount) in card.text
    if count:
        assert "Why I ask: " in card.text
        assert card.text.endswith("Is that all right?")


def test_long_words_are_shortened_and_what_does_not_fit_is_left_to_another_card() -> None:
    mails = [_asked([f"p{n}@home.example"], "words " * 500, 900 + n) for n in range(40)]
    card, count = approval("g", mails, ("mcp:box",), None)

    assert 10 <= count < 40
    assert "…" in card.text
    assert f"p{count - 1}@home.example" in card.text
    assert f"p{count}@home.example" not in card.text


def test_a_call_of_more_places_than_a_card_holds_is_not_asked_about() -> None:
    """It is refused: a yes to it would be a yes to what nobody saw."""
    many = _asked([f"person{n}@some.long.host.example" for n in range(500)], "hi", 1)

    assert approval("g", [many], ("mcp:box",), None)[1] == 0


@pytest.mark.parametrize(
    ("to", "mixed"),
    [("tom@home.example", False), ("tоm@home.example", True), ("вася@почта.рф", False)],
)
def test_letters_of_two_alphabets_are_told(to: str, mixed: bool) -> None:
    card, _ = approval("g", [_asked([to], "hi", 1)], ("mcp:box",), None)

    assert (f"Written with letters of two alphabets: {to}" in card.text) == mixed
    assert "(through “box”)" in card.text
    assert "mcp:" not in card.text


def test_marks_of_direction_are_shown_as_such_and_targets_are_bold() -> None:
    mail = _asked(["tom@home.example"], "hi", 1)
    raw = '{"body": "\u202eevil\u2066 \U0001f600"}'
    mail = mail._replace(ask=replace(mail.ask, arguments=raw))
    card, _ = approval("g", [mail, _asked(["😀@b.example"], "x", 2)], ("mcp:box",), None)
    utf16 = card.text.encode("utf-16-le")
    bold = [utf16[2 * one.offset :][: 2 * one.length].decode("utf-16-le") for one in card.entities]

    assert "\\u202eevil\\u2066 \U0001f600" in card.text
    assert [one.partition(" · ")[0] for one in bold] == ["tom@home.example", "😀@b.example"]
