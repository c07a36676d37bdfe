"""What changed between two texts says both, and stays short where they are alike."""

from __future__ import annotations

import time

from hypothesis import given
from hypothesis import strategies as st

from aouo.memory.difference import difference

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
