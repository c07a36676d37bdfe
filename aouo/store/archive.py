"""Reads sessions and their messages for the owner, who looks from outside the bot's process."""

from __future__ import annotations

import json
import sqlite3
from dataclasses import dataclass
from typing import Any, LiteralString, cast

from aouo.facts.transcript import ToolCall, load_calls
from aouo.store import sessions as store_sessions
from aouo.store.database import Tx
from aouo.store.rows import made

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
    "SELECT s.id, s.session_key, s.created_at, s.updated_at, " + store_sessions.TITLE + ", "
    "(SELECT count(*) FROM messages AS m WHERE m.session_id = s.id AND m.visible = 1) AS messages "
    "FROM sessions AS s "
)


def sessions(tx: Tx, limit: int, pack: str = "", *, runs: bool = False) -> list[Session]:
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


def session(tx: Tx, wanted: str) -> Session | None:
    """The session with this id, or with an id that ends with this token."""
    row = tx.one(
        _SESSION + "WHERE s.id = ? OR substr(s.id, -length(?)) = ? ORDER BY s.id = ? DESC LIMIT 1",
        wanted,
        f"/{wanted}",
        f"/{wanted}",
        wanted,
    )
    return _session(row) if row else None


def entries(tx: Tx, session_id: str) -> list[Entry]:
    """Return the session's visible messages, oldest first."""
    rows = tx.all(
        "SELECT * FROM messages WHERE session_id = ? AND visible = 1 ORDER BY id", session_id
    )
    return [
        made(
            Entry,
            row,
            calls=load_calls(row["calls"]) if row["calls"] else (),
            thoughts=tuple(cast("list[dict[str, Any]]", json.loads(row["thoughts"] or "[]"))),
        )
        for row in rows
    ]


def _session(row: sqlite3.Row) -> Session:
    conversation, _, pack = row["session_key"].partition(_PACK)
    title = " ".join(row["title"].split())
    return made(Session, row, title=title, conversation=conversation, pack=pack)
