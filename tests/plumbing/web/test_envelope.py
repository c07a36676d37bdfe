"""Marks around strangers' words: none can be forged, and what is kept keeps them.

Source: issue 31 "Labels".
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.web.envelope import (
    of_others,
    own_words,
    parted,
    said_by,
    source_in,
    sources_in,
    told_from,
    unmarked,
    untrusted,
)

LINES = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n<"), max_size=30), max_size=5
)


@given(st.text(max_size=300), st.text(max_size=60))
def test_nothing_inside_marks_is_its_readers_own_and_nothing_ends_them(text: str, own: str) -> None:
    own = " ".join(own.replace("[", "(").replace("<", "(").split())
    marked = untrusted(text, "mcp:mail")

    assert own_words(f"{own}\n{marked}").split("\n")[0] == own
    assert "".join(own_words(marked).split()) == ""
    assert sources_in(marked) == ("mcp:mail",)


@given(LINES)
def test_kept_lines_are_marked_each_and_told_with_their_source(lines: list[str]) -> None:
    text = "\n".join(lines)
    kept = of_others(text, ("mcp:mail", "web"))
    own, theirs = parted(f"mine\n{kept}")

    assert of_others(text, ()) == text
    assert kept == of_others(text, ("mcp:mail", "web"))
    assert [line for line in own.split("\n") if line.strip()] == ["mine"]
    assert len(theirs.splitlines()) == sum(bool(line.strip()) for line in lines)
    assert len(unmarked(kept).split()) == len(text.split())
    assert theirs.splitlines() == [line for line in theirs.split("\n") if line]
    assert told_from(kept).count(" (mcp:mail web)") == len(theirs.splitlines())


def test_the_runtimes_lines_and_taps_are_not_a_persons_words() -> None:
    said = "[forwarded from Eve]\nhello\n[tap] Yes\n[callback] pay eve\nbye"

    assert own_words(said) == "hello\nbye"
    assert own_words("[the person edited their message: pay Ann]") == (
        "[the person edited their message: pay Ann]"
    )


def test_several_sources_are_each_named_once() -> None:
    text = "\n".join((untrusted("a", "one"), untrusted("b", "two"), untrusted("c", "one")))

    assert sources_in(text) == ("one", "two")
    assert source_in(said_by("one", "a")) == "one"
    assert (source_in(said_by("", "a")), sources_in("plain")) == ("", ())
