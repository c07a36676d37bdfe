"""Edits of a memory file are applied whole or not at all. Source: issue 14, "Memory"."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.facts.errors import ToolFailed
from aouo.facts.records import Source
from aouo.memory.edits import Edit, difference, edited

JOURNAL = {1: "said", 2: "inferred", 3: "said"}
TEXT = "# Notes\n- cat\n- sad\n"
INFERRED = frozenset({"- sad"})


def apply(*edits: Edit, text: str = TEXT) -> tuple[str, tuple[Source, ...]]:
    return edited(text, edits, JOURNAL, INFERRED, lambda before, line: f"{before}{line}\n")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize(
    ("edit", "text", "basis"),
    [
        (Edit("add", (1,), text="* lives in\n Bremen "), TEXT + "- lives in Bremen\n", "said"),
        (Edit("add", (2,), text="cat"), TEXT, "inferred"),
        (Edit("replace", (1, 2), 2, "dog"), "# Notes\n- dog\n- sad\n", "said"),
        (Edit("replace", (2,), 3, "glad"), "# Notes\n- cat\n- glad\n", "inferred"),
        (Edit("drop", (3,), 2), "# Notes\n- sad\n", ""),
    ],
)
def test_one_edit_changes_one_line_and_says_where_it_is_from(
    edit: Edit, text: str, basis: str
) -> None:
    after, sources = apply(edit)

    assert after == text
    assert [source.basis for source in sources] == ([basis] if basis else [])
    assert all(source.journal_ids == edit.sources for source in sources)


def test_all_that_is_wrong_is_named_at_once_and_nothing_is_changed() -> None:
    with pytest.raises(ToolFailed) as caught:
        apply(
            Edit("add", (1,), text="fine"),
            Edit("replace", (2,), 2, "dog"),
            Edit("drop", (9,), 2),
            Edit("drop", (1,), 1),
            Edit("add", (1,), text="x" * 400),
        )

    for part in ("edit 2: line 2 was said", "edit 3: its sources", "edit 4: there is no", "edit 5"):
        assert part in str(caught.value)
    assert "once only" in str(caught.value)


_EDITS = st.builds(
    Edit,
    st.sampled_from(["add", "replace", "drop"]),
    st.lists(st.integers(0, 4), max_size=2).map(tuple),
    st.integers(-1, 5),
    st.text(max_size=20),
)


@given(st.lists(_EDITS, max_size=4))
def test_whatever_is_proposed_a_said_line_goes_only_for_something_said(edits: list[Edit]) -> None:
    try:
        after, sources = apply(*edits)
    except ToolFailed:
        return

    assert "# Notes" in after
    if "- cat\n" not in after:
        (edit,) = [one for one in edits if one.line == 2 and one.do != "add"]
        assert {1, 3} & set(edit.sources)
    assert all(isinstance(source, Source) for source in sources)


# What changed between two texts says both, and stays short where they are alike


LINES = st.lists(st.sampled_from(["a", "b", "", "# c", "<b>"]), max_size=20)


@given(before=LINES, after=LINES)
def test_what_is_gone_and_new_is_the_difference(before: list[str], after: list[str]) -> None:
    lines = difference("\n".join([*before, "end"]), "\n".join([*after, "end"]))
    old = [text for kind, text in lines if kind in ("same", "gone")]
    new = [text for kind, text in lines if kind in ("same", "new")]
    skipped = sum(int(text) for kind, text in lines if kind == "skipped")

    assert len(old) + skipped == len(before) + 1
    assert len(new) + skipped == len(after) + 1
    if not skipped:
        assert (old, new) == ([*before, "end"], [*after, "end"])


def test_lines_far_from_a_change_are_counted_and_not_shown() -> None:
    text = [str(number) for number in range(100)]
    after = [*text[:50], "new", *text[51:]]

    assert difference("\n".join(text), "\n".join(after)) == [
        ("skipped", "48"),
        *[("same", one) for one in ("48", "49")],
        ("gone", "50"),
        ("new", "new"),
        *[("same", one) for one in ("51", "52")],
        ("skipped", "47"),
    ]


def test_texts_that_have_nothing_in_common_take_no_time() -> None:
    begun = time.process_time()
    lines = difference("a\nb\n" * 16_000, "b\na\n\n" * 12_000)

    assert len(lines) == 68_000
    assert time.process_time() - begun < 2
