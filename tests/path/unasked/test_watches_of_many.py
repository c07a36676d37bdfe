"""Watches of many people's data: few files are open, and one that hangs holds up no other.

Source: issue 14 "Bad input": a watch whose SQL hangs.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from aouo.facts.address import ConversationAddress
from aouo.store import routes
from aouo.store.database import Tx
from tests.fakes.clock import FastClock
from tests.path.looking import eventually, settled
from tests.path.unasked.test_watches import ENDLESS, EVERY_S, keep, lab, looked
from tests.path.world import ADA, BEN, Running, World, texts

PEOPLE = range(5000, 5100)
A_FEW = 12
"""Open files that come and go with threads and connections of the runtime's own."""
SECOND = "}}\n  - {{id: box, every: 5m, prompt: x, file: {}"


@pytest.fixture(autouse=True)
async def clock(world: World) -> FastClock:
    world.config = {"cron": {"timezone": "UTC"}}
    world.clock = clock = FastClock(speed=1)
    return clock


async def use(bot: Running, world: World, people: Iterable[int]) -> None:
    """Have people use the pack as Ada does, with the rows that she has."""

    def bind(tx: Tx) -> None:
        for person in people:
            place = ConversationAddress("tg", str(person))
            route = routes.get_or_create(tx, place, "private", "2026-03-02T12:00:00.000+00:00")
            routes.set_pack(tx, route, "lab", "2026-03-02T12:00:00.000+00:00")

    folder = world.home.store / "lab"
    for person in people:
        with (
            closing(sqlite3.connect(folder / f"tg_{ADA}.db")) as adas,
            closing(sqlite3.connect(folder / f"tg_{person}.db")) as theirs,
        ):
            adas.backup(theirs)
    await bot.app.shared.database.transact(bind)


def open_files() -> int:
    return sum(1 for _ in Path("/dev/fd").iterdir())


async def test_what_many_people_keep_is_not_held_open(world: World, clock: FastClock) -> None:
    world.config["telegram"] = {"allowed_user_ids": [ADA, BEN, *PEOPLE]}
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await use(bot, world, PEOPLE)
        before = open_files()
        states = await looked(bot, clock, tenants=len(PEOPLE) + 1)
        states = await looked(bot, clock, tenants=len(PEOPLE) + 1)
        after = open_files()
        await keep(world, "Haus")

    assert all("Baum" in state["seen"] for state in states)
    assert after - before < A_FEW


async def test_a_watch_looks_at_those_together_that_are_due_soon(
    world: World, clock: FastClock
) -> None:
    """Else a thousand people who came at different times would be a thousand rounds."""
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await looked(bot, clock)
        await keep(world, "Baum", user=BEN)
        states = await looked(bot, clock, 0.6 * EVERY_S, tenants=2)

    assert len({state["next_look"] for state in states}) == 1


async def test_one_that_hangs_at_everybodys_data_holds_up_no_other(
    world: World, clock: FastClock
) -> None:
    """Each look is cut after two seconds; another watch looks in between."""
    few = PEOPLE[:8]
    world.config["telegram"] = {"allowed_user_ids": [ADA, BEN, *few]}
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await use(bot, world, few)
    file = world.home.path.parent / "in" / "box.txt"
    lab(world, ENDLESS, scope="person", more=SECOND.format(file))
    async with world.running() as bot:
        for _ in range(2):
            before = await box(bot)
            clock.jump(EVERY_S)
            await eventually(lambda before=before: moved(bot, before))
        cut = await bot.rows("SELECT 1 FROM watches WHERE failures > 0")

    assert len(cut) < len(few)


async def box(bot: Running) -> str:
    rows = await bot.rows("SELECT next_look FROM watches WHERE id = 'box'")
    return str(rows[0]["next_look"]) if rows else ""


async def moved(bot: Running, before: str) -> bool:
    return await box(bot) != before


async def test_what_one_persons_turn_changes_hides_nothing_of_anothers(
    world: World, clock: FastClock
) -> None:
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await keep(world, "Baum", user=BEN)
        await looked(bot, clock, tenants=2)
        await keep(world, "Haus")
        world.model.call("persist", {"action": "save", "data": {"word": "seen", "meaning": "x"}})
        world.model.say("Noted.")
        await looked(bot, clock, tenants=2)
        await keep(world, "Hof", user=BEN)
        world.model.say("New: Hof.")
        await looked(bot, clock, tenants=2)
        await settled(bot)

        assert texts(await bot.people.messages(BEN))[-1].startswith("New: Hof.")


async def test_two_whose_data_change_at_once_are_both_told(world: World, clock: FastClock) -> None:
    """The turn of one is no reason to look at the other's data later."""
    lab(world, scope="person")
    async with world.running() as bot:
        await keep(world, "Baum")
        await keep(world, "Baum", user=BEN)
        await looked(bot, clock, tenants=2)
        await keep(world, "Haus")
        await keep(world, "Haus", user=BEN)
        world.model.say("New: Haus.")
        world.model.say("New: Haus.")
        await looked(bot, clock, tenants=2)

        for person in (ADA, BEN):
            assert texts(await bot.people.messages(person))[-1].startswith("New: Haus.")
