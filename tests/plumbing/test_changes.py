"""What changes is noticed once it is still: a file may be saved in pieces."""

from __future__ import annotations

from contextlib import aclosing
from datetime import datetime

from aouo.plumbing.changes import changes
from tests.fakes.clock import START


class Scripted:
    """A clock that knows what lies there at each moment, in tenths of a second."""

    def __init__(self, *saves: tuple[int, str]) -> None:
        self.saves = saves
        self.at = 0
        self.looks = 0

    def monotonic_s(self) -> float:
        return self.at / 10

    def now(self) -> datetime:
        return START

    async def sleep(self, seconds: float) -> None:
        self.at += round(seconds * 10)

    async def look(self) -> str:
        self.looks += 1
        return [text for at, text in self.saves if at <= self.at][-1]


async def noticed(clock: Scripted, many: int) -> list[tuple[int, str]]:
    found: list[tuple[int, str]] = []
    watched = changes(clock.look, "old", clock=clock, every_s=0.5, still_s=0.8)
    async with aclosing(watched) as looks:
        async for text in looks:
            found.append((clock.at, text))
            if len(found) == many:
                break
    return found


async def test_a_save_is_noticed_once_it_has_been_still() -> None:
    clock = Scripted((0, "old"), (21, "new"), (60, "newer"))

    assert await noticed(clock, 2) == [(33, "new"), (71, "newer")]


async def test_a_save_in_pieces_is_one_change_and_its_halves_are_none() -> None:
    pieces = ((9, "{"), (16, '{"a":'), (23, '{"a": 1'), (30, '{"a": 1}'))
    clock = Scripted((0, "old"), *pieces, (90, "other"))

    assert await noticed(clock, 2) == [(42, '{"a": 1}'), (100, "other")]


async def test_what_is_as_it_was_again_before_it_was_still_is_looked_at_all_the_same() -> None:
    """Whether it was read in between nobody knows; reading it again harms nobody."""
    clock = Scripted((0, "old"), (9, "half"), (14, "old"))

    assert await noticed(clock, 1) == [(26, "old")]
