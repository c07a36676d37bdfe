"""Searches the full text of one conversation with one pack.

Each search first indexes what a session gained since the last one, so that turns pay nothing for
it. Languages without spaces are indexed character by character and searched for as phrases; in all
others the beginning of a word matches.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from aouo.store import sessions
from aouo.store.database import Tx
from aouo.store.snapshots import Query

BATCH = 500
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


def catch_up(tx: Tx, session_key: str) -> bool:
    """Index up to `BATCH` messages of the sessions with this key; True = there may be more."""
    rows = tx.all(
        "SELECT m.id, m.session_id, m.text FROM sessions AS s JOIN messages AS m "
        "ON m.session_id = s.id WHERE s.session_key = ? AND m.visible = 1 "
        "AND m.id > s.indexed_upto AND m.role IN ('user', 'assistant') AND m.text <> '' "
        "ORDER BY m.id LIMIT ?",
        session_key,
        BATCH,
    )
    upto: dict[str, int] = {}
    for row in rows:
        tx.run("DELETE FROM messages_index WHERE rowid = ?", row["id"])
        tx.run(
            "INSERT INTO messages_index (rowid, words) VALUES (?, ?)",
            row["id"],
            _apart(row["text"]),
        )
        upto[row["session_id"]] = row["id"]
    for session_id, newest in upto.items():
        tx.run("UPDATE sessions SET indexed_upto = ? WHERE id = ?", newest, session_id)
    return len(rows) == BATCH


def wanted(session_key: str, query: str, limit: int) -> list[Query[list[Hit]]]:
    """Return the queries to ask in turn until one finds something: for the best matches of all
    words of `query`, then of any of them."""
    words = [_term(word) for word in _WORD.findall(query)]
    joins = (" AND ", " OR ")[: min(len(words), 2)]
    return [_matches(session_key, join.join(words), query, limit) for join in joins]


def _matches(session_key: str, expression: str, query: str, limit: int) -> Query[list[Hit]]:
    return Query(
        "SELECT h.session_id, h.role, h.text, h.created_at, " + sessions.TITLE + " "
        "FROM messages_index AS i JOIN messages AS h ON h.id = i.rowid "
        "JOIN sessions AS s ON s.id = h.session_id "
        "WHERE messages_index MATCH ? AND s.session_key = ? AND h.visible = 1 "
        "ORDER BY i.rank, h.id DESC LIMIT ?",
        (expression, session_key, limit),
        lambda rows: [
            Hit(
                row["session_id"],
                row["title"],
                row["created_at"],
                row["role"],
                row["text"],
                _snippet(row["text"], query),
            )
            for row in rows
        ],
    )


def _apart(text: str) -> str:
    return _UNSPACED.sub(r" \g<0> ", text)


def _term(word: str) -> str:
    """One word as a term of FTS5's language; nothing in a word can end the quotation marks."""
    return f'"{_apart(word)}"' if _UNSPACED.search(word) else f'"{word}"*'


def _snippet(text: str, query: str) -> str:
    """The words around the first match, on one line."""
    flat = " ".join(text.split())
    low = flat.casefold()
    places = [low.find(word.casefold()) for word in _WORD.findall(query)]
    first = min((place for place in places if place >= 0), default=0)
    begin = max(0, min(first - _SNIPPET_CHARS // 3, len(flat) - _SNIPPET_CHARS))
    cut = flat[begin : begin + _SNIPPET_CHARS]
    return f"{'…' if begin else ''}{cut}{'…' if begin + _SNIPPET_CHARS < len(flat) else ''}"
