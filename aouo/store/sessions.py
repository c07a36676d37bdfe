"""Stores sessions, finds that of a turn, and keeps the summaries of older messages.

The newest summary that is not undone stands for all messages up to the one it names. A session
that continues another one begins with a summary of that one's messages. The other's messages after
it, up to where it was left, come before the session's own; once it is undone, all of them do.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import LiteralString

from aouo.facts.address import ConversationAddress
from aouo.facts.events import ChatKind
from aouo.facts.ids import SessionId, SessionKind
from aouo.facts.records import NEWEST, Draft, HistoryEntry, Reach, Stretch, Summary
from aouo.facts.work import Route
from aouo.store import routes, turns
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query


@dataclass(frozen=True, slots=True)
class Resolved:
    """A turn's session; `stale_key` is the key of a wrong one that the route named, "" = none.

    `sources` is whose words, besides people's own, it has read.
    """

    id: str
    key: str
    stale_key: str = ""
    sources: tuple[str, ...] = ()


def create(tx: Tx, address: ConversationAddress, pack: str, now: str) -> str:
    """Create an empty session of this conversation with this pack; return its id."""
    key = address.session_key(pack)
    session_id = str(SessionId.new("chat", str(address)))
    return _add(tx, session_id, key, now)


def create_isolated(
    tx: Tx, kind: SessionKind, address: ConversationAddress, now: str, *, wanted: str = ""
) -> str:
    """Create the session of one turn, which no route keeps; its key is its id, `wanted` or any."""
    session_id = wanted or str(SessionId.new(kind, str(address)))
    return _add(tx, session_id, session_id, now)


def _add(tx: Tx, session_id: str, key: str, now: str) -> str:
    """Store an empty session; return its id."""
    tx.put("sessions", {"id": session_id, "session_key": key, "created_at": now, "updated_at": now})
    return session_id


def _of_pack(tx: Tx, route: Route, address: ConversationAddress, pack: str, now: str) -> str:
    """Return the session of this conversation with a pack: the route's, if it is bound to the pack,
    else the newest; a new one if there is none."""
    if route.active_pack == pack:
        return resolve(tx, route, address, pack, now).id
    newest = _newest(tx, address.session_key(pack))
    return newest or create(tx, address, pack, now)


def of_result(
    tx: Tx, address: ConversationAddress, chat_kind: ChatKind, pack: str, now: str
) -> str:
    """Return the session that a result belongs to in a conversation: its pack's, or of the pack at
    hand if no pack brings it, for that is who is asked about it."""
    route = routes.get_or_create(tx, address, chat_kind, now)
    return _of_pack(tx, route, address, pack or route.active_pack, now)


def _newest(tx: Tx, key: str) -> str:
    return tx.text(
        "SELECT id FROM sessions WHERE session_key = ? "
        "ORDER BY created_at DESC, rowid DESC LIMIT 1",
        key,
    )


def any_with(tx: Tx, address: ConversationAddress, kind: ChatKind, pack: str) -> bool:
    """Whether there was ever one with a pack here, or in any topic of this private chat."""
    if kind != "private":
        return bool(_newest(tx, address.session_key(pack)))
    chat = f"{address.platform}:{address.chat_id}:"
    return tx.finds(
        "SELECT 1 FROM sessions WHERE session_key BETWEEN ? AND ? AND session_key LIKE ? LIMIT 1",
        chat,
        f"{chat}\U0010ffff",
        f"%:pack:{pack}",
    )


def elsewhere(
    tx: Tx, here: ConversationAddress, person: str, pack: str
) -> tuple[ConversationAddress, str] | None:
    """Return a group or topic where somebody used a pack, and the topic's title."""
    for address, title in routes.shared(tx, here.platform):
        if tx.finds(
            "SELECT 1 FROM sessions AS s JOIN turns AS t ON t.session_id = s.id "
            "JOIN jobs AS j ON j.id = t.job_id WHERE s.session_key = ? AND j.person = ? LIMIT 1",
            address.session_key(pack),
            person,
        ):
            return address, title
    return None


def resolve(tx: Tx, route: Route, address: ConversationAddress, pack: str, now: str) -> Resolved:
    """Return the turn's session; its key is always the one derived from address and pack.

    A pointer to a session with another key is stale: the newest session with the right key
    takes its place, else a new one, and the route is repaired in the same transaction.
    """
    key = address.session_key(pack)
    known = named(tx, route.session_id)
    if known.key == key:
        return known
    session_id = _newest(tx, key) or create(tx, address, pack, now)
    routes.set_session(tx, route, session_id, now)
    return replace(named(tx, session_id), stale_key=known.key)


def named(tx: Tx, session_id: str) -> Resolved:
    """Return the session with this id; one that is not there has no key."""
    row = tx.one("SELECT session_key, sources FROM sessions WHERE id = ?", session_id)
    if row is None:
        return Resolved(session_id, "")
    return Resolved(session_id, row["session_key"], sources=tuple(row["sources"].splitlines()))


def sources_of(session_id: str) -> Query[tuple[str, ...]]:
    """Whose words a session has read, besides people's own."""
    return Query(
        "SELECT sources FROM sessions WHERE id = ?",
        (session_id,),
        lambda rows: tuple(rows[0]["sources"].splitlines()) if rows else (),
    )


def label(tx: Tx, session_id: str, sources: Sequence[str]) -> None:
    """Store whose words a session has read, from now until it ends."""
    tx.run(
        "UPDATE sessions SET sources = ? WHERE id = ?",
        "\n".join(" ".join(one.split()) for one in sources),
        session_id,
    )


def read(tx: Tx, session: Resolved, sources: Sequence[str]) -> Resolved:
    """Note that a session reads the words of these, too; return it as it is then."""
    found = tuple(dict.fromkeys((*session.sources, *sources)))
    if found != session.sources:
        label(tx, session.id, found)
    return replace(session, sources=found)


def of_turn(tx: Tx, turn_id: str) -> Resolved:
    """Return the session of a turn; one that is not there has no key."""
    return named(tx, tx.text("SELECT session_id FROM turns WHERE id = ?", turn_id))


def words_of(tx: Tx, session_id: str, person: str) -> list[str]:
    """Return the messages that somebody wrote in a session, as the model has read them."""
    rows = tx.all(
        "SELECT m.text FROM messages AS m JOIN turns AS t ON t.id = m.turn_id "
        "JOIN jobs AS j ON j.id = t.job_id "
        "WHERE m.session_id = ? AND m.role = 'user' AND j.person = ?",
        session_id,
        person,
    )
    return [row["text"] for row in rows]


def touch(tx: Tx, session_id: str, now: str) -> None:
    tx.run("UPDATE sessions SET updated_at = ? WHERE id = ?", now, session_id)


def pin_skill(tx: Tx, session_id: str, skill: str) -> None:
    """Remember the session's active skill; `skill` is qualified."""
    tx.run("UPDATE sessions SET active_skill = ? WHERE id = ?", skill, session_id)


def active_skill(tx: Tx, session_id: str) -> str:
    return tx.text("SELECT active_skill FROM sessions WHERE id = ?", session_id)


TITLE: LiteralString = (
    "coalesce(nullif(s.title, ''), (SELECT trim(substr(m.text, 1, min(60, "
    "coalesce(nullif(instr(m.text, '<untrusted'), 0) - 1, 60))), char(10)) FROM messages AS m "
    "WHERE m.session_id = s.id AND m.visible = 1 AND m.role = 'user' ORDER BY m.id LIMIT 1), '') "
    "AS title"
)
"""SQL of a session's title, `s` being the session; without one, a person's first words, up to any
untrusted text."""


def recent(key: str, limit: int) -> Query[list[tuple[str, str, str]]]:
    """The newest sessions with this key that hold anything: (id, title, time of the last change);
    titles fall back to the first words."""
    return Query(
        "SELECT s.id, s.updated_at, " + TITLE + " FROM sessions AS s WHERE s.session_key = ? "
        "AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id AND m.visible = 1) "
        "ORDER BY s.updated_at DESC, s.rowid DESC LIMIT ?",
        (key, limit),
        lambda rows: [(row["id"], row["title"], row["updated_at"]) for row in rows],
    )


def any_with_words(tx: Tx, key: str) -> bool:
    """Whether something was said in a session with this key."""
    return tx.finds(
        "SELECT 1 FROM sessions AS s WHERE s.session_key = ? AND EXISTS (SELECT 1 FROM messages "
        "AS m WHERE m.session_id = s.id AND m.visible = 1) LIMIT 1",
        key,
    )


def ending_with(tx: Tx, key: str, token: str) -> tuple[str, str]:
    """(id, title) of the session with this key whose id ends with this token, ("", "") = none."""
    row = tx.one(
        "SELECT s.id, " + TITLE + " FROM sessions AS s WHERE s.session_key = ? "
        "AND substr(s.id, -length(?)) = ? ORDER BY s.created_at DESC LIMIT 1",
        key,
        f"/{token}",
        f"/{token}",
    )
    return (row["id"], row["title"]) if row else ("", "")


def key_of(tx: Tx, session_id: str) -> str:
    return tx.text("SELECT session_key FROM sessions WHERE id = ?", session_id)


_TITLE_AFTER_MESSAGES = 6
_TITLE_TRIES = 3


@dataclass(frozen=True, slots=True)
class Wanting:
    """A session that wants a title; the person and the pack of its newest turn pay for it."""

    session_id: str
    pack: str
    person: str
    turn_id: str


def want_title(tx: Tx, session_id: str) -> None:
    """Ask for a title once a session is long enough, unless it has one or its tries are used up."""
    tx.run(
        "UPDATE sessions SET titling = 'wanted' WHERE id = ? AND titling = '' AND title = '' "
        "AND title_tries < ? AND (SELECT count(*) FROM (SELECT 1 FROM messages "
        "WHERE session_id = ? AND visible = 1 AND role <> 'tool' AND text <> '' LIMIT ?)) >= ?",
        session_id,
        _TITLE_TRIES,
        session_id,
        _TITLE_AFTER_MESSAGES,
        _TITLE_AFTER_MESSAGES,
    )


def wanting_titles(tx: Tx) -> list[Wanting]:
    rows = tx.all(
        "SELECT s.id, t.id AS turn_id, t.pack, j.person FROM sessions AS s "
        "JOIN turns AS t ON t.id = (SELECT id FROM turns WHERE session_id = s.id "
        "ORDER BY id DESC LIMIT 1) JOIN jobs AS j ON j.id = t.job_id WHERE s.titling = 'wanted' "
        "AND s.title_tries < ?",
        _TITLE_TRIES,
    )
    return [Wanting(row["id"], row["pack"], row["person"], row["turn_id"]) for row in rows]


def try_title(tx: Tx, session_id: str) -> None:
    """Count a try before it is made, so that a try that crashes the process is counted too."""
    tx.run("UPDATE sessions SET title_tries = title_tries + 1 WHERE id = ?", session_id)


def settle_title(tx: Tx, session_id: str, title: str) -> None:
    """End a try: with a title, or with "" until a later turn asks again."""
    tx.run(
        "UPDATE sessions SET title = CASE WHEN title = '' THEN ? ELSE title END, "
        "titling = CASE WHEN ? <> '' THEN 'done' ELSE '' END WHERE id = ?",
        title,
        title,
        session_id,
    )


def reach_of_summary(tx: Tx, session_id: str, until: int = NEWEST) -> Reach:
    """Return the summary that stands, and the stretches of messages that it does not stand for.

    It takes one indexed look-up for a session that was never summarised.
    """
    found = [_summary(row) for row in _rows(tx, session_id) if row["upto_message_id"] <= until]
    newest_id = found[-1].id if found else 0
    undone = bool(found) and found[-1].undone
    standing = next((item for item in reversed(found) if not item.undone), None)
    own = Stretch(session_id, standing.upto_message_id if standing else 0, until)
    seed = next((item for item in found if item.source_session_id != session_id), None)
    covered_id = standing.upto_message_id if standing else 0
    if seed is None or covered_id >= seed.through_message_id:
        return Reach(standing, (own,), newest_id, undone)
    before = reach_of_summary(tx, seed.source_session_id, seed.through_message_id)
    # Ids grow over all sessions: a summary of this one may end inside the other's messages.
    kept = [
        replace(part, after=max(part.after, covered_id))
        for part in before.stretches
        if covered_id < part.until
    ]
    return Reach(standing or before.summary, (*kept, own), newest_id, undone)


def covered_by_summary(tx: Tx, found: Reach, limit: int) -> list[HistoryEntry]:
    """The newest `limit` entries of these stretches with their row ids, oldest first."""
    entries: list[HistoryEntry] = []
    for part in reversed(found.stretches):
        left = limit - len(entries)
        if left > 0:
            newer = turns.entries(tx, part.session_id, left, after=part.after, until=part.until)
            entries = [*newer, *entries]
    return entries


def add_summary(tx: Tx, session_id: str, draft: Draft, now: str, *, behind: int) -> int:
    """Store a summary and return its id; 0 = the session's newest one is not `behind` any more."""
    row = tx.one("SELECT max(id) AS id FROM summaries WHERE session_id = ?", session_id)
    if row and (row["id"] or 0) != behind:
        return 0
    return tx.insert(
        "summaries",
        {
            **columns(draft),
            "session_id": session_id,
            "through_message_id": max(draft.upto_message_id, draft.through_message_id),
            "created_at": now,
        },
    )


def get_summary(tx: Tx, summary_id: int) -> Summary | None:
    return tx.first(_summary, "SELECT * FROM summaries WHERE id = ?", summary_id)


def undo_summary(tx: Tx, summary_id: int, now: str) -> bool:
    """Undo a summary, so that its messages are read again; False = it was undone already."""
    return tx.changes(
        "UPDATE summaries SET undone_at = ? WHERE id = ? AND undone_at = ''", now, summary_id
    )


def flushed_summary(tx: Tx, summary_id: int, now: str) -> None:
    """Mark a summary's facts as flushed: memory has taken or refused them."""
    tx.run("UPDATE summaries SET flushed_at = ? WHERE id = ?", now, summary_id)


def _rows(tx: Tx, session_id: str) -> list[sqlite3.Row]:
    return list(tx.all("SELECT * FROM summaries WHERE session_id = ? ORDER BY id", session_id))


def _summary(row: sqlite3.Row) -> Summary:
    flushed, undone = bool(row["flushed_at"]), bool(row["undone_at"])
    return made(Summary, row, flushed=flushed, undone=undone)
