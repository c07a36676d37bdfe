"""Searches what was said in a conversation, and reads sessions for the owner.

The index is written after turns, never by one (`flow.chores.indexing`); a search for every last
word first adds what is missing. Each conversation with a pack has an area of the index, a range of
row ids, and nobody reads another's. Languages without spaces are indexed character by character
and searched for as phrases; in all others the beginning of a word matches.
"""

from __future__ import annotations

import json
import re
import sqlite3
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, LiteralString, cast

from aouo.facts.letters import folded
from aouo.facts.records import Stretch
from aouo.facts.transcript import ToolCall, load_calls
from aouo.plumbing.web.envelope import said_by, source_in
from aouo.store import sessions
from aouo.store.database import Tx
from aouo.store.rows import made
from aouo.store.snapshots import Query

_BATCH = 100
"""Messages indexed in one transaction: some five milliseconds, which a commit may wait for."""
NEWEST_OF_WORD = 150
"""So many messages with one word are looked at; what is said more often says little."""
STEM_CHARS = 6
"""Longer words are looked for by their beginning; the index has one of beginnings this long."""
_AREA_BITS = 40
_PURGED_PAGES = 50
_READ_CHARS = 20_000
_SNIPPET_CHARS = 240
# Thai, Lao, Myanmar, Khmer, kana, Han, Hangul
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u30ff\u3400-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]"
)
_WORD = re.compile(r"\w+")


@dataclass(frozen=True, slots=True)
class Hit:
    """One message that matched; `text` is all of it, `snippet` the words around the first match."""

    session_id: str
    title: str
    at: str
    role: str
    text: str
    snippet: str
    sources: str = ""
    """Whose words, besides people's own, its session has read."""

    def quoted(self, *, shared: bool = False) -> str:
        """The snippet, between marks if it holds others' words, is an answer to such words, or was
        said where several people talk (`shared`)."""
        source = source_in(self.text)
        if not source and self.role == "assistant":
            source = ", ".join(self.sources.splitlines())
        return said_by(source or ("this group" if shared else ""), self.snippet)

    @property
    def named(self) -> str:
        """Its session's title, between marks if others' words were read there."""
        return said_by(", ".join(self.sources.splitlines()), f"“{self.title}”")


def is_unspaced(text: str) -> bool:
    """Whether there is a character of a script that puts no spaces between words."""
    return bool(_UNSPACED.search(text))


def catch_up(tx: Tx, session_key: str) -> bool:
    """Index up to `BATCH` messages of the sessions with this key; True = there may be more."""
    left = _BATCH
    behind = tx.all(
        "SELECT s.id, s.indexed_upto, s.search_area FROM sessions AS s WHERE s.session_key = ? "
        "AND EXISTS (SELECT 1 FROM messages AS m WHERE m.session_id = s.id AND m.visible = 1 "
        "AND m.id > s.indexed_upto)",
        session_key,
    )
    for session in behind:
        if not left:
            break
        area = session["search_area"] or _area_for(tx, session_key)
        left -= _index(tx, session["id"], session["indexed_upto"], area, left)
    return not left


def _index(tx: Tx, session_id: str, after: int, area: int, limit: int) -> int:
    """Index up to `limit` messages of one session; return how many were looked at."""
    rows = tx.all(
        "SELECT id, role, text FROM messages WHERE session_id = ? AND visible = 1 AND id > ? "
        "ORDER BY id LIMIT ?",
        session_id,
        after,
        limit,
    )
    for row in rows:
        if row["role"] != "tool" and row["text"]:
            tx.run(
                "INSERT INTO messages_index (rowid, words) VALUES (?, ?)",
                _rowid(area, row["id"]),
                _apart(row["text"]),
            )
    if rows:
        tx.run(
            "UPDATE sessions SET indexed_upto = ?, search_area = ? WHERE id = ?",
            rows[-1]["id"],
            area,
            session_id,
        )
    return len(rows)


def purge(tx: Tx, *, begins: bool) -> bool:
    """Take words of deleted messages out of the index's pages, some pages at a time; True = there
    are more. Until then they stand there, marked as deleted. The first call `begins`."""
    before = tx.one("SELECT total_changes() AS n")
    # "If N is negative" (sqlite.org/fts5.html#the_merge_command): all segments, to the end.
    tx.run(
        "INSERT INTO messages_index (messages_index, rank) VALUES ('merge', ?)",
        -_PURGED_PAGES if begins else _PURGED_PAGES,
    )
    after = tx.one("SELECT total_changes() AS n")
    return bool(before and after and after["n"] - before["n"] > 1)


def _areas(tx: Tx, session_key: str) -> list[int]:
    """The areas of the sessions with this key: one, or more where a chat became another one."""
    rows = tx.all(
        "SELECT DISTINCT search_area FROM sessions WHERE session_key = ? AND search_area > 0",
        session_key,
    )
    return [row["search_area"] for row in rows]


def _area_for(tx: Tx, session_key: str) -> int:
    if areas := _areas(tx, session_key):
        return areas[0]
    row = tx.one("SELECT coalesce(max(search_area), 0) + 1 AS free FROM sessions")
    return row["free"] if row else 1


def _rowid(area: int, message_id: int) -> int:
    return (area << _AREA_BITS) + message_id


def holding(tx: Tx, session_key: str, terms: Sequence[str]) -> list[list[int]]:
    """Return for each term the ids of the newest messages that hold it, newest first.

    They may be hidden by now. It reads at most `NEWEST_OF_WORD` entries of the index a term.
    """
    areas = _areas(tx, session_key)
    return [[found for area in areas for found in _holding(tx, area, term)] for term in terms]


def _holding(tx: Tx, area: int, term: str) -> list[int]:
    first = _rowid(area, 0)
    rows = tx.all(
        "SELECT rowid FROM messages_index WHERE messages_index MATCH ? AND rowid >= ? "
        "AND rowid < ? ORDER BY rowid DESC LIMIT ?",
        _stem_term(term),
        first,
        _rowid(area + 1, 0),
        NEWEST_OF_WORD,
    )
    return [row[0] - first for row in rows]


def is_more(tx: Tx, session_key: str, stretch: Stretch) -> bool:
    """Whether sessions with this key have visible messages besides those of one stretch, which
    ends at the newest of its session."""
    found = tx.one(
        "SELECT EXISTS (SELECT 1 FROM messages WHERE session_id = ? AND visible = 1 AND id <= ?) "
        "OR EXISTS (SELECT 1 FROM sessions AS s WHERE s.session_key = ? AND s.id <> ? AND EXISTS "
        "(SELECT 1 FROM messages AS m WHERE m.session_id = s.id AND m.visible = 1)) AS more",
        stretch.session_id,
        stretch.after,
        session_key,
        stretch.session_id,
    )
    return bool(found and found["more"])


def ids_in(tx: Tx, stretches: Sequence[Stretch]) -> set[int]:
    """Return the ids of the visible messages of these stretches."""
    return {
        row[0]
        for part in stretches
        for row in tx.all(
            "SELECT id FROM messages WHERE session_id = ? AND visible = 1 AND id > ? AND id <= ?",
            part.session_id,
            part.after,
            part.until,
        )
    }


def candidates(tx: Tx, session_key: str, ids: Collection[int]) -> list[tuple[int, str, int]]:
    """Return those of the messages that are visible, in sessions with this key: the id, when it
    was said, how many characters it has."""
    rows = tx.all(
        "SELECT m.id, m.created_at, length(m.text) FROM messages AS m JOIN sessions AS s "
        "ON s.id = m.session_id WHERE m.id IN (SELECT value FROM json_each(?)) "
        "AND m.visible = 1 AND s.session_key = ?",
        json.dumps(list(ids)),
        session_key,
    )
    return [(row[0], row[1], row[2]) for row in rows]


def hit(tx: Tx, message_id: int, terms: Sequence[str]) -> Hit | None:
    """Return a message with a snippet around these terms, None = it is gone.

    Of a very long one only the beginning is read.
    """
    row = tx.one(
        "SELECT h.session_id, h.role, substr(h.text, 1, ?) AS text, h.created_at AS at, "
        "s.sources, "
        + sessions.TITLE
        + " FROM messages AS h JOIN sessions AS s ON s.id = h.session_id WHERE h.id = ?",
        _READ_CHARS,
        message_id,
    )
    return _hit(row, " ".join(term[:STEM_CHARS] for term in terms)) if row else None


def wanted(session_key: str, query: str, limit: int) -> list[Query[list[Hit]]]:
    """Return the queries to ask in turn until one finds something: for the best matches of all
    words of `query`, then of any of them."""
    words = [_term(word) for word in _WORD.findall(query)]
    joins = (" AND ", " OR ")[: min(len(words), 2)]
    return [_matches(session_key, join.join(words), query, limit) for join in joins]


def _matches(session_key: str, expression: str, query: str, limit: int) -> Query[list[Hit]]:
    return Query(
        "SELECT h.session_id, h.role, h.text, h.created_at AS at, s.sources, "
        + sessions.TITLE
        + " "
        "FROM messages_index AS i JOIN messages AS h ON h.id = i.rowid & ((1 << 40) - 1) "
        "JOIN sessions AS s ON s.id = h.session_id "
        "WHERE messages_index MATCH ? AND s.session_key = ? AND h.visible = 1 AND i.rowid >= "
        "(SELECT min(search_area) FROM sessions WHERE session_key = ? AND search_area > 0) << 40 "
        "AND i.rowid < ((SELECT max(search_area) FROM sessions WHERE session_key = ?) + 1) << 40 "
        "ORDER BY i.rank, h.id DESC LIMIT ?",
        (expression, session_key, session_key, session_key, limit),
        lambda rows: [_hit(row, query) for row in rows],
    )


def _hit(row: sqlite3.Row, query: str) -> Hit:
    return made(Hit, row, snippet=_snippet(row["text"], query))


def _apart(text: str) -> str:
    return _UNSPACED.sub(r" \g<0> ", folded(text))


def _term(word: str) -> str:
    """One word as a term of FTS5's language; nothing in a word can end the quotation marks."""
    return f'"{_apart(word)}"' if is_unspaced(word) else f'"{folded(word)}"*'


def _stem_term(word: str) -> str:
    """One word, or the beginning of a long one, as a term of FTS5's language."""
    if is_unspaced(word):
        return f'"{_apart(word)}"'
    word = folded(word)
    return f'"{word}"' if len(word) <= STEM_CHARS else f'"{word[:STEM_CHARS]}"*'


def _snippet(text: str, query: str) -> str:
    """The words around the first match, on one line."""
    flat = " ".join(text.split())
    low = folded(flat)
    places = [low.find(folded(word)) for word in _WORD.findall(query)]
    first = min((place for place in places if place >= 0), default=0)
    begin = max(0, min(first - _SNIPPET_CHARS // 3, len(flat) - _SNIPPET_CHARS))
    cut = flat[begin : begin + _SNIPPET_CHARS]
    return f"{'…' if begin else ''}{cut}{'…' if begin + _SNIPPET_CHARS < len(flat) else ''}"


_PACK = ":pack:"


@dataclass(frozen=True, slots=True)
class Session:
    """One stream of history. `conversation` and `pack` are the two halves of its key."""

    id: str
    title: str
    conversation: str
    pack: str
    created_at: str
    updated_at: str
    messages: int


@dataclass(frozen=True, slots=True)
class Entry:
    """One message: `calls` of an assistant, `tool` and `call_id` of a result."""

    id: int
    turn_id: str
    role: str
    text: str
    created_at: str
    calls: tuple[ToolCall, ...]
    tool: str
    call_id: str
    failed: bool
    thoughts: tuple[dict[str, Any], ...]


_SESSION: LiteralString = (
    "SELECT s.id, s.session_key, s.created_at, s.updated_at, " + sessions.TITLE + ", "
    "(SELECT count(*) FROM messages AS m WHERE m.session_id = s.id AND m.visible = 1) AS messages "
    "FROM sessions AS s "
)


def stored_sessions(tx: Tx, limit: int, pack: str = "", *, runs: bool = False) -> list[Session]:
    """The newest sessions, of one pack or of all; with `runs` those of one turn alone, too."""
    ending = _PACK + pack if pack else ""
    rows = tx.all(
        _SESSION + "WHERE (? = '' OR substr(s.session_key, -length(?)) = ?) "
        "AND (? OR substr(s.id, 1, 5) = 'chat/') "
        "ORDER BY s.updated_at DESC, s.rowid DESC LIMIT ?",
        ending,
        ending,
        ending,
        runs,
        limit,
    )
    return [_session(row) for row in rows]


def stored_session(tx: Tx, wanted: str) -> Session | None:
    """The session with this id, or with an id that ends with this token."""
    row = tx.one(
        _SESSION + "WHERE s.id = ? OR substr(s.id, -length(?)) = ? ORDER BY s.id = ? DESC LIMIT 1",
        wanted,
        f"/{wanted}",
        f"/{wanted}",
        wanted,
    )
    return _session(row) if row else None


def stored_entries(tx: Tx, session_id: str) -> list[Entry]:
    """Return the session's visible messages, oldest first."""
    return [
        made(
            Entry,
            row,
            calls=load_calls(row["calls"]) if row["calls"] else (),
            thoughts=tuple(cast("list[dict[str, Any]]", json.loads(row["thoughts"] or "[]"))),
        )
        for row in tx.all(
            "SELECT * FROM messages WHERE session_id = ? AND visible = 1 ORDER BY id", session_id
        )
    ]


def _session(row: sqlite3.Row) -> Session:
    conversation, _, pack = row["session_key"].partition(_PACK)
    title = " ".join(row["title"].split())
    return made(Session, row, title=title, conversation=conversation, pack=pack)
