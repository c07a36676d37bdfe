"""Tables that leave as files. Source: issue 30, number 17."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.tools.asks import drawn
from aouo.dashboard.tables import csv_lines
from aouo.plumbing.printable import inert

COMPUTES = ("=", "+", "-", "@", "＝", "﹣")


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n", ","])
@given(st.lists(st.text("=+-@;\t|, \n\"'a1＝﹣\ufeff\0"), min_size=1, max_size=4))
def test_no_cell_is_computed_wherever_a_spreadsheet_thinks_that_it_begins(
    separator: str, cells: list[str]
) -> None:
    """Excel separates by what the region says, and takes our commas for words then."""
    written = csv_lines([[inert(cell) for cell in cells]]).decode()
    if separator == ",":
        read = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
    else:
        read = [cell for line in written.splitlines() for cell in line.split(separator)]

    assert not [cell for cell in read if cell.lstrip(' "\ufeff\0').startswith(COMPUTES)]


@pytest.mark.parametrize(
    "cell", ["-2+3+cmd|' /C calc'!A0", "\t=1", "\r=1", "\n=1", "x;=1+1", "a,@b", "＝1", ' "=1']
)
def test_a_table_of_an_apps_tool_is_as_inert_and_its_numbers_stay_numbers(
    tmp_path: Path, cell: str
) -> None:
    file = drawn(
        {"kind": "csv", "rows": [{f"={cell}": cell, "n": -2, "f": 3.5, "no": None}]}, tmp_path
    )
    with file.open(encoding="utf-8-sig", newline="") as opened:
        head, row = csv.reader(opened)

    assert head == [inert(f"={cell}"), "n", "f", "no"]
    assert row == [inert(cell), "-2", "3.5", ""]
    assert "'" in inert(cell)


def test_words_with_signs_in_them_stay_and_a_cell_of_signs_is_quick() -> None:
    assert [inert(text) for text in ("a - b", "1-2", 'say "-x"', "a@b.org")] == [
        *("a - b", "1-2", 'say "-x"', "a@b.org")
    ]
    assert inert("\t" * 1_000_000) == "'" + "\t" * 1_000_000
