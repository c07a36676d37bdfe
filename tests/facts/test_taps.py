"""The codec of what buttons send. Source: contract ("Callback data prefixes"), the Bot API."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields
from string import ascii_letters, digits
from typing import cast, get_args

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.facts import taps
from aouo.facts.taps import Tap, decode, encode, fits

_NAMES = st.text(ascii_letters + digits + "_-.", min_size=1, max_size=32)
_FIELDS = {
    "Token": st.text(ascii_letters + digits, min_size=1, max_size=26).filter("offer".__ne__),
    "int": st.integers(0, 10**18 - 1),
    "str": _NAMES,
}
_DATA: dict[
    type[Tap], st.SearchStrategy[str]
] = {  # what has no form of its own is what no other case reads
    taps.OpenPage: st.just("") | _NAMES.map(lambda name: f"p-{name}"),
    taps.Unknown: st.sampled_from(["choice_", "nav:budget_x", "nav:again_1x", "kept_1", ""]),
    taps.Foreign: st.text(min_size=1, max_size=16).map(lambda data: f"skill:{data}"),
}


def _of(case: type[Tap]) -> st.SearchStrategy[Tap]:
    parts = (_DATA.get(case, _FIELDS[str(field.type)]) for field in fields(case))
    return st.builds(cast("Callable[..., Tap]", case), *parts)


TAPS: st.SearchStrategy[Tap] = st.one_of([_of(case) for case in get_args(Tap)])


@given(TAPS)
def test_a_tap_is_read_as_what_was_written(tap: Tap) -> None:
    assert decode(encode(tap)) == tap


@given(TAPS)
def test_what_we_write_is_what_telegram_takes(tap: Tap) -> None:
    """1 to 64 bytes. Source: core.telegram.org/bots/api#inlinekeyboardbutton."""
    if not isinstance(tap, taps.Foreign | taps.Unknown):
        assert fits(encode(tap))


@given(st.text() | st.sampled_from(["nav:", "choice_", "kept_", "pack:"]).flatmap(
    lambda head: st.text().map(lambda rest: head + rest)
))  # fmt: skip
@example("")
@example("nav:again_" + "9" * 40)
@example("choice_g:²")
@example("nav:install_{}_yes")
def test_whatever_anybody_sends_means_something(data: str) -> None:
    """A client may send what data it likes; read again it is the same."""
    tap = decode(data)

    assert decode(encode(tap)) == tap


@pytest.mark.parametrize(
    ("data", "tap"),
    [
        ("pack:vocab", taps.BindPack("vocab")),
        ("choice_01ARZ:2", taps.Choose("01ARZ", 2)),
        ("choice_01ARZ:-1", taps.Unknown("choice_01ARZ:-1")),
        ("approval_01ARZ:always", taps.Approve("01ARZ", "always")),
        ("nav:budget_raise_01ARZ", taps.RaiseBudget("01ARZ")),
        ("nav:budget_cheaper_01ARZ", taps.UseCheaperModel("01ARZ")),
        ("nav:budget_stop_01ARZ", taps.LeaveUnanswered("01ARZ")),
        ("nav:edited_3", taps.AnswerEdited(3)),
        ("nav:install_offer_yes", taps.OfferPack("yes")),
        ("nav:install_01arz_yes", taps.AcceptPack("01arz")),
        ("nav:install_01arz_no", taps.DeclinePack("01arz")),
        ("nav:again_3", taps.ShowAgain(3)),
        ("nav:again_3x", taps.Unknown("nav:again_3x")),
        (f"nav:again_{'9' * 19}", taps.Unknown(f"nav:again_{'9' * 19}")),
        ("nav:session_01ARZ", taps.OpenSession("01ARZ")),
        ("nav:summary_3", taps.ShowSummary(3)),
        ("nav:unsummary_3", taps.UndoSummary(3)),
        ("nav:memory_show_USER.md", taps.ShowMemory("USER.md")),
        ("nav:memory_empty_USER.md", taps.EmptyMemory("USER.md")),
        ("nav:memory_undo_3", taps.UndoMemory(3)),
        ("nav:cron_on_01ARZ", taps.SwitchOn("01ARZ")),
        ("nav:cron_off_01ARZ", taps.SwitchOff("01ARZ")),
        ("nav:onboarding_skip", taps.SkipOnboarding()),
        ("kept_3:0", taps.Reference(3, 0)),
        ("", taps.Unknown("")),
        ("menu", taps.OpenPage("")),
        ("nav:", taps.OpenPage("")),
        ("nav:list", taps.OpenPage("list")),
        ("nav", taps.Foreign("nav")),
        ("skill:study", taps.Foreign("skill:study")),
    ],
)
def test_the_data_in_existing_chats_keeps_its_meaning(data: str, tap: Tap) -> None:
    assert decode(data) == tap


def test_answers_and_pages_bypass_their_lane_and_only_answers_are_asked_once() -> None:
    cases: tuple[type[Tap], ...] = get_args(Tap)

    assert {case.__name__ for case in cases if case.asks_once} == {
        *("Choose", "Approve", "RaiseBudget", "UseCheaperModel", "LeaveUnanswered"),
        *("AnswerEdited", "OfferPack", "AcceptPack", "DeclinePack", "ShowAgain"),
        "ShowKept",
    }
    assert {case for case in cases if case.bypasses and not case.asks_once} == {
        *(taps.OpenPage, taps.ShowSchedules, taps.ShowHistory, taps.AskRemoval, taps.StopJob),
    }
