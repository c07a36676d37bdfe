"""What a turn or a reload writes of a watch holds, whatever the watch is about to write itself."""

from __future__ import annotations

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from typing import cast

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.packs.format.manifest import Manifest, Permissions, Schema, Watch
from aouo.packs.library import Library
from aouo.packs.load import Pack
from aouo.plumbing.waiting import first
from aouo.schedules.watched import Looking, Seen, source_of
from aouo.schedules.watching import Watching
from aouo.store import routes, watches
from aouo.store.database import Database, Tx
from aouo.store.opening import opened
from aouo.store.watches import WatchKey, WatchState
from tests.fakes.clock import FastClock
from tests.fakes.databases import put_database

ROWS = Watch("w", "5m", sql="SELECT 1", prompt="x")
LAB = Manifest(
    "lab",
    "1.0.0",
    "Lab",
    schema=Schema(scope="person"),
    watches=(ROWS,),
    permissions=Permissions(cron=True),
)
KEY = WatchKey("lab", "w", "tg_7")


class Eyes:
    """See what a turn of the watch itself has changed."""

    async def look(self, *about: object) -> Seen:
        del about
        return Seen("its own change", "")


class PackOf:
    def __init__(self, manifest: Manifest) -> None:
        self.manifest = manifest


@pytest.mark.parametrize("at", ["it is found due", "it is put off"])
async def test_a_turn_that_ends_meanwhile_keeps_its_own_change_from_being_news(
    tmp_path: Path, at: str
) -> None:
    """Found by review: an older copy of what was seen was written over what the turn had left."""
    put_database(tmp_path / "aouo.db")
    begun = list[Inbound]()

    def turn_ends() -> None:
        with closing(sqlite3.connect(tmp_path / "aouo.db")) as other, other:
            other.execute("UPDATE watches SET digest = ''")

    def databases_of(pack: str) -> list[Path]:
        if at == "it is found due":
            turn_ends()
        return [tmp_path / pack / "tg_7.db"]

    def listed(person: str) -> bool:
        if at == "it is put off":
            turn_ends()
        return at == "it is found due" and person == "7"

    async with opened(tmp_path / "aouo.db") as database:
        await database.transact(seen_before)
        await one_round(database, databases_of, listed, begun)
        state = await database.read(lambda tx: watches.get(tx, KEY))

    assert begun == []
    assert state
    assert state.digest == ("its own change" if at == "it is found due" else "")


def seen_before(tx: Tx) -> None:
    now = "2026-03-02T12:00:00.000+00:00"
    route = routes.get_or_create(tx, ConversationAddress("tg", "7"), "private", now)
    routes.set_pack(tx, route, "lab", now)
    watches.put(tx, WatchState(KEY, source_of(ROWS), "before its change", next_look=""))


async def one_round(
    database: Database,
    databases_of: Callable[[str], list[Path]],
    listed: Callable[[str], bool],
    begun: list[Inbound],
) -> None:
    """Let the watch look once."""
    clock, eyes = FastClock(), cast("Looking", Eyes())
    library = Library({}, {}, {})
    object.__setattr__(library, "packs", {"lab": cast("Pack", PackOf(LAB))})

    async def trigger(due: Callable[[Tx, datetime], Sequence[Inbound]]) -> int:
        begun.extend(await database.transact(lambda tx: due(tx, clock.now())))
        return len(begun)

    async def gave_up(*told: str) -> None:
        raise AssertionError(told)

    watching = Watching(
        database=database,
        clock=clock,
        trigger=trigger,
        looking=lambda: eyes,
        library=lambda: library,
        databases_of=databases_of,
        enabled=lambda: True,
        longest_s=lambda: 60.0,
        owner=lambda: "7",
        listed=listed,
        gave_up=gave_up,
    )

    def has_looked(tx: Tx) -> bool:
        state = watches.get(tx, KEY)
        return bool(state and state.next_look)

    async def looked() -> None:
        while not await database.read(has_looked):  # noqa: ASYNC110 - nobody tells of a row
            await asyncio.sleep(0)

    async with asyncio.timeout(15):
        await first(watching.run(), looked())
