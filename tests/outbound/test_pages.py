"""What a turn's live messages owe to what is said beside them. Source: design §3.6."""

from __future__ import annotations

import asyncio
import threading
from pathlib import Path

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import ButtonSpec, Media, Rendered
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import Filled, Pages
from aouo.outbound.payloads import with_tail
from aouo.store.database import Database
from tests.fakes.clock import FastClock
from tests.fakes.messenger import FakeMessenger
from tests.outbound.test_outbox import outbox_over

CHAT = ConversationAddress("cli", "1")


def pages_over(outbox: Outbox, database: Database, clock: FastClock) -> Pages:
    return Pages(
        outbox=outbox, database=database, clock=clock, address=CHAT, turn_id="t1", reply_to=0
    )


async def test_a_page_that_is_left_behind_while_it_is_written_down_is_not_filled_any_more(
    tmp_path: Path,
) -> None:
    """A tool may speak below it in that very moment; that ended the turn as a failure of ours."""
    clock, messenger, asked = FastClock(), FakeMessenger(), threading.Event()
    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):
        pages = pages_over(outbox, database, clock)
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            await pages.show(Rendered("Working: msg"))
            busy = group.create_task(database.transact(lambda tx: asked.wait(30)))
            await asyncio.sleep(0)  # the writer has it
            showing = group.create_task(pages.show(Rendered("Let me see")))
            await asyncio.sleep(0)
            pages.leave_behind()
            asked.set()
            await busy
            await showing
            filled = await pages.settle()
            outbox.close()
            await sending

    assert messenger.texts(CHAT) == ["Working: msg"]
    assert filled == Filled((), tuple(messenger.chats[CHAT]), 0)


async def test_a_page_that_is_begun_in_the_moment_of_being_left_behind_is_not_filled(
    tmp_path: Path,
) -> None:
    """Its row is written, and not queued: a status line would stay below a question."""
    clock, messenger, asked = FastClock(), FakeMessenger(), threading.Event()
    async with outbox_over(messenger, tmp_path, clock=clock) as (outbox, database):
        pages = pages_over(outbox, database, clock)
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            sending = group.create_task(outbox.run())
            busy = group.create_task(database.transact(lambda tx: asked.wait(30)))
            await asyncio.sleep(0)  # the writer has it
            showing = group.create_task(pages.show(Rendered("Working: write_file"), Rendered("")))
            await asyncio.sleep(0)
            pages.leave_behind()
            asked.set()
            await busy
            await showing
            await pages.end_status()
            filled = await pages.settle()
            outbox.close()
            await sending

    assert messenger.texts(CHAT) == []
    assert filled == Filled((), (), 0)


# The line that ends what a run sends: in its last message if there is room, else after it


TAIL = "\n\n— ⏰ plants"
LINE = "— ⏰ plants"
PHOTO = Media("photo", "a.jpg")


@pytest.mark.parametrize(
    ("last", "texts"),
    [
        (Rendered("Water!", buttons=((ButtonSpec("Done", "d"),),)), [f"Water!{TAIL}"]),
        (Rendered("", media=PHOTO), [LINE]),
        (Rendered("", album=(PHOTO, PHOTO)), [LINE]),
        (Rendered("x" * 4090), ["x" * 4090, LINE]),
        (Rendered("x" * 1020, media=PHOTO), ["x" * 1020, LINE]),
        (Rendered("x" * 1020), [f"{'x' * 1020}{TAIL}"]),
    ],
)
def test_the_line_stands_in_the_last_message_or_after_it(last: Rendered, texts: list[str]) -> None:
    first = Rendered("Look:")
    made = with_tail([first, last], TAIL)

    assert made[0] == first
    assert [message.text for message in made[1:]] == texts
    assert (made[1].media, made[1].album, made[1].buttons) == (last.media, last.album, last.buttons)
    assert with_tail([], TAIL) == []
