"""A background part that fails: an optional one is named and ends nothing, an essential one ends
the process loudly. Issue 14 ("Events and life")."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from structlog.testing import capture_logs

from aouo.app import chores
from aouo.app.lifecycle import Runtime
from aouo.app.reloading import Reloading
from aouo.flow.attention import Digests
from aouo.flow.chores.indexing import Titles
from aouo.flow.chores.known_models import KnownModels
from aouo.flow.chores.retention import Tidying
from aouo.flow.generations import Generations
from aouo.flow.handlers.obeying import WaitingNotice
from aouo.outbound.outbox import OwnerNotices
from aouo.plumbing.client import answers as asked
from aouo.queue.inbox import Inbox
from aouo.schedules.heartbeat import Heartbeat
from aouo.schedules.journaling import Consolidating, Journaling
from aouo.schedules.ticking import Ticking
from aouo.schedules.watching import Watching
from aouo.telegram.channel import TelegramChannel
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, WAIT_S, World

OPTIONAL: dict[str, tuple[object, str]] = {
    "waiting_notice": (WaitingNotice, "run"),
    "retention": (Tidying, "run"),
    "titles": (Titles, "run"),
    "known_models": (KnownModels, "run"),
    "waking": (chores, "watch"),
    "menu": (TelegramChannel, "set_menu"),
    "config": (Reloading, "run"),
    "copy": (chores, "keep_copies"),
    "storage": (OwnerNotices, "tell_of_trouble"),
    "consolidation": (Consolidating, "run"),
    "digests": (Digests, "run"),
    "generations": (Generations, "run"),
    "heartbeat": (Heartbeat, "run"),
    "index": (chores, "keep_indexed"),
    "journal": (Journaling, "run"),
    "schedules": (Ticking, "run"),
    "subscribers": (chores, "serve"),
    "warming": (Runtime, "_warm_up"),
    "watches": (Watching, "run"),
}
ESSENTIAL: dict[str, tuple[object, str]] = {
    "bursts": (Inbox, "close_bursts"),
}


class Broken:
    """Fails once, when it is begun, and does nothing from then on."""

    def __init__(self) -> None:
        self.begun = 0

    def __call__(self, *args: object, **named: object) -> Any:
        del args, named
        return self._work()

    async def _work(self) -> None:
        self.begun += 1
        if self.begun == 1:
            raise ZeroDivisionError
        await asyncio.Event().wait()


def put(monkeypatch: pytest.MonkeyPatch, place: tuple[object, str], what: Broken) -> None:
    def broken(*args: object, **named: object) -> Any:
        return what(*args, **named)

    owner, name = place
    monkeypatch.setattr(owner, name, broken)


@pytest.mark.parametrize("name", OPTIONAL)
async def test_an_optional_part_that_fails_is_named_and_run_again_and_ends_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    broken = Broken()
    put(monkeypatch, OPTIONAL[name], broken)
    async with world.running() as bot:
        await bot.people.next_message(ADA, contains=f"A part of me has failed: {name}.")
        answer = await bot.ask("still there?")
        status = await anext(asked(world.home, "status"))

        async def again() -> bool:
            return broken.begun == 2

        await eventually(again)
        await settled(bot)
        told = await answers(world)

    assert answer.text == "still there?"
    assert status["failed_parts"] == {name: "ZeroDivisionError, 1 in a row"}
    assert sum("has failed" in text for text in told) == 1


async def test_every_part_of_the_runtime_is_tried_here(world: World) -> None:
    async with world.running() as bot:
        assert {*bot.app.optional, "config", "menu", "warming"} == set(OPTIONAL)
        assert set(bot.app.essential) == set(ESSENTIAL)


async def life(world: World) -> None:
    """Say something, and run until the process ends by itself."""
    async with asyncio.timeout(WAIT_S), world.running() as bot:
        await bot.people.say(ADA, ADA, "hello")
        await asyncio.Event().wait()


@pytest.mark.parametrize("name", ESSENTIAL)
async def test_an_essential_part_that_fails_ends_the_process_and_loses_nothing(
    world: World, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    with monkeypatch.context() as patch, capture_logs() as logs:
        put(patch, ESSENTIAL[name], Broken())
        with pytest.raises(ExceptionGroup) as failed:
            await life(world)
    async with world.running():
        await world.people.say(ADA, ADA, "hello again")
        await said(world, "hello again")
        told = await answers(world)

    assert failed.group_contains(ZeroDivisionError)
    assert [log["part"] for log in logs if log["event"] == "essential_part_failed"] == [name]
    assert told.count("hello") == 1
