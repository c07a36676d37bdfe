"""What the outbox owes to those who wait for a message. Source: design §3.6."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aouo.address import ConversationAddress
from aouo.outbound.ledger import Ledger
from aouo.outbound.outbox import Outbox
from aouo.ports import Rendered, stamp
from aouo.shield import finish
from aouo.store import deliveries
from aouo.store.database import Database
from aouo.store.migrate import migrate
from tests.fakes.clock import FastClock
from tests.fakes.messenger import FakeMessenger


class _Silent(FakeMessenger):
    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        del to, message
        return await asyncio.Event().wait()


async def test_when_sending_is_cut_off_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    """Otherwise a turn that has to know its message's id would keep the process from ending."""
    clock, database = FastClock(), Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(lambda tx: migrate(tx, stamp(clock)))
    ledger = Ledger(
        database=database,
        clock=clock,
        resend_unknown=False,
        owner="",
        moved=lambda address, chat_id: None,
    )
    outbox = Outbox(
        ledger=ledger,
        clock=clock,
        messengers={"cli": _Silent()},
        stop_turns=lambda address: None,
    )
    to = ConversationAddress("cli", "1")
    row = await database.transact(
        lambda tx: deliveries.add(tx, to, "live", Rendered("…"), stamp(clock))
    )
    async with asyncio.timeout(10), asyncio.TaskGroup() as group:
        arrival = outbox.arrival(row)
        sending = group.create_task(outbox.run())
        waits = group.create_task(finish(arrival))
        outbox.put(row)
        while not outbox._sender(to).sending:  # noqa: ASYNC110 - nobody tells of it
            await asyncio.sleep(0)
        waits.cancel()
        sending.cancel()
        _, late = await asyncio.wait([waits], timeout=2)
        arrival.cancel()  # or a failure here would be a test that never ends
    await database.close()

    assert not late
