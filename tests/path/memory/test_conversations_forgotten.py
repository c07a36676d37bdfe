"""`retention.messages_days`: what was said long ago goes, whole turns at a time. Issue 11, 29."""

from __future__ import annotations

import asyncio
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Report, Text
from aouo.store import forgetting, jobs, search
from aouo.store.database import Database, Tx
from aouo.store.opening import opened
from tests.fakes.clock import FastClock
from tests.fakes.databases import put_database
from tests.path.looking import eventually, prompts, said, settled
from tests.path.memory.test_compaction import PROVIDER, Model, fill, say
from tests.path.world import ADA, WAIT_S, Running, World

DAY_S = 86_400.0


def stored(world: World, words: str) -> bool:
    return any(words.encode() in file.read_bytes() for file in world.home.data.rglob("aouo.db*"))


async def test_old_turns_lose_their_words_and_newer_ones_keep_theirs(world: World) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.config = {"retention": {"messages_days": 7, "updates_days": 1}}
    async with world.running() as bot:
        world.model.call("persist", {"action": "save", "data": {"text": "pelican"}})
        world.model.say("Kept, said the heron.")
        await bot.ask("the elephant was here")
        await bot.ask("so was the rhino")
        await settled(bot)
        clock.jump(6 * DAY_S)
        await bot.ask("now the zebra")
        await settled(bot)
        await bot.app.tidying.prune()
        kept = [word for word in ("elephant", "heron", "zebra") if stored(world, word)]
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        left = [
            word
            for word in ("elephant", "heron", "pelican", "rhino", "zebra")
            if stored(world, word)
        ]
        turns = await bot.rows("SELECT status FROM turns")
        await bot.ask("and again")
        again = world.model.requests[-1]["messages"]
        found = await bot.ask("/sessions")

    assert kept == ["elephant", "heron", "zebra"]
    assert left == ["zebra"]
    assert [row["status"] for row in turns] == ["ack"] * 3
    assert "zebra" in str(again)
    assert "elephant" not in str(again)
    assert "Earlier sessions here" in found.text
    assert prompts(world)[-1] == "and again"


async def test_a_summary_goes_with_the_words_it_stood_for_though_newer_ones_stay(
    world: World,
) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.model.script = model = Model()
    world.config = {
        "retention": {"messages_days": 7},
        "advanced": {"context_window": 5600},
        "provider": PROVIDER,
    }
    async with world.running() as bot:
        await fill(world, bot, model, 5)
        ((first,),) = [row.values() for row in await bot.rows("SELECT id FROM summaries")]
        kept = list[bool]()
        for days in (6, 2):
            clock.jump(days * DAY_S)
            await say(world, bot, model, "zebra")
            await bot.app.tidying.prune()
            kept.append(bool(await bot.rows("SELECT 1 FROM summaries WHERE id = ?", first)))

    assert kept == [True, False]


async def test_nothing_goes_by_default_nor_what_is_not_over(world: World) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    async with world.running() as bot:
        await bot.ask("the elephant was here")
        await settled(bot)
        clock.jump(900 * DAY_S)
        await bot.app.tidying.prune()

        assert stored(world, "elephant")


OF_A_SESSION = (
    "sessions",
    "turns",
    "messages",
    "messages_index",
    "tool_calls",
    "summaries",
    "results",
    "gates",
)


async def counts(bot: Running, *tables: str) -> dict[str, int]:
    return {
        table: (await bot.rows(f"SELECT count(*) AS n FROM {table}"))[0]["n"] for table in tables
    }


async def session(bot: Running) -> str:
    ((row),) = await bot.rows("SELECT session_id FROM conversation_routes WHERE chat_id = '1001'")
    return row["session_id"]


async def test_a_conversation_that_nobody_went_on_in_is_ended_and_the_next_word_begins_anew(
    world: World,
) -> None:
    """Nothing of it is left but what was used, the audit, and rows without words."""
    world.install("notes")
    clock = world.clock = FastClock()
    world.config = {"retention": {"messages_days": 7, "updates_days": 0, "deliveries_days": 0}}
    async with world.running() as bot:
        world.model.call("persist", {"action": "save", "data": {"text": "pelican"}})
        world.model.say("Kept.")
        asked = await bot.people.say(ADA, ADA, "the elephant was here")
        await said(world, "Kept.")
        world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
        world.model.say("Green it is.")
        question = await bot.ask("paint it")
        await bot.people.tap(ADA, ADA, question.id, question.buttons[1].data)
        await said(world, "Green it is.")
        key = await bot.rows("SELECT session_key FROM sessions")
        await bot.app.shared.database.transact(
            lambda tx: search.catch_up(tx, key[0]["session_key"])
        )
        await settled(bot)
        before, first = await counts(bot, *OF_A_SESSION), await session(bot)
        used = await counts(bot, "usage_events", "audit", "jobs", "deliveries")
        clock.jump(8 * DAY_S)
        await bot.app.tidying.prune()
        await bot.app.shared.database.transact(raw_updates_gone)
        gone = not stored(world, "elephant")
        left, pointer = await counts(bot, *OF_A_SESSION), await session(bot)
        still = await counts(bot, *used)
        orphans = await bot.rows("PRAGMA foreign_key_check")
        again = await bot.ask("and now?")
        await bot.people.edit(ADA, ADA, asked.id, "the rhino was here")
        await bot.people.tap(ADA, ADA, question.id, question.buttons[0].data)
        retried = await bot.ask("/retry")
        await settled(bot)
        last, words = await session(bot), str(world.model.requests[-1]["messages"])

    assert all(before[table] for table in ("sessions", "turns", "messages_index", "tool_calls"))
    assert before["gates"] == 1
    assert set(left.values()) == {0}
    assert still == used
    assert orphans == []
    assert pointer == ""
    assert last not in ("", first)
    assert (again.text, retried.text) == ("and now?", "and now?")
    assert "elephant" not in words
    assert gone


def raw_updates_gone(tx: Tx) -> None:
    """What `retention.updates_days` would take, and the way from a message to its job with it."""
    tx.run("DELETE FROM updates")
    tx.forget()


async def test_a_session_stays_while_another_one_begins_with_what_stands_for_it(
    world: World,
) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.model.script = model = Model()
    world.config = {
        "retention": {"messages_days": 7},
        "advanced": {"context_window": 5600},
        "provider": PROVIDER,
    }
    async with world.running() as bot:
        await fill(world, bot, model, 5)
        first = await session(bot)
        clock.jump(5 * DAY_S)
        await bot.people.say(ADA, ADA, "/compact")
        await eventually(lambda: bot.rows("SELECT 1 FROM sessions WHERE id <> ?", first))
        await settled(bot)
        second = await session(bot)
        clock.jump(3 * DAY_S)
        await bot.app.tidying.prune()
        kept = [row["id"] for row in await bot.rows("SELECT id FROM sessions ORDER BY id")]
        clock.jump(8 * DAY_S)
        await bot.app.tidying.prune()
        later = await counts(bot, "sessions", "summaries")
        orphans = await bot.rows("PRAGMA foreign_key_check")

    assert kept == sorted([first, second])
    assert later == {"sessions": 0, "summaries": 0}
    assert orphans == []


async def test_a_session_with_an_open_question_is_not_over(world: World) -> None:
    world.install("notes")
    clock = world.clock = FastClock()
    world.config = {"retention": {"messages_days": 7}}
    world.model.call("clarify", {"message": "Which colour?", "options": ["red", "green"]})
    world.model.say("Green it is.")
    async with world.running() as bot:
        question = await bot.ask("paint it")
        clock.jump(20 * 3600.0)
        await bot.app.shared.database.transact(
            lambda tx: tx.run("UPDATE sessions SET updated_at = '2020-01-01T00:00:00.000+00:00'")
        )
        await bot.app.tidying.prune()
        await bot.people.tap(ADA, ADA, question.id, question.buttons[1].data)
        await said(world, "Green it is.")
        await settled(bot)


async def test_much_is_forgotten_in_many_parts_between_which_others_write(
    tmp_path: Path,
) -> None:
    """Rule of ours: nobody waits longer than 50 ms for the writer. What a part takes is bounded by
    its rows; `tests/store/test_statements.py` sees that none of its statements walks a table."""
    put_database(tmp_path / "aouo.db")
    database = Database(tmp_path / "aouo.db")
    await database.open()
    try:
        await database.transact(old_talk)
        turns, ended = list[int](), list[int]()
        after = 0
        while True:
            many, after = await database.transact(
                lambda tx, after=after: forgetting.forget_turns(tx, SOON, after)
            )
            turns.append(many)
            if not after:
                break
        while some := await database.transact(lambda tx: forgetting.end_sessions(tx, SOON)):
            ended.append(some)
        kept = await database.read(lambda tx: [dict(row) for row in tx.all("SELECT * FROM turns")])
    finally:
        await database.close()

    assert sum(turns) == TURNS
    assert max(turns) <= forgetting._MESSAGES_AT_ONCE
    assert sum(ended) == TURNS + SESSIONS
    assert max(ended) <= forgetting._TURNS_AT_ONCE
    assert [row["id"] for row in kept] == ["open"]


async def test_what_is_emptied_is_not_looked_at_again_unless_it_gets_other_words(
    tmp_path: Path,
) -> None:
    """Found by review: each day read every job that there ever was, and parsed it."""
    put_database(tmp_path / "aouo.db")
    place = ConversationAddress("tg", "7")

    def dropped(tx: Tx) -> None:
        for number in range(JOBS):
            asked = Inbound(place, Person("7"), Text(f"elephant {number}"))
            jobs.add(tx, place.lane, asked, LONG_AGO)
        tx.run("UPDATE jobs SET state = 'dropped', settled_at = ?", LONG_AGO)

    async with opened(tmp_path / "aouo.db") as database:

        async def forget() -> list[int]:
            parts, after = list[int](), 0
            while True:
                many, after = await database.transact(
                    lambda tx, after=after: forgetting.forget_jobs(tx, SOON, after)
                )
                parts.append(many)
                if not after:
                    return parts

        await database.transact(dropped)
        first, second = await forget(), await forget()
        edited = Inbound(place, Person("7"), Text("rhino"))
        await database.transact(lambda tx: jobs.rewrite(tx, 1, edited))
        third = await forget()
        left = await database.read(
            lambda tx: str([tuple(row) for row in tx.all("SELECT * FROM jobs")])
        )

    assert sum(first) == JOBS
    assert max(first) <= forgetting._JOBS_AT_ONCE
    assert second == [0]
    assert sum(third) == 1
    assert "elephant" not in left
    assert "rhino" not in left


JOBS = forgetting._JOBS_AT_ONCE * 2 + 1
LONG_AGO, SOON = "2020-01-01T00:00:00.000+00:00", "2026-01-01T00:00:00.000+00:00"
SESSIONS = 30
TURNS = 210


def old_talk(tx: Tx) -> None:
    """One long session and many short ones, and one in the midst of which a turn is open."""
    address = ConversationAddress("tg", "1")
    words = Inbound(address, Person("1"), Text("hello"))
    for number in range(SESSIONS + 1):
        tx.run(
            "INSERT INTO sessions (id, session_key, created_at, updated_at) VALUES (?, ?, ?, ?)",
            f"s{number}",
            "tg:1",
            LONG_AGO,
            LONG_AGO,
        )
    sessions = [f"s{min(number, SESSIONS - 1)}" for number in range(TURNS)]
    named = [(f"t{number}", of) for number, of in enumerate(sessions)]
    for turn, of in [("open", f"s{SESSIONS}"), *named]:
        job = jobs.add(tx, address.lane, words, LONG_AGO)
        tx.run("UPDATE jobs SET state = 'done' WHERE id = ?", job)
        tx.run(
            "INSERT INTO turns (id, job_id, session_id, pack, skill, status, started_at, "
            "settled_at) VALUES (?, ?, ?, '', '', ?, ?, ?)",
            turn,
            job,
            of,
            "open" if turn == "open" else "ack",
            LONG_AGO,
            LONG_AGO,
        )
        for role in ("user", "assistant"):
            tx.run(
                "INSERT INTO messages (session_id, turn_id, role, text, visible, created_at) "
                "VALUES (?, ?, ?, 'hello', 1, ?)",
                of,
                turn,
                role,
                LONG_AGO,
            )


async def test_what_a_run_brought_in_is_forgotten_like_all_else(world: World) -> None:
    """Issue 14 "Memory": `retention.messages_days` ends conversations."""
    clock = world.clock = FastClock()
    world.config = {"retention": {"messages_days": 7, "deliveries_days": 1}}
    content = Report("t" * 26, "zoo", "count the rhino", "one elephant")
    run = Inbound(ConversationAddress("tg", str(ADA)), Person(str(ADA)), content, origin="watch")
    async with world.running() as bot:
        await bot.app.inbox.trigger(lambda tx, now: [run])
        await bot.people.next_message(ADA)
        await settled(bot)
        clock.jump(6 * DAY_S)
        await bot.app.tidying.prune()
        kept = [word for word in ("rhino", "elephant") if stored(world, word)]
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        left = [word for word in ("rhino", "elephant") if stored(world, word)]
        sessions = await bot.rows("SELECT id FROM sessions")

    assert kept == ["rhino", "elephant"]
    assert (left, sessions) == ([], [])


async def test_what_never_had_a_turn_is_forgotten_too(world: World) -> None:
    """A command's words, and a message that was dropped before its turn began."""
    world.install("notes")
    clock = world.clock = FastClock(speed=1)
    world.config = {"retention": {"messages_days": 7, "updates_days": 1, "deliveries_days": 1}}
    world.model.stall()
    async with world.running() as bot:
        await bot.people.say(ADA, ADA, "go")
        async with asyncio.timeout(WAIT_S):
            await world.model.stalled.wait()
        await bot.people.say(ADA, ADA, "the rhino waits")
        await eventually(lambda: bot.rows("SELECT 1 FROM jobs WHERE body LIKE '%rhino%'"))
        await bot.ask("/stop")
        world.model.release.set()
        await bot.ask("/sessions the elephant")
        await settled(bot)
        clock.jump(6 * DAY_S)
        await bot.app.tidying.prune()
        kept = [word for word in ("rhino", "elephant") if stored(world, word)]
        clock.jump(2 * DAY_S)
        await bot.app.tidying.prune()
        left = [word for word in ("rhino", "elephant") if stored(world, word)]
        states = await bot.rows("SELECT state FROM jobs ORDER BY id")

    assert (kept, left) == (["rhino", "elephant"], [])
    assert "dropped" in [row["state"] for row in states]
