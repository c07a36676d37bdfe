"""Watches while something else happens: a reload, the end of a turn, a clock that is set right.

Source: a review of issue 14.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from aouo.guard.reach import Reach
from aouo.triggers.looking import Looking
from tests.fakes.clock import FastClock
from tests.path.reloading.following import ask_for, save
from tests.path.unasked.test_watches import clock, lab, looked
from tests.path.world import WAIT_S, World

__all__ = ["clock"]
DAY_S = 24 * 3600.0


class Disk:
    """One that gives no answer while it hangs; `asked` counts who asked."""

    def __init__(self) -> None:
        self.answers, self.is_asked, self.asked = threading.Event(), threading.Event(), 0

    def refusal(self, pack: str, path: Path) -> str:
        del pack, path
        self.asked += 1
        self.is_asked.set()
        self.answers.wait(WAIT_S)
        return ""


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr(Reach, "refusal", lambda _, pack, path: disk.refusal(pack, path))
    monkeypatch.setattr("aouo.app.tools.Looking", partial(Looking, file_s=0.05))
    return disk


async def test_a_disk_that_hangs_holds_one_thread_however_often_settings_are_loaded(
    world: World, clock: FastClock, disk: Disk
) -> None:
    """Found by review: six saved settings and no thread of the process was free any more."""
    lab(world, f"file: {world.home.path.parent / 'in' / 'box.txt'}")
    async with world.running() as bot:
        await bot.ask("Hello")
        await looked(bot, clock)
        for journal in (True, False):
            save(world, memory={"journal": journal})
            await ask_for(world, "reload")
            (state,) = await looked(bot, clock, DAY_S)
        disk.answers.set()

    assert disk.asked == 1
    assert "does not answer" in state["why"]
