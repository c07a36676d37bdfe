"""One file, one writer, and the rules its rows keep. Source: design §3.2, §3.5; sqlite.org/wal."""

from __future__ import annotations

import asyncio
import sqlite3
import threading
from collections.abc import AsyncGenerator
from dataclasses import replace
from pathlib import Path
from typing import LiteralString

import pytest

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import LostClaim, SetupError, Unstorable
from aouo.facts.events import Content, Edited, Inbound, Origin, Part, Person, Reacted, Text
from aouo.facts.people import PROFILES
from aouo.facts.ports import Rendered
from aouo.facts.records import Change, Install
from aouo.facts.work import Gate, Route
from aouo.store import (
    chats,
    deliveries,
    gates,
    gone,
    installs,
    jobs,
    kept_reports,
    opening,
    routes,
    sessions,
    turns,
    updates,
)
from aouo.store.database import Database, Tx

NOW = "2026-03-02T12:00:00.000+00:00"
ADA = ConversationAddress("tg", "1")
GROUP = ConversationAddress("tg", "-100")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    database = Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(opening.make_tables)
    yield database
    await database.close()


def said(address: ConversationAddress = ADA, text: str = "hi") -> Inbound:
    return Inbound(address, Person("7"), Text(text))


def asking(tx: Tx, address: ConversationAddress) -> str:
    """Let a turn ask something; the id of its question."""
    job = jobs.add(tx, address.lane, said(address), NOW)
    session = sessions.create(tx, address, "notes", NOW)
    turn = turns.open_turn(tx, job, session, "notes", "", "paint", NOW)
    gate = Gate(
        gates.new_id(), "clarify", address, "7", turn.id, turn.id, "Which?", (), "open", "", 0, NOW
    )
    return gates.open_gate(tx, gate, NOW).id


# Transactions


async def test_transactions_that_wait_share_one_commit_and_a_failing_one_sinks_alone(
    database: Database,
) -> None:
    hold = threading.Event()
    sql: LiteralString = "INSERT INTO refusals VALUES (?, ?)"

    def slow(tx: Tx) -> None:
        hold.wait(5)

    async with asyncio.TaskGroup() as group:
        group.create_task(database.transact(slow))
        await asyncio.sleep(0)
        good = [
            group.create_task(database.transact(lambda tx, n=n: tx.run(sql, str(n), NOW)))
            for n in range(5)
        ]

        async def fails() -> str:
            def work(tx: Tx) -> None:
                tx.run(sql, "half", NOW)
                raise ValueError("no")

            with pytest.raises(ValueError, match="no"):
                await database.transact(work)
            return "failed alone"

        bad = group.create_task(fails())
        await asyncio.sleep(0)
        hold.set()

    kept = await database.read(lambda tx: tx.all("SELECT person FROM refusals ORDER BY person"))
    assert [row["person"] for row in kept] == ["0", "1", "2", "3", "4"]
    assert ([task.result() for task in good], bad.result()) == ([1] * 5, "failed alone")


async def test_a_commit_that_fails_fails_for_all_who_share_it_and_the_next_one_succeeds(
    database: Database,
) -> None:
    def breaks(tx: Tx) -> None:
        tx.run("PRAGMA defer_foreign_keys = ON")  # so that the mistake is found at the commit
        tx.run("UPDATE turns SET job_id = -1")

    def opens(tx: Tx) -> None:
        asking(tx, ADA)

    await database.transact(opens)
    with pytest.raises(sqlite3.IntegrityError):
        await database.transact(breaks)
    await database.transact(lambda tx: tx.run("INSERT INTO refusals VALUES ('1', ?)", NOW))

    kept = await database.read(lambda tx: tx.all("SELECT job_id FROM turns"))
    assert [row["job_id"] for row in kept] == [1]
    assert await database.read(lambda tx: len(tx.all("SELECT * FROM refusals"))) == 1


async def test_what_is_written_apart_is_taken_back_alone_if_its_values_are_at_fault(
    database: Database,
) -> None:
    """What the database itself refuses is everybody's failure, and tried again by whoever asked."""
    sql: LiteralString = "INSERT INTO refusals VALUES (?, ?)"

    def half(tx: Tx) -> None:
        tx.run(sql, "half", NOW)
        tx.run(sql, "\ud83d", NOW)

    def broken(tx: Tx) -> None:
        raise sqlite3.OperationalError("database or disk is full")

    def work(tx: Tx) -> None:
        tx.run(sql, "before", NOW)
        with pytest.raises(Unstorable):
            tx.apart(half)
        tx.apart(lambda tx: tx.run(sql, "behind", NOW))

    await database.transact(work)
    with pytest.raises(sqlite3.OperationalError, match="full"):
        await database.transact(lambda tx: tx.apart(broken))

    kept = await database.read(lambda tx: tx.all("SELECT person FROM refusals ORDER BY person"))
    assert [row["person"] for row in kept] == ["before", "behind"]


async def test_a_change_that_failed_leaves_installed_what_was_and_says_why(
    database: Database,
) -> None:
    before = Install("notes", "1.0", "aa", "notes.aouopack", "key", "7", NOW)
    change = Change("c1", "notes", "upgrade", "begun", "2.0", "bb", "there", "", "8", NOW)

    def work(tx: Tx) -> tuple[Install | None, ...]:
        installs.record(tx, replace(change, version="1.0", digest="aa", source=before.source), NOW)
        first = installs.of(tx, "notes")
        installs.record(tx, change, NOW)
        installs.restore(tx, change, before, "no room", NOW)
        again = installs.of(tx, "notes")
        installs.restore(tx, change, None, "no room", NOW)
        return first, again, installs.of(tx, "notes")

    first, again, gone = await database.transact(work)
    assert first is not None
    assert first.version == "1.0"
    assert (again, gone) == (before, None)


async def test_what_was_asked_for_happens_though_the_caller_is_cancelled(
    database: Database,
) -> None:
    async with asyncio.TaskGroup() as group:
        task = group.create_task(
            database.transact(lambda tx: tx.run("INSERT INTO refusals VALUES ('x', '')"))
        )
        await asyncio.sleep(0)
        task.cancel()

    found = await database.transact(lambda tx: tx.one("SELECT 1 FROM refusals"))
    assert found


async def test_a_read_cannot_write(database: Database) -> None:
    with pytest.raises(sqlite3.OperationalError, match="readonly"):
        await database.read(lambda tx: tx.run("DELETE FROM refusals"))


async def test_closing_finishes_what_is_queued_and_leaves_one_file(tmp_path: Path) -> None:
    """The writer closes last, so that only one connection ever checkpoints."""
    database = Database(tmp_path / "a.db")
    await database.open()
    await database.transact(lambda tx: tx.run("CREATE TABLE t (n INTEGER) STRICT"))
    async with asyncio.TaskGroup() as group:
        for n in range(100):
            group.create_task(
                database.transact(lambda tx, n=n: tx.run("INSERT INTO t VALUES (?)", n))
            )
        await asyncio.sleep(0)
        await database.close()

    assert [file.name for file in tmp_path.iterdir()] == ["a.db"]  # noqa: ASYNC240
    with sqlite3.connect(tmp_path / "a.db") as again:
        assert again.execute("SELECT count(*) FROM t").fetchone() == (100,)
    again.close()


# Tables


async def test_tables_are_made_once_and_say_by_which_schema(database: Database) -> None:
    def schema(tx: Tx) -> list[str]:
        return [row["sql"] for row in tx.all("SELECT sql FROM sqlite_schema ORDER BY name")]

    before = await database.read(schema)
    await database.transact(opening.make_tables)

    assert await database.read(schema) == before
    assert await database.read(lambda tx: tx.schema) > 0


@pytest.mark.parametrize("number", [0, 1], ids=["before it said so", "another"])
async def test_tables_of_another_schema_are_refused(database: Database, number: int) -> None:
    def made_otherwise(tx: Tx) -> None:
        tx.schema = number

    await database.transact(made_otherwise)

    with pytest.raises(SetupError, match="has the tables of another aouo"):
        await database.transact(opening.make_tables)


async def test_a_script_is_split_where_sqlite_sees_the_ends(database: Database) -> None:
    script = "-- one; two\nCREATE TABLE a (b TEXT DEFAULT ';');\nCREATE TABLE c (d);\n-- end"
    await database.transact(lambda tx: tx.script(script))

    assert await database.read(lambda tx: tx.all("SELECT * FROM a, c")) == []


# Routes


async def test_the_session_is_cleared_exactly_when_the_pack_changes(database: Database) -> None:
    """Invariant 3."""

    def story(tx: Tx) -> list[tuple[str, str]]:
        seen: list[tuple[str, str]] = []
        routes.set_pack(tx, routes.get_or_create(tx, ADA, "private", NOW), "notes", NOW)
        session = sessions.create(tx, ADA, "notes", NOW)
        routes.set_session(tx, _route(tx), session, NOW)
        for pack in ("notes", "vocab", "vocab", ""):
            routes.set_pack(tx, _route(tx), pack, NOW)
            seen.append((pack, "kept" if _route(tx).session_id else "cleared"))
        return seen

    assert await database.transact(story) == [
        ("notes", "kept"),
        ("vocab", "cleared"),
        ("vocab", "cleared"),
        ("", "cleared"),
    ]


def _route(tx: Tx) -> Route:
    found = routes.find(tx, ADA)
    assert found
    return found


async def test_who_writes_an_old_version_of_a_route_loses(database: Database) -> None:
    def race(tx: Tx) -> tuple[bool, bool, str]:
        seen = routes.get_or_create(tx, ADA, "private", NOW)
        first = routes.set_pack(tx, seen, "notes", NOW)
        second = routes.set_pack(tx, seen, "vocab", NOW)
        return first, second, _route(tx).active_pack

    assert await database.transact(race) == (True, False, "notes")


async def test_a_stale_pointer_finds_the_newest_session_with_the_right_key(
    database: Database,
) -> None:
    def heal(tx: Tx) -> tuple[bool, str, str]:
        wrong = sessions.create(tx, ADA, "vocab", NOW)
        sessions.create(tx, ADA, "notes", NOW)
        newest = sessions.create(tx, ADA, "notes", NOW)
        routes.set_pack(tx, routes.get_or_create(tx, ADA, "private", NOW), "notes", NOW)
        routes.set_session(tx, _route(tx), wrong, NOW)
        healed = sessions.resolve(tx, _route(tx), ADA, "notes", NOW)
        return healed.id == newest == _route(tx).session_id, healed.key, healed.stale_key

    assert await database.transact(heal) == (True, "tg:1:pack:notes", "tg:1:pack:vocab")


async def test_a_migrated_group_moves_whole_and_touches_no_other(database: Database) -> None:
    """Also where one id is the beginning of another."""
    near = ConversationAddress("tg", "-1001")

    def move(tx: Tx) -> dict[str, list[str]]:
        for address in (GROUP, near):
            route = routes.get_or_create(tx, address, "group", NOW)
            routes.set_session(tx, route, sessions.create(tx, address, "notes", NOW), NOW)
            jobs.add(tx, address.lane, said(address), NOW)
        chats.rename_chat(tx, "tg", "-100", "-1001999")
        return {
            "routes": [r["chat_id"] for r in tx.all("SELECT * FROM conversation_routes")],
            "lanes": [r["lane"] for r in tx.all("SELECT * FROM jobs")],
            "keys": [r["session_key"] for r in tx.all("SELECT * FROM sessions")],
        }

    assert await database.transact(move) == {
        "routes": ["-1001999", "-1001"],
        "lanes": ["-1001999", "-1001"],
        "keys": ["tg:-1001999:pack:notes", "tg:-1001:pack:notes"],
    }


async def test_what_a_moved_group_leaves_behind_does_not_replace_what_moved(
    database: Database,
) -> None:
    """A turn that began before the move may write in the old chat's name after it."""
    new = ConversationAddress("tg", "-1001999")

    def move(tx: Tx) -> tuple[str, int]:
        routes.set_pack(tx, routes.get_or_create(tx, GROUP, "group", NOW), "notes", NOW)
        chats.rename_chat(tx, "tg", GROUP.chat_id, new.chat_id)
        routes.get_or_create(tx, GROUP, "group", NOW)
        for _ in range(2):
            chats.rename_chat(tx, "tg", GROUP.chat_id, new.chat_id)
        chats.rename_chat(tx, "tg", new.chat_id, new.chat_id)
        route = routes.find(tx, new)
        assert route
        return route.active_pack, len(tx.all("SELECT 1 FROM conversation_routes"))

    assert await database.transact(move) == ("notes", 1)


async def test_what_a_turn_says_to_a_group_that_moved_meanwhile_is_filed_in_the_new_one(
    database: Database,
) -> None:
    """In its place among what is said there; a line that edits a message of the old group goes.

    What would grow there goes too: the turn would look for it in the old group.
    """

    def late(tx: Tx) -> list[tuple[str, str, int, int]]:
        chats.rename_chat(tx, "tg", GROUP.chat_id, "-1001999")
        rows = [
            deliveries.add(tx, GROUP, "reply", Rendered("the answer", reply_to=7), NOW, edits=8),
            deliveries.add(tx, GROUP, "notice", Rendered(""), NOW, edits=8),
            deliveries.add(tx, GROUP, "live", Rendered("Thinking…"), NOW),
        ]
        stored = [deliveries.get(tx, row.id) for row in rows]
        assert stored == rows
        return [(r.address.chat_id, r.state, r.edits, r.message.reply_to) for r in rows]

    assert await database.transact(late) == [
        ("-1001999", "queued", 0, 0),
        ("-1001999", "dropped", 0, 0),
        ("-1001999", "dropped", 0, 0),
    ]


async def test_what_is_stopped_asks_no_more_but_what_begins_behind_it_may(
    database: Database,
) -> None:
    """From the transaction of the /stop on: the turn itself may take a while to end."""

    def stop(tx: Tx) -> list[bool]:
        stopped, _ = asking(tx, ADA), asking(tx, GROUP)
        stop = jobs.add(tx, ADA.lane.bypass, said(text="/stop"), NOW)
        closed = [gate.id for gate in gates.close_asked(tx, ADA, stop, NOW)]
        asking(tx, ADA)
        again = gates.close_asked(tx, ADA, stop, NOW)
        assert again == []
        assert closed == [stopped]
        return [bool(gates.open_for(tx, ADA, "7")), bool(gates.open_for(tx, GROUP, "7"))]

    assert await database.transact(stop) == [True, True]


# Jobs


async def test_a_claim_with_an_older_fence_writes_nothing(database: Database) -> None:
    def lose(tx: Tx) -> None:
        jobs.add(tx, ADA.lane, said(), NOW)
        jobs.add(tx, ADA.lane, said(text="behind it"), NOW)
        first = jobs.claim(tx, ADA.lane)
        assert first
        assert jobs.claim(tx, ADA.lane) is None
        jobs.void_claims(tx)
        second = jobs.claim(tx, ADA.lane)
        assert second
        assert second.claim_number > first.claim_number
        for write in (
            lambda: jobs.check_claim(tx, first),
            lambda: jobs.settle(tx, first, "done", "", NOW),
            lambda: jobs.defer(tx, first),
        ):
            with pytest.raises(LostClaim):
                write()
        jobs.settle(tx, second, "done", "", NOW)

    await database.transact(lose)


async def test_a_death_counts_against_who_was_alone_at_work_or_was_a_suspect(
    database: Database,
) -> None:
    def story(tx: Tx) -> list[list[tuple[int, bool]]]:
        lanes = ADA.lane, ConversationAddress("tg", "2").lane
        for lane in lanes:
            jobs.add(tx, lane, said(), NOW)
        lives: list[list[tuple[int, bool]]] = []
        for at_work in ((), (0, 1), (0, 1), (1,)):
            claimed = [job for lane in lanes if (job := jobs.claim(tx, lane))]
            for number in at_work:
                jobs.check_claim(tx, claimed[number], begins=True)
            lives.append([(job.deaths, job.suspect) for job in claimed])
            jobs.void_claims(tx)
        return lives

    assert await database.transact(story) == [
        [(0, False), (0, False)],
        [(0, False), (0, False)],
        [(0, True), (0, True)],
        [(1, True), (1, True)],
    ]


async def test_the_cursor_never_goes_back_and_an_update_is_stored_once(
    database: Database,
) -> None:
    def story(tx: Tx) -> tuple[int, bool, bool]:
        updates.advance(tx, "bot", 10)
        updates.advance(tx, "bot", 5)
        first = updates.add(tx, "bot", 9, "{}", NOW)
        return updates.cursor(tx, "bot"), first, updates.add(tx, "bot", 9, "{}", NOW)

    assert await database.transact(story) == (10, True, False)


@pytest.mark.parametrize(
    "content",
    [
        Text("ä\n👍"),
        Text("a\nb", ("[x]",), (Part(1, "a", ("[x]",)), Part(2, "b"))),
        Edited("b", ("[x]",)),
        Reacted("👍"),
    ],
)
def test_an_inbound_survives_being_stored_also_with_unknown_fields(content: Content) -> None:
    fact = replace(said(text=""), content=content)
    newer = fact.dump().replace('{"address"', '{"later":1,"address"', 1)

    assert Inbound.load(fact.dump()) == Inbound.load(newer) == fact


async def test_a_file_system_without_a_write_ahead_log_is_a_mistake_of_the_setup() -> None:
    """Finding 37. In memory SQLite answers `journal_mode=WAL` as it does on such a disk."""
    database = Database(Path(":memory:"))

    with pytest.raises(SetupError, match=r"cannot keep a write-ahead log \(it says: memory\)"):
        await database.open()
    await database.close()


@pytest.mark.parametrize("origin", PROFILES)
async def test_a_job_waits_for_a_chat_that_is_gone_if_its_answer_goes_there(
    database: Database, origin: Origin
) -> None:
    def parked(tx: Tx) -> bool:
        jobs.add(tx, ADA.lane, replace(said(), origin=origin), NOW)
        gone.close(tx, ADA, "blocked", NOW)
        return jobs.any_parked(tx, ADA)

    assert await database.transact(parked) is (PROFILES[origin].goes != "nowhere")


async def test_what_waits_for_a_digest_moves_with_its_group(database: Database) -> None:
    def work(tx: Tx) -> list[kept_reports.KeptReport]:
        kept_reports.keep(
            tx, "7", GROUP, "pump", "late", (Rendered("late"),), NOW, NOW, turn_id="t"
        )
        chats.rename_chat(tx, "tg", GROUP.chat_id, "-1001999")
        return kept_reports.due(tx, NOW)

    (kept,) = await database.transact(work)

    assert kept.address == replace(GROUP, chat_id="-1001999")
    assert kept.messages == (Rendered("late"),)
    assert await database.read(lambda tx: kept_reports.waiting(tx, kept.address)) == (1, NOW)
