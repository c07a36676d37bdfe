"""Reading the log in pieces leaves out nothing and shows nothing twice, wherever it was rotated."""

from __future__ import annotations

import tempfile
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from aouo.plumbing.log_reading import Spot, newer, older

LINE = st.text(st.characters(exclude_characters="\r\n", exclude_categories=["Cs"]), max_size=3_000)
STEPS = st.lists(st.one_of(LINE, st.just("\n")), max_size=25)
"""Lines, and "\\n" for a rotation."""


def play(log: Path, steps: list[str]) -> None:
    files = 20
    for step in steps:
        if step == "\n":
            for number in range(files, 0, -1):
                newest = Path(f"{log}.{number - 1}") if number > 1 else log
                if newest.exists():
                    newest.rename(f"{log}.{number}")
            log.touch()
        else:
            with log.open("ab") as file:
                file.write(f"{step}\n".encode())


@given(steps=STEPS, most=st.integers(1, 5))
def test_reading_back_and_reading_on_find_every_line_once(steps: list[str], most: int) -> None:
    rotations = steps.count("\n")
    steps = steps if rotations <= 4 else [step for step in steps if step != "\n"]
    written = [step for step in steps if step != "\n"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "aouo.log")
        log.touch()
        begin = older(log, None, lambda _: True, 1).after
        followed, at = list[str](), begin
        for step in steps:
            play(log, [step])
            while at and (piece := newer(log, at, lambda _: True, most)).lines:
                followed += [line.text for line in piece.lines]
                at = piece.after
        back, spot = list[str](), None
        while piece := older(log, spot, lambda _: True, most):
            back[:0] = [line.text for line in piece.lines]
            spot = piece.before
            if spot is None:
                break

    assert followed == written
    assert back == written


@given(inode=st.integers(0, 2**63), offset=st.integers(0, 10**14), mark=st.integers(0, 2**32 - 1))
def test_a_spot_is_read_as_it_was_written(inode: int, offset: int, mark: int) -> None:
    spot = Spot(inode, offset, mark)

    assert Spot.read(str(spot)) == spot
