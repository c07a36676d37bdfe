"""Reading on in a long result: every part can be reached, none is long. Source: issue 3 "Tools"."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from aouo.agent.tools.results import ResultRead, _lines_of, handle, read
from aouo.facts.errors import ToolFailed
from aouo.guard.chain import _RESULT_CHARS

NUMBERED = "\n".join(f"line {number}" for number in range(1, 1001))
TEXTS = st.one_of(
    st.text(max_size=2_000).map(lambda text: text * 20),
    st.lists(st.text(max_size=1_000), max_size=60).map("\n".join),
    st.integers(0, 20_000).map(lambda n: "x" * n),
    st.integers(0, 9_000).map(lambda n: "\n" * n),
)


def ask(mode: str, **how: object) -> ResultRead:
    return ResultRead.model_validate({"result": "r_1", "mode": mode, **how})


@pytest.mark.parametrize(
    ("wish", "shown"),
    [
        (ask("head", count=2), "1: line 1\n2: line 2\n[up to line 2 of 1,000; go on with start=3]"),
        (ask("tail", count=2), "999: line 999\n1000: line 1000\n[lines 999 to 1,000, the end]"),
        (
            ask("range", start=7, count=2),
            "7: line 7\n8: line 8\n[up to line 8 of 1,000; go on with start=9]",
        ),
        (ask("range", start=1000), "1000: line 1000\n[up to line 1,000 of 1,000; the end]"),
        (
            ask("range", start=0, count=0),
            "1: line 1\n[up to line 1 of 1,000; go on with start=2]",
        ),
        (
            ask("grep", pattern="LINE 99|e 500", count=2),
            "[12 of 1,000 lines]\n99: line 99\n500: line 500\n"
            "[up to line 500 of 1,000; go on with start=501]",
        ),
        (
            ask("grep", pattern="line 99", start=992),
            "[8 of 1,000 lines]\n"
            + "\n".join(f"{n}: line {n}" for n in range(992, 1000))
            + "\n[up to line 999 of 1,000; the end]",
        ),
        (ask("grep", pattern="nowhere"), "[nothing like 'nowhere' from line 1 on, of 1,000 lines]"),
    ],
)
def test_a_reading_says_its_lines_and_where_to_go_on(wish: ResultRead, shown: str) -> None:
    assert read(NUMBERED, wish) == shown


@pytest.mark.parametrize(
    ("wish", "why"),
    [
        (ask("range", start=1001), "It has 1,000 lines; start at one of them."),
        (ask("grep"), "grep needs a pattern"),
        (ask("grep", pattern=" | "), "grep needs a pattern"),
    ],
)
def test_a_wish_that_cannot_be_met_says_how(wish: ResultRead, why: str) -> None:
    with pytest.raises(ToolFailed, match=why):
        read(NUMBERED, wish)


def test_a_handle_shows_how_it_begins_and_ends() -> None:
    shown = handle("r_1a2b3c", NUMBERED)

    assert shown.startswith(
        "[result r_1a2b3c: 8,892 characters, 1,000 lines. First lines:\nline 1\nline 2\n"
    )
    assert shown.endswith("\nline 1000\nRead on with result_read.]")
    assert "\n… Last lines:\n" in shown


def test_one_line_without_end_can_be_read_in_parts() -> None:
    """A minified page has no lines to go by."""
    text = "".join(f"<{number}>" for number in range(4_000))
    found = read(text, ask("grep", pattern="<2345>"))

    assert "<2345>" in found
    assert len(_lines_of(text)) > 40


@settings(deadline=None, max_examples=40)
@given(text=TEXTS)
def test_neither_a_handle_nor_a_reading_is_a_long_result_itself(text: str) -> None:
    """Or a reading would become a handle, and nothing could ever be read."""
    if not _lines_of(text):
        return
    wishes = [ask(mode, count=10_000) for mode in ("head", "tail", "range")]
    wishes.append(ask("grep", pattern="".join(text[:3].split()).strip("|") or "x", count=10_000))
    readings = [handle("r_1a2b3c", text), *(read(text, wish) for wish in wishes)]

    assert max(map(len, readings)) <= _RESULT_CHARS


@settings(deadline=None, max_examples=40)
@given(text=TEXTS, count=st.integers(40, 300))
def test_reading_on_from_where_it_says_reaches_every_line_once(text: str, count: int) -> None:
    lines = _lines_of(text)
    if not lines:
        return
    seen: list[str] = []
    start = "1"
    while start:
        shown = read(text, ask("range", start=int(start), count=count))
        *numbered, last = shown.split("\n")
        seen += numbered
        more = re.search(r"start=(\d+)\]$", last)
        start = more[1] if more else ""

    assert seen == [f"{number}: {line}" for number, line in enumerate(lines, 1)]
