"""Watches while something else happens: a reload, the end of a turn, a clock that is set right.

Source: a review of issue 14.
"""

from __future__ import annotations

import threading
from functools import partial
from pathlib import Path

import pytest

from aouo.schedules.watched import Looking
from tests.fakes.clock import FastClock
from tests.path.looking import eventually
from tests.path.reloading.following import ask_for, save
from tests.path.unasked.test_watches import clock, lab, looked
from tests.path.world import ADA, WAIT_S, World, texts

__all__ = ["clock"]
DAY_S = 24 * 3600.0
YEAR_S = 365 * DAY_S


class Disk:
    """One that gives no answer while it hangs; `asked` counts who asked, `refuses` is what it says
    to whoever asks now."""

    def __init__(self) -> None:
        self.answers, self.asked, self.refuses = threading.Event(), 0, ""

    def refusal(self, fence: object, protection: object, pack: str, path: Path) -> str:
        del fence, protection, pack, path
        self.asked += 1
        why = self.refuses
        self.answers.wait(WAIT_S)
        return why


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    disk = Disk()
    monkeypatch.setattr("aouo.app.tools.refusal", disk.refusal)
    return disk


async def test_a_disk_that_hangs_holds_one_thread_however_often_settings_are_loaded(
    world: World, clock: FastClock, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by review: six saved settings and no thread of the process was free any more."""
    monkeypatch.setattr("aouo.app.tools.Looking", partial(Looking, file_s=0.05))
    lab(world, f"file: {world.home.path.parent / 'in' / 'box.txt'}")
    async with world.running() as bot:
        await bot.ask("Hello")
        await looked(bot, clock)
        for journal in (True, False):
            save(world, memory={"journal": journal})
            await ask_for(world, "reload")
            (state,) = await looked(bot, clock, DAY_S)
        asked = disk.asked
        disk.answers.set()

    assert asked == 1
    assert "does not answer" in state["why"]


async def test_a_look_that_began_before_the_settings_were_mended_counts_for_nothing(
    world: World, clock: FastClock, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Found by review: the fifth failure came after the reload, and the mended watch was off."""
    monkeypatch.setattr("aouo.app.tools.Looking", partial(Looking, file_s=WAIT_S))
    lab(world, f"file: {world.home.path.parent / 'in' / 'box.txt'}")
    disk.refuses = "That is closed."
    disk.answers.set()
    async with world.running() as bot:
        await bot.ask("Hello")
        for _ in range(4):
            await looked(bot, clock, DAY_S)
        before, _ = disk.asked, disk.answers.clear()
        clock.jump(DAY_S)

        async def asked() -> bool:
            return disk.asked > before

        await eventually(asked)
        disk.refuses = ""
        save(world, memory={"journal": True})
        await ask_for(world, "reload")
        await eventually(lambda: bot.rows("SELECT 1 FROM watches WHERE failures = 0"))
        disk.answers.set()
        await eventually(lambda: bot.rows("SELECT 1 FROM watches WHERE digest <> ''"))
        (state,) = await bot.rows("SELECT failures, why FROM watches")

        assert state == {"failures": 0, "why": ""}
        assert not [text for text in texts(await bot.people.messages(ADA)) if "watch" in text]


async def test_a_clock_that_was_a_year_ahead_silences_no_watch(
    world: World, clock: FastClock
) -> None:
    file = world.home.path.parent / "in" / "box.txt"
    lab(world, f"file: {file}")
    async with world.running() as bot:
        await bot.ask("Hello")
        await looked(bot, clock)
        clock.sleep_through(YEAR_S)
        await looked(bot, clock)
        clock.sleep_through(-YEAR_S)
        file.write_text("new")
        world.model.say("There is something in the box.")
        await looked(bot, clock)

        assert "something in the box" in texts(await bot.people.messages(ADA))[-1]
