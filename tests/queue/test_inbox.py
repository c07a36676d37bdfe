"""What the inbox remembers between two transactions. Source: design §3.1.2, issue 4 (buttons)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Arrival, Button, Inbound, Person
from aouo.facts.ports import stamp
from aouo.plumbing.redact import Redactor
from aouo.queue.inbox import Inbox
from aouo.routing.door import Doorkeeper
from aouo.routing.installed import Installed
from aouo.store.database import Database, Tx
from aouo.store.migrate import migrate
from tests.fakes.clock import FastClock

T = TypeVar("T")
TAP = Inbound(
    ConversationAddress("tg", "1"), Person("1"), Button("next", "Next", "answer"), message_id=7
)


class Breaking(Database):
    """Its next transaction is undone."""

    breaks = False

    async def transact(
        self, work: Callable[[Tx], T], *, durable: bool = False, brief: bool = False
    ) -> T:
        def undone(tx: Tx) -> T:
            work(tx)
            raise OSError("the disk is full")

        broken, self.breaks = self.breaks, False
        return await super().transact(undone if broken else work, durable=durable, brief=brief)


async def test_a_tap_that_could_not_be_stored_counts_when_it_comes_again(tmp_path: Path) -> None:
    clock, database = FastClock(speed=1.0), Breaking(tmp_path / "aouo.db")
    await database.open()
    await database.transact(lambda tx: migrate(tx, stamp(clock)))
    woken: list[str] = []
    inbox = Inbox(
        database=database,
        clock=clock,
        owner="me",
        policy=lambda: Doorkeeper(Installed()),
        burst_s=lambda: 0.0,
        ready=woken.append,
        redactor=Redactor,
    )
    database.breaks = True
    with pytest.raises(OSError, match="full"):
        await inbox.accept("bot", [Arrival(1, "{}", TAP)], 2)
    repeated = await inbox.accept("bot", [Arrival(1, "{}", TAP)], 2)
    again = await inbox.accept("bot", [Arrival(2, "{}", TAP)], 3)
    await database.close()

    assert (repeated, again, woken) == ((), ("answer",), ["1"])
