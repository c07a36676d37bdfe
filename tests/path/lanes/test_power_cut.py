"""What is on disk when somebody outside is told, or something is done: a power cut takes the rest.

Source: design §3.1 and §3.6; with `synchronous=NORMAL` SQLite's WAL keeps what was committed up to
the last commit that waited for the disk (sqlite.org/pragma.html#pragma_synchronous).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pytest

from aouo.agent.tools.registry import Arguments, ToolContext, tool
from aouo.emulator.description import JsonObject
from aouo.store.database import Database, Tx
from tests.fakes.clock import FastClock
from tests.fakes.model_server import Body, CallPart, Says, last_words
from tests.path.looking import said, settled
from tests.path.tools.test_tools_of_a_turn import tooled
from tests.path.world import ADA, World

T = TypeVar("T")


@dataclass(frozen=True)
class OnDisk:
    """What a power cut would leave."""

    cursor: int = 0
    begun: int = 0
    """How many attempts to send were written down."""
    unsettled: int = 0
    calls: dict[str, str] = field(default_factory=dict[str, str])


def _found(tx: Tx) -> OnDisk:
    (numbers,) = tx.all(
        "SELECT (SELECT coalesce(max(next_update_id), 0) FROM cursors) AS cursor, "
        "(SELECT coalesce(sum(attempts), 0) FROM deliveries) AS begun, "
        "(SELECT count(*) FROM deliveries WHERE state IN ('queued', 'sending')) AS unsettled"
    )
    calls = {row["name"]: row["state"] for row in tx.all("SELECT name, state FROM tool_calls")}
    return OnDisk(numbers["cursor"], numbers["begun"], numbers["unsettled"], calls)


class Disk:
    """Follows a database from one commit that waited for the disk to the next one."""

    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        self.now = OnDisk()
        transact = Database.transact

        async def followed(
            database: Database,
            work: Callable[[Tx], T],
            *,
            durable: bool = False,
            brief: bool = False,
        ) -> T:
            if not durable:
                return await transact(database, work, brief=brief)

            def looked_at(tx: Tx) -> tuple[T, OnDisk]:
                result = work(tx)
                known = tx.one("SELECT 1 FROM sqlite_master WHERE name = 'tool_calls'")
                return result, _found(tx) if known else OnDisk()

            result, self.now = await transact(database, looked_at, durable=True, brief=brief)
            return result

        patch.setattr(Database, "transact", followed)


@pytest.fixture
async def disk(world: World, monkeypatch: pytest.MonkeyPatch) -> Disk:
    world.clock = FastClock()
    world.config = {"telegram": {"streaming": "off"}}
    return Disk(monkeypatch)


def watch_telegram(
    world: World, disk: Disk, patch: pytest.MonkeyPatch
) -> list[tuple[str, Any, OnDisk]]:
    """Each call as it comes to Telegram, with what was on disk then."""
    seen: list[tuple[str, Any, OnDisk]] = []
    journal = world.emulator.journal
    arrived = journal.arrived

    def noted(at: float, method: str, params: JsonObject) -> int:
        seen.append((method, params, disk.now))
        return arrived(at, method, params)

    patch.setattr(journal, "arrived", noted)
    return seen


async def test_telegram_may_forget_what_is_on_disk_and_is_told_what_was_written_down_before(
    world: World, disk: Disk, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else a message is lost, or an answer is sent twice."""
    world.install("notes")
    seen = watch_telegram(world, disk, monkeypatch)
    async with world.running() as bot:
        for text in ("one", "two", "/whereami"):
            await bot.ask(text)
        await settled(bot)
        # After what told of the last commit.
        await bot.app.shared.database.transact(lambda _: None)
        at_rest = disk.now
    forgotten = [
        (params["offset"], there.cursor)
        for method, params, there in seen
        if method == "getUpdates" and params.get("offset", 0) > 0
    ]
    begun = [there.begun for method, _, there in seen if method == "sendMessage"]

    assert len(forgotten) >= 3
    assert [pair for pair in forgotten if pair[0] > pair[1]] == []
    assert begun == [1, 2, 3]
    assert at_rest.unsettled == 0


class Nothing(Arguments):
    pass


async def test_a_call_is_made_when_it_is_on_disk_and_its_effect_is_before_the_model_hears_of_it(
    world: World, disk: Disk
) -> None:
    """Else it would be made twice, and nobody would be warned."""
    made: list[str] = []
    heard: list[str] = []

    async def run(wish: Nothing, context: ToolContext, call_id: str) -> str:
        made.append(disk.now.calls.get("ring", ""))
        return "rang"

    def answer(body: Body) -> Says:
        if any(message["role"] == "tool" for message in body["messages"]):
            heard.append(disk.now.calls.get("ring", ""))
            return Says("done")
        return Says("", (CallPart("ring", {}),)) if last_words(body) == "go" else Says("ok")

    tooled(world, tool("ring", "Rings.", Nothing, run, idempotent=False, mutates=True))
    world.model.script = answer
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        await said(world, "done")
        await settled(bot)

    assert (made, heard[:1]) == (["intent"], ["done"])
