"""Summaries, search and titles as rows. Source: issue 3, Context; design §3.5."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from aouo.agent.past import Pasts
from aouo.facts.address import ConversationAddress
from aouo.facts.records import Draft
from aouo.facts.transcript import AssistantSaid, UserSaid
from aouo.store import chats, opening, search, sessions
from aouo.store.database import Database, Tx

NOW = "2026-03-02T12:00:00.000+00:00"
ADA = ConversationAddress("tg", "1")
KEY = ADA.session_key("notes")


@pytest.fixture
async def database(tmp_path: Path) -> AsyncGenerator[Database]:
    database = Database(tmp_path / "aouo.db")
    await database.open()
    await database.transact(opening.make_tables)
    yield database
    await database.close()


def add(tx: Tx, session_id: str, *texts: str, visible: int = 1) -> list[int]:
    """Messages of the person and the assistant by turns."""
    roles = ("user", "assistant")
    return [
        tx.insert(
            "messages",
            {
                "session_id": session_id,
                "turn_id": "t",
                "role": roles[n % 2],
                "text": text,
                "visible": visible,
                "created_at": NOW,
            },
        )
        for n, text in enumerate(texts)
    ]


def draft(source: str, upto: int, text: str = "in short") -> Draft:
    return Draft(source, upto, 2, text, 3)


def read(tx: Tx, session_id: str, limit: int = 100) -> tuple[str, list[str]]:
    past = Pasts().read(tx, session_id, limit)
    standing = past.reach.summary
    return (standing.text if standing else "", [entry.text for entry in past.messages])


async def test_a_summary_stands_for_what_it_covers_until_it_is_undone(database: Database) -> None:
    def work(tx: Tx) -> list[tuple[str, list[str]]]:
        session = sessions.create(tx, ADA, "notes", NOW)
        ids = add(tx, session, "a", "b", "c", "d")
        seen = [read(tx, session)]
        first = sessions.add_summary(tx, session, draft(session, ids[1], "one"), NOW, behind=0)
        seen.append(read(tx, session))
        second = sessions.add_summary(tx, session, draft(session, ids[3], "two"), NOW, behind=first)
        seen.append(read(tx, session))
        for number in (second, first):
            assert sessions.undo_summary(tx, number, NOW)
            seen.append(read(tx, session))
        assert not sessions.undo_summary(tx, first, NOW)
        return seen

    assert await database.transact(work) == [
        ("", ["a", "b", "c", "d"]),
        ("one", ["c", "d"]),
        ("two", []),
        ("one", ["c", "d"]),
        ("", ["a", "b", "c", "d"]),
    ]


async def test_two_who_summarise_the_same_session_store_one_summary(database: Database) -> None:
    def work(tx: Tx) -> list[int]:
        session = sessions.create(tx, ADA, "notes", NOW)
        ids = add(tx, session, "a", "b")
        return [
            sessions.add_summary(tx, session, draft(session, ids[1]), NOW, behind=0) for _ in "xy"
        ]

    first, second = await database.transact(work)
    assert first
    assert second == 0


async def test_once_a_seed_is_undone_the_session_before_comes_first_again(
    database: Database,
) -> None:
    """`/compact` begins a new session; what is said later in the old one is not part of it."""

    def work(tx: Tx) -> list[tuple[str, list[str]]]:
        old = sessions.create(tx, ADA, "notes", NOW)
        ids = add(tx, old, "a", "b", "c", "d")
        before = sessions.add_summary(tx, old, draft(old, ids[1], "one"), NOW, behind=0)
        new = sessions.create(tx, ADA, "notes", NOW)
        seed = sessions.add_summary(tx, new, draft(old, ids[3], "all"), NOW, behind=0)
        add(tx, new, "e", "f")
        add(tx, old, "later, elsewhere")
        seen = [read(tx, new)]
        sessions.undo_summary(tx, seed, NOW)
        seen += [read(tx, new), read(tx, new, 3)]
        entries = sessions.covered_by_summary(tx, sessions.reach_of_summary(tx, new), 100)
        assert [entry.message.text for entry in entries] == ["c", "d", "e", "f"]
        sessions.undo_summary(tx, before, NOW)
        return [*seen, read(tx, new)]

    assert await database.transact(work) == [
        ("all", ["e", "f"]),
        ("one", ["c", "d", "e", "f"]),
        ("one", ["e", "f"]),
        ("", ["a", "b", "c", "d", "e", "f"]),
    ]


# Search


def found(tx: Tx, query: str, key: str = KEY) -> list[str]:
    while search.catch_up(tx, key):
        pass
    hits: list[search.Hit] = []
    for question in search.wanted(key, query, 8):
        hits = hits or tx.ask(question)
    return [hit.snippet for hit in hits]


TOLD = (
    "Das Fahrrad steht im Schäferweg.",
    "我想买一张去东京的机票",
    "내일 학교에서 모임이 있어요",
    "พรุ่งนี้ไปตลาดน้ำ",
    "Ada's number is 0171-2345",
    'He said "never again" AND left',
    "Milk, eggs and butter",
)


@pytest.mark.parametrize(
    ("query", "hits"),
    [
        ("fahrrad", [TOLD[0]]),
        ("schafer", [TOLD[0]]),
        ("东京", [TOLD[1]]),
        ("票", [TOLD[1]]),
        ("京东", []),
        ("학교", [TOLD[2]]),
        ("ตลาด", [TOLD[3]]),
        ("0171-2345", [TOLD[4]]),
        ("never AND left", [TOLD[5]]),
        ('"never" OR (', [TOLD[5]]),
        ("butter milk", [TOLD[6]]),
        ("butter fahrrad", [TOLD[0], TOLD[6]]),
        ("rad", []),
        ("'; DROP TABLE", []),
        ("***", []),
        ("", []),
    ],
)
async def test_words_are_found_in_any_script_and_no_syntax_breaks_out(
    database: Database, query: str, hits: Sequence[str]
) -> None:
    def work(tx: Tx) -> list[str]:
        session = sessions.create(tx, ADA, "notes", NOW)
        add(tx, session, *TOLD)
        return found(tx, query)

    assert sorted(await database.transact(work)) == sorted(hits)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=60)
@given(query=st.text(max_size=30))
async def test_no_query_is_an_error(database: Database, query: str) -> None:
    def work(tx: Tx) -> list[str]:
        return found(tx, query)

    await database.transact(work)


async def test_a_search_sees_this_conversation_with_this_pack_only(database: Database) -> None:
    def work(tx: Tx) -> tuple[list[str], list[str]]:
        for address, pack in (
            (ADA, "notes"),
            (ADA, "vocab"),
            (ConversationAddress("tg", "2"), "notes"),
            (ConversationAddress("tg", "1", "5"), "notes"),
        ):
            session = sessions.create(tx, address, pack, NOW)
            add(tx, session, f"a secret of {address} and {pack}")
            found(tx, "secret", address.session_key(pack))
        return found(tx, "secret"), found(tx, "secret", "tg:1")

    assert await database.transact(work) == (["a secret of tg:1 and notes"], [])


async def test_each_conversation_has_its_own_area_of_the_index_and_takes_it_along(
    database: Database,
) -> None:
    def work(tx: Tx) -> list[str]:
        first = sessions.create(tx, ADA, "notes", NOW)
        ours = add(tx, first, "the dentist", "the milk and the dentists", "dental")
        add(tx, sessions.create(tx, ConversationAddress("tg", "2"), "notes", NOW), "the dentist")
        for key in (KEY, "tg:2:pack:notes"):
            assert not search.catch_up(tx, key)
        held = search.holding(tx, KEY, ["dentists", "milk", "butter"])
        chats.rename_chat(tx, "tg", "1", "9")
        moved = KEY.replace("tg:1", "tg:9")
        again = sessions.create(tx, ConversationAddress("tg", "9"), "notes", NOW)
        ours += add(tx, again, "my dentist")
        assert not search.catch_up(tx, moved)
        after = search.holding(tx, moved, ["dentists"])
        assert held == [[ours[1], ours[0]], [ours[1]], []]
        assert after == [[ours[3], ours[1], ours[0]]]
        return found(tx, "dentist", moved)

    assert sorted(await database.transact(work)) == [
        "my dentist",
        "the dentist",
        "the milk and the dentists",
    ]


async def test_the_index_follows_what_becomes_visible_is_rewritten_or_deleted(
    database: Database,
) -> None:
    def work(tx: Tx) -> list[list[str]]:
        session = sessions.create(tx, ADA, "notes", NOW)
        ids = add(tx, session, "the red fence", "the red gate")
        [hidden] = add(tx, session, "a red turn that still runs", visible=0)
        seen = [found(tx, "red")]
        tx.run("UPDATE messages SET visible = 1 WHERE id = ?", hidden)
        seen.append(found(tx, "runs"))
        tx.run("DELETE FROM messages WHERE id = ?", ids[0])
        tx.run("UPDATE messages SET text = '' WHERE id = ?", ids[1])
        tx.run("UPDATE messages SET visible = 0 WHERE id = ?", hidden)
        left = tx.all("SELECT rowid FROM messages_index")
        assert [row["rowid"] & 0xFFFFFFFFFF for row in left] == [hidden]
        return [*seen, found(tx, "red")]

    both, late, nothing = await database.transact(work)
    assert sorted(both) == ["the red fence", "the red gate"]
    assert late == ["a red turn that still runs"]
    assert nothing == []


async def test_a_long_conversation_is_indexed_in_pieces_and_a_long_message_quoted_in_part(
    database: Database,
) -> None:
    def work(tx: Tx) -> tuple[bool, bool, list[str]]:
        session = sessions.create(tx, ADA, "notes", NOW)
        add(tx, session, *(f"line {n}" for n in range(search._BATCH)))
        add(tx, session, "before " * 100 + "the needle" + " after" * 100)
        return search.catch_up(tx, KEY), search.catch_up(tx, KEY), found(tx, "needle")

    first, second, [quoted] = await database.transact(work)
    assert (first, second) == (True, False)
    assert "the needle" in quoted
    assert quoted.startswith("…")
    assert len(quoted) < 260


# Titles


async def test_a_session_wants_a_title_from_six_messages_on_and_only_once(
    database: Database,
) -> None:
    def work(tx: Tx) -> list[str]:
        session = sessions.create(tx, ADA, "notes", NOW)
        states: list[str] = []

        def asked() -> None:
            sessions.want_title(tx, session)
            row = tx.one("SELECT titling FROM sessions WHERE id = ?", session)
            states.append(row["titling"] if row else "")

        add(tx, session, "a", "b", "c", "d")
        asked()
        add(tx, session, "e", "f")
        asked()
        sessions.try_title(tx, session)
        sessions.settle_title(tx, session, "Letters")
        asked()
        return states

    assert await database.transact(work) == ["", "wanted", "done"]


async def test_what_is_covered_is_told_as_it_was_said(database: Database) -> None:
    def work(tx: Tx) -> list[object]:
        session = sessions.create(tx, ADA, "notes", NOW)
        add(tx, session, "a", "b")
        return [
            e.message
            for e in sessions.covered_by_summary(tx, sessions.reach_of_summary(tx, session), 10)
        ]

    assert await database.transact(work) == [UserSaid("a"), AssistantSaid("b")]
