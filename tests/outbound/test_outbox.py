"""What the outbox owes to those who wait for a message. Source: design §3.6."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeAlias

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import (
    ChatMoved,
    DeliveryRefused,
    DeliveryUnknown,
    FloodControl,
    NotSent,
    RecipientGone,
    TopicGone,
)
from aouo.facts.people import Owner
from aouo.facts.ports import Rendered
from aouo.facts.work import Delivery
from aouo.outbound.flood_control import CHAT_BURST, Pace
from aouo.outbound.ledger import Ledger
from aouo.outbound.outbox import Outbox
from aouo.plumbing.waiting import finish
from aouo.store import deliveries
from aouo.store.database import Database
from aouo.store.opening import make_tables
from tests.fakes.clock import FastClock
from tests.fakes.messenger import FakeMessenger

NOW = "2026-03-02T12:00:00.000+00:00"


class _Silent(FakeMessenger):
    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        del to, message
        return await asyncio.Event().wait()


@asynccontextmanager
async def outbox_over(
    messenger: FakeMessenger,
    folder: Path,
    *,
    clock: FastClock,
    stop_turns: Callable[[ConversationAddress], None] = lambda address: None,
) -> AsyncGenerator[tuple[Outbox, Database]]:
    database = Database(folder / "aouo.db")
    await database.open()
    await database.transact(make_tables)
    ledger = Ledger(
        database=database,
        clock=clock,
        resend_unknown=lambda: False,
        owner=Owner,
        renamed=lambda address, chat_id: None,
        publish=lambda event: None,
        language=lambda chat: "",
    )
    yield (
        Outbox(
            ledger=ledger,
            clock=clock,
            messengers={"tg": messenger, "cli": messenger},
            stop_turns=stop_turns,
        ),
        database,
    )
    await database.close()


async def test_when_sending_is_cut_off_nobody_waits_for_it_any_more(tmp_path: Path) -> None:
    """Otherwise a turn that has to know its message's id would keep the process from ending."""
    async with outbox_over(_Silent(), tmp_path, clock=FastClock()) as (outbox, database):
        late = await _cut_off(outbox, database)

    assert not late


async def _cut_off(outbox: Outbox, database: Database) -> set[asyncio.Task[Delivery]]:
    """Who still waits two seconds after sending was cut off."""
    to = ConversationAddress("cli", "1")
    row = await database.transact(lambda tx: deliveries.add(tx, to, "live", Rendered("…"), NOW))
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
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
    return late


class _Watched(FakeMessenger):
    """Remembers every edit."""

    def __init__(self) -> None:
        super().__init__()
        self.edited: list[str] = []

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        self.edited.append(message.text)
        await super().edit(to, message_id, message)


async def test_a_wish_to_edit_gives_way_to_the_final_of_its_message(tmp_path: Path) -> None:
    """Issue 4: the bucket is empty, so that the wish waits; then the final comes."""
    messenger = _Watched()
    to, clock = ConversationAddress("tg", "1"), FastClock(speed=1.0)

    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):

        async def put(text: str, *, edits: int = 0) -> Delivery:
            row = await database.transact(
                lambda tx: deliveries.add(tx, to, "reply", Rendered(text), NOW, edits=edits)
            )
            outbox.put(row)
            return row

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(outbox.run())
            arrivals = [outbox.settled(await put(str(n))) for n in range(CHAT_BURST)]
            sent = [await arrival for arrival in arrivals]
            outbox.show(to, sent[-1].message_id, Rendered("half"))
            final = await put("whole", edits=sent[-1].message_id)
            settled = group.create_task(outbox.settled(final))
            while not settled.done():
                clock.jump(1.0)
                await asyncio.sleep(0)
            outbox.close()

    assert messenger.edited == ["whole"]


class _Refusing(_Watched):
    """Refuses the first edit for a while; `meanwhile` happens before that is told."""

    def __init__(self) -> None:
        super().__init__()
        self.meanwhile: Callable[[], Awaitable[object]] | None = None

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        if meanwhile := self.meanwhile:
            self.meanwhile = None
            await meanwhile()
            raise FloodControl("too many", retry_after_s=5.0)
        await super().edit(to, message_id, message)


@pytest.mark.parametrize("final", ["", "whole"])
async def test_an_edit_that_flood_control_refused_is_made_again_but_never_over_a_final(
    tmp_path: Path, final: str
) -> None:
    messenger = _Refusing()
    to, clock = ConversationAddress("cli", "1"), FastClock(speed=1.0)

    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):

        async def put(text: str, edits: int = 0) -> Delivery:
            row = await database.transact(
                lambda tx: deliveries.add(tx, to, "reply", Rendered(text), NOW, edits=edits)
            )
            outbox.put(row)
            return row

        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(outbox.run())
            shown = await outbox.settled(await put("…"))

            async def put_final() -> None:
                if final:
                    await put(final, shown.message_id)

            messenger.meanwhile = put_final
            outbox.show(to, shown.message_id, Rendered("half"))
            while not messenger.edited:
                clock.jump(1.0)
                await asyncio.sleep(0)
            outbox.close()

    assert messenger.edited == [final or "half"]


async def test_a_send_whose_connection_was_refused_is_made_again_until_it_arrives(
    tmp_path: Path,
) -> None:
    failures = [NotSent("refused")] * 3
    messenger = FakeMessenger(fail=lambda to: failures.pop() if failures else None)
    to, clock = ConversationAddress("cli", "1"), FastClock(speed=1.0)

    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):
        row = await database.transact(
            lambda tx: deliveries.add(tx, to, "reply", Rendered("hello"), NOW)
        )
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(outbox.run())
            outbox.put(row)
            settled = group.create_task(outbox.settled(row))
            while not settled.done():
                clock.jump(1.0)
                await asyncio.sleep(0)
            outbox.close()

    assert [message.text for message in messenger.chats[to].values()] == ["hello"]


async def test_who_stops_waiting_for_a_message_leaves_the_others_waiting(tmp_path: Path) -> None:
    """Of two that wait for the same row one is cancelled, as a turn is that its person stops."""
    messenger, to = FakeMessenger(), ConversationAddress("cli", "1")

    async with outbox_over(messenger, tmp_path, clock=FastClock()) as (outbox, database):
        row = await database.transact(
            lambda tx: deliveries.add(tx, to, "msg", Rendered("hello"), NOW)
        )
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            stopped, stays = (group.create_task(outbox.settled(row)) for _ in range(2))
            await asyncio.sleep(0)  # both wait now
            stopped.cancel()
            await asyncio.wait([stopped])
            group.create_task(outbox.run())
            outbox.put(row)
            await asyncio.wait([stays])
            outbox.close()

    assert stopped.cancelled()
    assert not stays.cancelled()
    assert stays.result().state == "sent"


class _Moving(FakeMessenger):
    """Knows the group by its new id only; `meanwhile` happens before a message arrives there."""

    meanwhile: Callable[[], object] | None = None

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        if to.chat_id != "-2":
            raise ChatMoved("-2")
        if self.meanwhile:
            self.meanwhile()
        return await super().send(to, message)


async def test_an_answer_that_goes_on_growing_edits_nothing_where_its_group_has_moved(
    tmp_path: Path,
) -> None:
    """Its turn knows the old group only, and what waited for that is still being said."""
    messenger, clock = _Moving(), FastClock()
    old, new = (ConversationAddress("cli", chat) for chat in ("-1", "-2"))
    messenger.chats[new][7] = Rendered("another message")

    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):
        messenger.meanwhile = lambda: outbox.show(old, 7, Rendered("half"))
        row = await database.transact(
            lambda tx: deliveries.add(tx, old, "notice", Rendered("hello"), NOW)
        )
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(outbox.run())
            arrival = outbox.arrival(row)
            outbox.put(row)
            outbox.close()
            await asyncio.shield(arrival)

    assert messenger.texts(new) == ["another message", "hello"]


@pytest.mark.parametrize(
    ("error", "state"),
    [
        (RuntimeError("ours"), "unknown"),
        (DeliveryUnknown("nobody knows"), "unknown"),
        (TopicGone("no topics in this chat"), "refused"),
        (DeliveryRefused("too long"), "refused"),
    ],
)
async def test_a_message_that_fails_for_good_is_settled_and_the_next_one_is_sent(
    tmp_path: Path, error: Exception, state: str
) -> None:
    """Also where the mistake is ours: a sender that ended would take every other one along."""
    messenger, to = _Failing(error), ConversationAddress("cli", "1")

    async with outbox_over(messenger, tmp_path, clock=FastClock()) as (outbox, database):
        rows = [
            await database.transact(
                lambda tx, text=text: deliveries.add(tx, to, "reply", Rendered(text), NOW)
            )
            for text in ("first", "second")
        ]
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            group.create_task(outbox.run())
            arrivals = [outbox.arrival(row) for row in rows]
            outbox.put(*rows)
            outbox.close()
            settled = [await asyncio.shield(arrival) for arrival in arrivals]

    assert [row.state for row in settled] == [state, "sent"]
    assert "first" not in messenger.texts(to)
    assert messenger.texts(to)[-1] == "second"


class _Failing(FakeMessenger):
    """Fails once, however it is asked; what is only shown fails always."""

    def __init__(self, error: Exception) -> None:
        super().__init__()
        self.error = error
        self.tried = 0

    async def send(self, to: ConversationAddress, message: Rendered) -> int:
        self.tried += 1
        if self.tried == 1:
            raise self.error
        return await super().send(to, message)

    async def edit(self, to: ConversationAddress, message_id: int, message: Rendered) -> None:
        del to, message_id, message
        raise self.error

    async def draft(self, to: ConversationAddress, draft_id: int, message: Rendered) -> None:
        del to, draft_id, message
        raise self.error

    async def action(self, to: ConversationAddress, action: str) -> None:
        del to, action
        raise self.error


ShownAs: TypeAlias = Callable[[Outbox, ConversationAddress], Awaitable[None]]


async def _an_edit(outbox: Outbox, to: ConversationAddress) -> None:
    outbox.show(to, 7, Rendered("half"))


async def _a_draft(outbox: Outbox, to: ConversationAddress) -> None:
    outbox.show_draft(to, 7, Rendered("half"))


async def _an_action(outbox: Outbox, to: ConversationAddress) -> None:
    await outbox.action(to, "typing")


@pytest.mark.parametrize("shown", [_an_edit, _a_draft, _an_action])
async def test_a_chat_that_is_gone_is_learned_from_whatever_is_shown_there(
    tmp_path: Path, shown: ShownAs
) -> None:
    """Its other topics too: what waits there is refused, and its turns are stopped."""
    messenger = _Failing(RecipientGone("blocked"))
    there, topic = (ConversationAddress("cli", "1", thread) for thread in ("", "5"))
    stopped: list[ConversationAddress] = []

    async with outbox_over(messenger, tmp_path, clock=FastClock(), stop_turns=stopped.append) as (
        outbox,
        database,
    ):
        row = await database.transact(
            lambda tx: deliveries.add(tx, topic, "reply", Rendered("late"), NOW)
        )
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            await shown(outbox, there)
            while not stopped:  # noqa: ASYNC110 - nobody tells of it
                await asyncio.sleep(0)
            state = await database.read(lambda tx: tx.one("SELECT state FROM deliveries"))
            sending.cancel()

    assert stopped == [there]
    assert (row.state, state and state["state"]) == ("queued", "refused")
    assert messenger.tried == 0


async def test_an_activity_that_flood_control_refused_is_not_shown_until_it_is_over(
    tmp_path: Path,
) -> None:
    """Each call that is made all the same lengthens the pause."""
    messenger, to = _Failing(FloodControl("slow down", 30)), ConversationAddress("tg", "1")
    clock, shown = FastClock(), list[str]()

    async def refuse(to: ConversationAddress, action: str) -> None:
        del to
        shown.append(action)
        raise messenger.error

    messenger.action = refuse
    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, _):
        for action in ("typing", "upload_photo"):
            await outbox.action(to, action)
        clock.jump(31)
        await outbox.action(to, "record_voice")

    assert shown == ["typing", "record_voice"]


# How a chat's pace recovers


ADA = ConversationAddress("tg", "1001")


async def test_flood_control_of_last_week_slows_nothing_and_breaks_nothing() -> None:
    clock = FastClock()
    pace = Pace(clock)
    pace.park(ADA, 3.0)
    assert pace.slower(ADA) == 2.0

    clock.jump(7 * 86_400)

    assert pace.slower(ADA) == 1.0
