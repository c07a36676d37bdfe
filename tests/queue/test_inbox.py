"""What the inbox remembers between two transactions. Source: design §3.1.2, issue 4 (buttons)."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TypeVar

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.attachments import Attachment
from aouo.facts.events import (
    Album,
    Arrival,
    Attached,
    Button,
    ChatKind,
    Command,
    Content,
    Inbound,
    Part,
    Person,
    Text,
)
from aouo.plumbing.redact import Redactor
from aouo.queue import joining
from aouo.queue.decide import concerns_us, lane_of
from aouo.queue.inbox import Inbox
from aouo.queue.joining import words_of
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables
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


@asynccontextmanager
async def inbox_in(folder: Path) -> AsyncGenerator[tuple[Inbox, Breaking, list[str]]]:
    """An inbox, its database, and the lanes that it woke."""
    clock, database = FastClock(speed=1.0), Breaking(folder / "aouo.db")
    await database.open()
    await database.transact(make_tables)
    woken: list[str] = []
    inbox = Inbox(
        database=database,
        clock=clock,
        concerns_us=lambda inbound, pack: concerns_us(inbound, pack, ()),
        lane_of=lane_of,
        burst_s=lambda: 0.0,
        ready=woken.append,
        redactor=Redactor,
    )
    yield inbox, database, woken
    await database.close()


async def test_a_tap_that_could_not_be_stored_counts_when_it_comes_again(tmp_path: Path) -> None:
    async with inbox_in(tmp_path) as (inbox, database, woken):
        database.breaks = True
        with pytest.raises(OSError, match="full"):
            await inbox.accept("bot", [Arrival(1, "{}", TAP)], 2)
        repeated = await inbox.accept("bot", [Arrival(1, "{}", TAP)], 2)
        again = await inbox.accept("bot", [Arrival(2, "{}", TAP)], 3)

    assert (repeated, again, woken) == ((), ("answer",), ["1"])


@pytest.mark.parametrize(("chat_kind", "told"), [("private", [("1", "Illegible")]), ("group", [])])
async def test_of_a_message_that_cannot_be_stored_the_others_are_and_who_wrote_it_alone_is_told(
    tmp_path: Path, chat_kind: ChatKind, told: list[tuple[str, str]]
) -> None:
    """Half of a surrogate pair is no text. Otherwise it would come again for ever."""
    address, ada = ConversationAddress("tg", "1"), Person("1")
    odd = Inbound(address, ada, Text("\ud83d"), message_id=7, chat_kind=chat_kind)
    plain = Inbound(ConversationAddress("tg", "2"), Person("2"), Text("hello"), message_id=8)

    async with inbox_in(tmp_path) as (inbox, database, _):
        await inbox.accept("bot", [Arrival(1, "{}", odd), Arrival(2, "{}", plain)], 3)
        rows = await database.read(lambda tx: tx.all("SELECT chat_id, body FROM jobs ORDER BY id"))

    found = [(row["chat_id"], type(Inbound.load(row["body"]).content).__name__) for row in rows]
    assert found == [*told, ("2", "Text")]


# Which words of a message stand in what was made of it. Source: design §3.1.2


PICTURE = Attachment("photo", "a", caption="a cat", message_id=7)
OTHER = Attachment("photo", "b", caption="a dog", message_id=8)


def inbound(content: Content, sent_s: int = 0) -> Inbound:
    return Inbound(
        ConversationAddress("tg", "1"), Person("1"), content, message_id=7, sent_s=sent_s
    )


@pytest.mark.parametrize(
    ("content", "message_id", "words"),
    [
        (Text("one"), 7, "one"),
        (Text("one two", parts=(Part(7, "one"), Part(8, "two"))), 8, "two"),
        (Text("one two", parts=(Part(7, "one"), Part(8, "two"))), 9, "one two"),
        (Command("use", "notes", "/use notes"), 7, "/use notes"),
        (Attached(PICTURE), 7, "a cat"),
        (Album("x", (PICTURE, OTHER)), 8, "a dog"),
        (Album("x", (PICTURE, OTHER)), 9, ""),
        (Button("next", "Next", "answer"), 7, ""),
    ],
)
def test_the_words_of_one_message_are_found_in_what_it_became(
    content: Content, message_id: int, words: str
) -> None:
    assert words_of(inbound(content), message_id) == words


@pytest.mark.parametrize(
    ("first_s", "then_s", "one"),
    [(100, 101, True), (100, 102, True), (100, 103, False), (103, 100, False), (0, 103, True)],
)
def test_what_was_written_soon_after_is_one_and_so_is_what_nobody_says_the_time_of(
    first_s: int, then_s: int, one: bool
) -> None:
    first, then = inbound(Text("one"), first_s), inbound(Text("two"), then_s)

    assert joining.follows_burst(first, then, 1.5) is one
