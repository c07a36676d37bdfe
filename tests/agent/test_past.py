"""What is kept of a session between its turns is what the table says. Source: issue 3."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from functools import partial
from typing import TypeAlias

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aouo.agent.history import sanitised
from aouo.agent.past import _STAY_SHARE, Pasts, _left_out
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.records import Draft, HistoryEntry, Past
from aouo.facts.transcript import AssistantSaid, Message, ToolCall, ToolReturned, UserSaid
from aouo.store import jobs, opening, search, sessions, turns
from aouo.store.database import Tx

NOW = "2026-03-02T12:00:00.000+00:00"
ADA = ConversationAddress("tg", "1")


@contextlib.contextmanager
def table() -> Generator[Tx]:
    with contextlib.closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.row_factory = sqlite3.Row
        tx = Tx(connection)
        opening.make_tables(tx)
        yield tx


def known(tx: Tx, pasts: Pasts, session_id: str, limit: int) -> tuple[Past, set[int]]:
    """What a turn reads, and the rows that it says it comes from."""
    past = pasts.read(tx, session_id, limit)
    return replace(past, sent=()), search.ids_in(tx, past.sent)


def fresh(tx: Tx, session_id: str, limit: int) -> tuple[Past, set[int]]:
    """The newest rows that no summary stands for, with nothing kept from before."""
    found = sessions.reach_of_summary(tx, session_id)
    parts = [
        turns.entries(tx, part.session_id, 1_000, after=part.after, until=part.until)
        for part in found.stretches
    ]
    rows = sum(map(len, parts))
    gone = left = _left_out(rows, limit)
    messages: list[Message] = []
    ids: set[int] = set()
    for entries in parts:
        read = entries[left:]
        left -= len(entries) - len(read)
        messages += exchanges(read)
        ids |= {entry.id for entry in read}
    return Past(found, tuple(messages), rows - gone, gone), ids


def exchanges(entries: Sequence[HistoryEntry]) -> list[Message]:
    """Each exchange sanitised by itself: what is torn in one changes no other."""
    groups: list[list[Message]] = [[]]
    for entry in entries:
        if isinstance(entry.message, UserSaid):
            groups.append([])
        groups[-1].append(entry.message)
    return [message for group in groups for message in sanitised(group)]


def take_turn(tx: Tx, session_id: str, said: str, *, calls: int = 0, answer: str = "ok") -> None:
    job = jobs.add(tx, ADA.lane, Inbound(ADA, Person("1"), Text(said)), NOW)
    turn = turns.open_turn(tx, job, session_id, "notes", "", said, NOW)
    if calls:
        made = tuple(ToolCall(f"{turn.id}.{n}", "persist", "{}") for n in range(calls))
        turns.record_calls(tx, turn, AssistantSaid("", made), [True] * calls, NOW)
        for call in made:
            result = ToolReturned(call.id, call.name, "done")
            turns.record_result(tx, turn, result, "done", effect=True, now=NOW)
    if answer:
        turns.close_ack(tx, turn, AssistantSaid(answer), (), NOW)
    else:
        turns.close_without_answer(tx, turn, "nack", "[it failed]", NOW)


def retry(tx: Tx, session_id: str) -> None:
    turn_id = turns.newest_closed(tx, session_id, "1")
    turns.take_back(tx, turn_id, lambda done: f"[taken back: {done}]", NOW)


def summarise(tx: Tx, session_id: str, share: float) -> None:
    found = sessions.reach_of_summary(tx, session_id)
    ids = [entry.id for entry in sessions.covered_by_summary(tx, found, 1_000)]
    if ids:
        upto = ids[int(share * (len(ids) - 1))]
        draft = Draft(session_id, upto, 1, "in short", 3)
        sessions.add_summary(tx, session_id, draft, NOW, behind=found.newest_id)


def undo(tx: Tx, session_id: str) -> None:
    if newest := sessions.reach_of_summary(tx, session_id).newest_id:
        sessions.undo_summary(tx, newest, NOW)


def rotate(tx: Tx, session_id: str) -> None:
    """`/compact`, undone at once: the session goes on behind another one's messages."""
    other = sessions.create(tx, ADA, "notes", NOW)
    take_turn(tx, other, "elsewhere")
    [first] = [entry.id for entry in turns.entries(tx, other, 1)]
    draft = Draft(other, first, 1, "from there", 3)
    seed = sessions.add_summary(
        tx, session_id, draft, NOW, behind=sessions.reach_of_summary(tx, session_id).newest_id
    )
    sessions.undo_summary(tx, seed, NOW)


def hide_one(tx: Tx, session_id: str, share: float) -> None:
    """What nobody of ours does: any one turn disappears, as another program might have it."""
    found = turns.entries(tx, session_id, 1_000)
    if found:
        turns.hide(tx, found[int(share * (len(found) - 1))].turn_id)


def swap(tx: Tx, session_id: str) -> None:
    """Nor this: one row comes to light and another one goes."""
    tx.run(
        "UPDATE messages SET visible = 1 - visible WHERE id IN (SELECT max(id) FROM messages "
        "WHERE session_id = ? GROUP BY visible)",
        session_id,
    )


def prune(tx: Tx, session_id: str, share: float) -> None:
    """Retention."""
    found = turns.entries(tx, session_id, 1_000)
    if found:
        tx.run(
            "DELETE FROM messages WHERE session_id = ? AND id <= ?",
            session_id,
            found[int(share * (len(found) - 1))].id,
        )


Deed: TypeAlias = Callable[[Tx, str], None]


@st.composite
def deeds(draw: st.DrawFn) -> Deed:
    said, answer = draw(st.sampled_from(["hi", "there"])), draw(st.sampled_from(["ok", "ok", ""]))
    turn = partial(take_turn, said=said, calls=draw(st.integers(0, 2)), answer=answer)
    share = draw(st.floats(0, 1))
    some: list[Deed] = [
        turn,
        turn,
        retry,
        undo,
        partial(summarise, share=share),
        partial(hide_one, share=share),
        partial(prune, share=share),
        swap,
        rotate,
    ]
    return draw(st.sampled_from(some))


@given(
    st.lists(st.tuples(st.integers(0, 1), deeds(), st.booleans()), max_size=30),
    st.lists(st.sampled_from([1, 3, 4, 7, 100]), min_size=1, max_size=3),
    st.sampled_from([(64, 10_000), (1, 10_000), (64, 20)]),
)
def test_whatever_happened_a_turn_reads_what_the_table_says(
    done: Sequence[tuple[int, Deed, bool]], limits: Sequence[int], bounds: tuple[int, int]
) -> None:
    pasts = Pasts(sessions_max=bounds[0], chars_max=bounds[1])
    with table() as tx:
        both = [sessions.create(tx, ADA, "notes", NOW) for _ in range(2)]
        for number, (which, deed, looks) in enumerate(done):
            deed(tx, both[which])
            limit = limits[number * len(limits) // len(done)]
            if looks:
                assert known(tx, pasts, both[which], limit) == fresh(tx, both[which], limit)
        for session_id in both:
            assert known(tx, pasts, session_id, limits[-1]) == fresh(tx, session_id, limits[-1])


def test_a_turn_reads_only_what_is_new_and_the_rest_are_the_same_objects() -> None:
    pasts = Pasts()
    with table() as tx:
        session = sessions.create(tx, ADA, "notes", NOW)
        for number in range(4):
            take_turn(tx, session, f"said {number}", calls=1)
        before = pasts.read(tx, session, 20).messages
        take_turn(tx, session, "and then")
        after = pasts.read(tx, session, 20).messages

    assert [entry.text for entry in after[-2:]] == ["and then", "ok"]
    assert [id(entry) for entry in after[:-2]] == [id(entry) for entry in before]


@pytest.mark.parametrize("cache", [True, False])
def test_where_a_long_history_begins_moves_in_blocks_and_stays_in_between(cache: bool) -> None:
    """Also in a process that has just started. A block of 20 messages is 40 % of 50."""
    kept = Pasts()
    seen: list[tuple[str, int, int]] = []
    with table() as tx:
        session = sessions.create(tx, ADA, "notes", NOW)
        for number in range(60):
            take_turn(tx, session, f"said {number}")
            past = (kept if cache else Pasts()).read(tx, session, 50)
            seen.append((past.messages[0].text, past.rows, past.left_out))

    assert seen[24] == ("said 0", 50, 0)
    assert seen[25] == ("said 10", 32, 20)
    assert seen[34] == ("said 10", 50, 20)
    assert seen[35] == ("said 20", 32, 40)
    assert len({first for first, _, _ in seen}) == 5
    assert all(rows <= 50 for _, rows, _ in seen)


@given(st.integers(0, 5_000), st.integers(1, 300))
def test_what_stays_is_never_too_much_and_never_nothing(rows: int, limit: int) -> None:
    stays = rows - _left_out(rows, limit)

    assert stays <= limit
    assert stays >= min(rows, int(limit * _STAY_SHARE))
    assert _left_out(rows, limit) <= _left_out(rows + 1, limit)


@pytest.mark.parametrize("deed", [retry, undo, partial(prune, share=0.9), swap, rotate])
def test_what_was_visible_and_is_not_any_more_is_not_read(deed: Deed) -> None:
    """/retry, a summary undone, retention, another program, a /compact undone."""
    pasts = Pasts()
    with table() as tx:
        session = sessions.create(tx, ADA, "notes", NOW)
        for number in range(4):
            take_turn(tx, session, f"said {number}", calls=number % 2)
        if deed is undo:
            summarise(tx, session, 0.3)
        before = pasts.read(tx, session, 100)
        deed(tx, session)

        assert known(tx, pasts, session, 100) == fresh(tx, session, 100)
        assert pasts.read(tx, session, 100) != before
