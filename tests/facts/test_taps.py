"""The codec of what buttons send. Source: contract ("Callback data prefixes"), the Bot API."""

from __future__ import annotations

import re
from string import ascii_letters, digits

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from aouo.facts.taps import FORMS, Tap, decode, encode, fits

_NAMES = st.text(ascii_letters + digits + "_-.", min_size=1, max_size=32)
_VALUES = {
    "id": st.text(ascii_letters + digits, min_size=1, max_size=26).filter("offer".__ne__),
    "number": st.integers(0, 10**18 - 1).map(str),
    "text": _NAMES,
}
_TEXTS = {  # what has no form of its own is what no other row reads
    "page": st.just("") | _NAMES.map(lambda name: f"p-{name}"),
    "old": st.sampled_from(["choice_", "nav:budget_x", "nav:again_1x", "kept_1", ""]),
    "text": st.text(min_size=1, max_size=16).map(lambda data: f"skill:{data}"),
    "command": st.sampled_from(["cron on 01ARZ3NDEKTSV4RRFFQ69G5FAV", "memory undo 7", "new", ""]),
}


def _of(name: str) -> st.SearchStrategy[Tap]:
    kinds: list[str] = re.findall(r"{(\w+)}", FORMS[name].wire)
    parts = (_TEXTS.get(name, _VALUES[kind]) for kind in kinds)
    return st.tuples(*parts).map(lambda values: Tap(name, values))


TAPS: st.SearchStrategy[Tap] = st.one_of([_of(name) for name in FORMS])


@given(TAPS)
def test_a_tap_is_read_as_what_was_written(tap: Tap) -> None:
    assert decode(encode(tap.name, *tap.values)) == tap


@given(TAPS)
def test_what_we_write_is_what_telegram_takes(tap: Tap) -> None:
    """1 to 64 bytes. Source: core.telegram.org/bots/api#inlinekeyboardbutton."""
    if tap.name not in ("text", "old"):
        assert fits(encode(tap.name, *tap.values))


@given(st.text() | st.sampled_from(["nav:", "choice_", "kept_", "pack:", "c:", "do:"]).flatmap(
    lambda head: st.text().map(lambda rest: head + rest)
))  # fmt: skip
@example("")
@example("nav:again_" + "9" * 40)
@example("choice_g:²")
@example("nav:install_{}_yes")
def test_whatever_anybody_sends_means_something(data: str) -> None:
    """A client may send what data it likes; read again it is the same."""
    tap = decode(data)

    assert decode(encode(tap.name, *tap.values)) == tap


@pytest.mark.parametrize(
    ("data", "name", "values"),
    [
        ("pack:vocab", "pack", ("vocab",)),
        ("c:cron on 01ARZ", "command", ("cron on 01ARZ",)),
        ("choice_01ARZ:2", "choice", ("01ARZ", "2")),
        ("choice_01ARZ:-1", "old", ("choice_01ARZ:-1",)),
        ("approval_01ARZ:always", "approval", ("01ARZ", "always")),
        ("nav:budget_raise_01ARZ", "budget_raise", ("01ARZ",)),
        ("nav:budget_cheaper_01ARZ", "budget_cheaper", ("01ARZ",)),
        ("nav:budget_stop_01ARZ", "budget_stop", ("01ARZ",)),
        ("nav:edited_3", "edited", ("3",)),
        ("nav:install_offer_yes", "install_offer", ("yes",)),
        ("nav:install_01arz_yes", "install_yes", ("01arz",)),
        ("nav:install_01arz_no", "install_no", ("01arz",)),
        ("nav:again_3", "again", ("3",)),
        ("nav:again_3x", "old", ("nav:again_3x",)),
        (f"nav:again_{'9' * 19}", "old", (f"nav:again_{'9' * 19}",)),
        ("nav:digest_3", "digest", ("3",)),
        ("nav:onboarding_skip", "onboarding_skip", ()),
        ("kept_3:0", "kept", ("3", "0")),
        ("", "old", ("",)),
        ("menu", "page", ("",)),
        ("nav:", "page", ("",)),
        ("nav:list", "page", ("list",)),
        ("nav", "text", ("nav",)),
        ("skill:study", "text", ("skill:study",)),
    ],
)
def test_the_data_in_existing_chats_keeps_its_meaning(
    data: str, name: str, values: tuple[str, ...]
) -> None:
    assert decode(data) == Tap(name, values)


@pytest.mark.parametrize(
    "data",
    [
        *("nav:cron_on_01ARZ", "nav:cron_page_1", "nav:cron_stop_3", "nav:session_01ARZ"),
        *("nav:summary_3", "nav:unsummary_3", "nav:memory_show_USER.md", "nav:memory_undo_3"),
    ],
)
def test_buttons_of_earlier_times_and_of_later_ones_are_neither_pages_nor_words(data: str) -> None:
    assert decode(data) == Tap("old", (data,))


def test_a_button_has_the_values_of_its_row() -> None:
    with pytest.raises(KeyError):
        encode("nonsense")
    with pytest.raises(ValueError, match="zip"):
        encode("choice", "01ARZ")
    with pytest.raises(ValueError, match="zip"):
        encode("onboarding_skip", 1)


def test_answers_and_pages_bypass_their_lane_and_only_answers_are_asked_once() -> None:
    assert {name for name, form in FORMS.items() if form.asks_once} == {
        *("choice", "approval", "budget_raise", "budget_cheaper", "budget_stop"),
        *("edited", "install_offer", "install_yes", "install_no", "again", "digest", "person"),
    }
    assert {name for name, form in FORMS.items() if form.bypasses and not form.asks_once} == {
        *("data", "page"),
    }
