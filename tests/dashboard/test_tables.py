"""Tables that leave as files. Source: issue 30, number 17."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.dashboard.tables import csv_lines, inert

COMPUTES = ("=", "+", "-", "@")


@pytest.mark.parametrize("separator", [";", "\t", "|", "\n", ","])
@given(st.lists(st.text("=+-@;\t|, \n\"'a1"), min_size=1, max_size=4))
def test_no_cell_is_computed_wherever_a_spreadsheet_thinks_that_it_begins(
    separator: str, cells: list[str]
) -> None:
    """Excel separates by what the region says, and takes our commas for words then."""
    written = csv_lines([[inert(cell) for cell in cells]]).decode()
    if separator == ",":
        read = [cell for row in csv.reader(io.StringIO(written, newline="")) for cell in row]
    else:
        read = [cell for line in written.splitlines() for cell in line.split(separator)]

    assert not [cell for cell in read if cell.startswith(COMPUTES)]
