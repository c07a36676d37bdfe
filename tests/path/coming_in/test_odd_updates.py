"""Whatever Telegram, or what stands in its place, brings: nobody is left without the bot."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from structlog.testing import capture_logs

from aouo.emulator import HOUSEHOLD
from aouo.emulator.world import UpdateQueue
from aouo.facts.address import Lane
from aouo.plumbing.home import Home
from aouo.queue.decide import decide
from aouo.queue.lexer import Installed
from aouo.telegram.api import TelegramApi
from aouo.telegram.poller import Poller
from tests.fakes.clock import FastClock
from tests.fakes.model_server import ModelServer
from tests.fakes.odd_updates import OddUpdates
from tests.fakes.telegram import LocalTelegram
from tests.path.looking import answers, eventually, said, settled
from tests.path.world import ADA, BEN, Running, World
from tests.sampling import count

STRANGER = 5005
PEOPLE = (ADA, BEN, STRANGER)
CHATS = (ADA, BEN, STRANGER, HOUSEHOLD, -77)
CANNOT_READ = (
    "I cannot read what you sent me here, and put it aside. Please send it again in other words."
)
OWN_ANSWER = "the emulator's own answer"
"""What it says of answers of its own that are not as Telegram describes them."""


class Brought(UpdateQueue):
    """Telegram's queue, to which a test adds updates as they are to come, ids and all."""

    def __init__(self, next_id: int) -> None:
        super().__init__()
        self._next_id = next_id

    @property
    def next_id(self) -> int:
        return self._next_id

    def bring(self, updates: Sequence[dict[str, Any]]) -> None:
        self._waiting.extend(updates)
        self._next_id = max([self._next_id, *(one["update_id"] + 1 for one in updates)])


@pytest.fixture
async def odd(tmp_path: Path) -> AsyncGenerator[World]:
    """A Telegram that may send what its description does not have."""
    home = Home(tmp_path / "home")
    home.create()
    async with LocalTelegram() as emulator, ModelServer() as model:
        world = World(home, emulator, model, clock=FastClock())
        world.install("notes")
        emulator.world.updates = Brought(1_000)
        yield world
        problems = [str(one["problem"]) for one in await emulator.client.violations()]
        assert [one for one in problems if not one.startswith(OWN_ANSWER)] == []


def queue_of(world: World) -> Brought:
    queue = world.emulator.world.updates
    assert isinstance(queue, Brought)
    return queue


def bring(world: World, updates: Sequence[dict[str, Any]]) -> None:
    queue_of(world).bring(updates)
    world.emulator.signal.bump()


def message(update_id: int, **fields: object) -> dict[str, Any]:
    """An update with a message of Ada's, field by field; None = the field is missing."""
    whole = {
        "message_id": update_id,
        "date": 1_700_000_000,
        "chat": {"id": ADA, "type": "private"},
        "from": {"id": ADA, "is_bot": False, "first_name": "Ada"},
        "text": "odd",
        **fields,
    }
    kept = {name: value for name, value in whole.items() if value is not None}
    return {"update_id": update_id, "message": kept}


async def test_an_update_without_a_chat_is_passed_over_and_the_rest_is_answered(
    odd: World,
) -> None:
    """Telegram brings it again until it is acknowledged: a crash on it is a crash at each start."""
    bring(
        odd,
        (
            message(1_000, text="before"),
            message(1_001, chat=None, text="words of a stranger"),
            message(1_002, text="after"),
        ),
    )
    with capture_logs() as logs:
        async with odd.running() as bot:
            await said(odd, "before")
            await said(odd, "after")
            stored = await bot.rows("SELECT update_id, body FROM updates ORDER BY update_id")
            cursors = await bot.rows("SELECT next_update_id FROM cursors")

    unreadable = [line for line in logs if line["event"] == "update_unreadable"]
    assert [row["update_id"] for row in stored] == [1_000, 1_001, 1_002]
    assert stored[1]["body"] == ""
    assert [line["update_id"] for line in unreadable] == [1_001]
    assert "words" not in str(unreadable)
    assert cursors == [{"next_update_id": 1_003}]


async def test_what_is_newer_than_the_library_disturbs_nothing(odd: World) -> None:
    """Bot API 10.2 and 10.3: core.telegram.org/bots/api-changelog, July 14 and August 24, 2026."""
    us = {"id": 4200, "is_bot": True, "first_name": "aouo"}
    newer = {"receiver_user": us, "ephemeral_message_id": 7, "something": {"is_new": True}}
    bring(
        odd,
        (
            {"update_id": 1_000, "subscription": {"user": us, "state": {}}},
            {"update_id": 1_001, "a_kind_of_10_4": [1, {"chat": {"id": ADA}}]},
            message(1_002, text="first", **newer),
            message(1_003, text=None, community_chat_added={"community": {"id": 1}}),
            message(1_004, text="second"),
        ),
    )
    async with odd.running() as bot:
        await said(odd, "second")
        await settled(bot)
        told = await answers(odd)

    assert told == [
        "first",
        "I cannot take in messages of this kind yet. Please write it as text.",
        "second",
    ]


@pytest.mark.parametrize(
    "fields",
    [
        {"text": ["a", "list"]},
        {"text": 5},
        {"from": {"id": ADA, "is_bot": False, "first_name": "Ada", "language_code": {"a": 1}}},
        {"photo": {"file_id": "f"}, "text": None},
        {"document": {"file_id": "f", "file_unique_id": "u", "file_name": [1]}, "text": None},
        {"date": 253_402_300_800},
        {"message_id": 2**63},
        {"message_id": True},
        {"something": float("nan")},
    ],
)
async def test_values_of_other_types_are_not_taken_in_and_their_sender_is_told(
    odd: World, fields: dict[str, object]
) -> None:
    """The library passes them on; whatever reads the job later would break on them."""
    with capture_logs() as logs:
        async with odd.running() as bot:
            bring(odd, (message(1_000, **fields), message(1_001, text="after")))
            await said(odd, "I cannot take in messages of this kind yet. Please write it as text.")
            await said(odd, "after")
            await settled(bot)

    assert "job_failed" not in [line["event"] for line in logs]


async def test_a_chat_that_is_no_number_is_passed_over(odd: World) -> None:
    async with odd.running() as bot:
        chats = ({"id": True, "type": "private"}, {"id": {"a": 1}, "type": "private"})
        bring(odd, [message(1_000 + n, chat=chat) for n, chat in enumerate(chats)])
        bring(odd, (message(1_002, text="after"),))
        await said(odd, "after")
        assert await bot.rows("SELECT count(*) AS n FROM jobs") == [{"n": 1}]


async def test_what_no_table_takes_is_kept_by_its_id_and_its_sender_is_told(odd: World) -> None:
    """Whatever it is: reading has let it pass, and storing it fails."""
    with capture_logs() as logs:
        async with odd.running() as bot:
            await bot.ask("hello")
            await bot.app.shared.database.transact(
                lambda tx: tx.script(
                    "CREATE TRIGGER no_room BEFORE INSERT ON jobs "
                    "WHEN NEW.body LIKE '%unstorable%' "
                    "BEGIN SELECT RAISE(ABORT, 'no place for it'); END"
                )
            )
            next_id = queue_of(odd).next_id
            bring(
                odd,
                (
                    message(next_id, text="before"),
                    message(next_id + 1, text="unstorable"),
                    message(next_id + 2, text="after"),
                ),
            )
            await said(odd, "before")
            await said(odd, CANNOT_READ)
            await said(odd, "after")
            rows = await bot.rows("SELECT body FROM updates WHERE update_id = ?", next_id + 1)

    assert rows == [{"body": ""}]
    assert [one["update_id"] for one in logs if one["event"] == "update_unreadable"] == [
        next_id + 1
    ]


@pytest.mark.parametrize("body", ["{", "[]", "{}", '{"content": {"kind": "OfALaterVersion"}}'])
async def test_a_job_that_cannot_be_read_any_more_is_put_aside_and_said(
    odd: World, body: str
) -> None:
    """A later version may have written it; the start and its lane go on without it."""
    async with odd.running() as bot:
        await bot.ask("hello")
        bot.app.lanes.close()
        await odd.people.say(ADA, ADA, "kept")
        await odd.people.say(ADA, ADA, "after")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE id = 3"))
    with closing(sqlite3.connect(odd.home.database)) as connection, connection:
        connection.execute("UPDATE jobs SET body = ? WHERE id = 2", (body,))

    async with odd.running() as bot:
        await said(odd, CANNOT_READ)
        await said(odd, "after")
        states = await bot.rows("SELECT state FROM jobs ORDER BY id")

    assert [row["state"] for row in states] == ["done", "aside", "done"]


async def test_ten_thousand_odd_updates_are_taken_in(odd: World) -> None:
    """Each is stored, acknowledged, and becomes a job that can be read, or none."""

    class Enough(Exception):
        """All of them were brought."""

    class Telegram(TelegramApi):
        """Brings them without a network."""

        async def call(self, method: str, timeout_s: float, **parameters: Any) -> Any:
            offsets.append(parameters["offset"])
            batch = next(batches, None)
            if batch is None:
                raise Enough
            brought.extend(batch)
            return batch

    offsets: list[int] = []
    brought: list[dict[str, Any]] = []
    batches = OddUpdates(11, PEOPLE, CHATS).batches(count(10_000, 2_000))
    async with odd.running() as bot:
        await bot.ask("hello")
        bot.app.lanes.close()
        assert bot.app.shared.telegram
        async with aiohttp.ClientSession() as session:
            api = Telegram(session=session, base_url="http://127.0.0.1:9", token="1:a")
            poller = Poller(
                api=api,
                clock=FastClock(),
                store=bot.app.shared.telegram._store,
                recovered=lambda: None,
            )
            with pytest.raises(Enough):
                await poller.run(0)
        stored = await bot.rows("SELECT update_id FROM updates")
        lanes = await bot.rows("SELECT DISTINCT lane FROM jobs")
        decided = [await _decided(bot, row["lane"]) for row in lanes]

    ids = {one["update_id"] for one in brought}
    assert ids <= {row["update_id"] for row in stored}
    assert offsets[-1] == max(ids) + 1
    assert sum(decided) > count(1_000, 200)


async def _decided(bot: Running, lane: str) -> int:
    """Claim and decide all of a lane, as the flow does; returns how many jobs that were."""
    decided = 0
    while job := await bot.app.inbox.claim(Lane(lane)):
        decide(job.inbound, job.active_pack, Installed(bot.app.generations.library.names))
        await bot.app.shared.database.transact(
            lambda tx, job=job: tx.run("UPDATE jobs SET state = 'done' WHERE id = ?", job.id)
        )
        decided += 1
    return decided


async def test_the_whole_runtime_lives_through_odd_updates(odd: World) -> None:
    """Over HTTP, into turns and out again: the next message is answered."""
    updates = next(iter(OddUpdates(12, PEOPLE, CHATS).batches(300, of=300)))
    async with odd.running() as bot:
        bring(odd, updates)
        last = updates[-1]["update_id"]
        bring(odd, (message(last + 1, text="are you there?"),))
        await said(odd, "are you there?")
        stored = await bot.rows("SELECT update_id FROM updates")
        cursors = await bot.rows("SELECT next_update_id FROM cursors")

    assert {one["update_id"] for one in updates} <= {row["update_id"] for row in stored}
    assert cursors == [{"next_update_id": last + 2}]
