"""Stores routes: which pack, skill and session a conversation is bound to."""

from __future__ import annotations

import sqlite3
from typing import cast

from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.events import ChatKind
from aouo.facts.work import Route
from aouo.store.database import Tx
from aouo.store.rows import columns, made


def get_or_create(tx: Tx, address: ConversationAddress, chat_kind: str, now: str) -> Route:
    """The conversation's route; a new one is bound to nothing."""
    if route := find(tx, address):
        return route
    tx.put(
        "conversation_routes",
        {**columns(address), "chat_kind": chat_kind, "updated_at": now},
    )
    route = find(tx, address)
    assert route is not None
    return route


def find(tx: Tx, address: ConversationAddress) -> Route | None:
    row = tx.one(
        "SELECT * FROM conversation_routes WHERE platform = ? AND chat_id = ? AND thread_id = ? "
        "AND user_id = ?",
        *address.columns,
    )
    return _route(row) if row else None


def set_pack(tx: Tx, route: Route, pack: str, now: str, *, skill: str = "") -> bool:
    """Bind a pack; the session is cleared exactly when the pack changes.

    Compare-and-set on the version: False means that the route was changed meanwhile and the
    caller has to read and decide again. `skill` is qualified.
    """
    session_id = route.session_id if pack == route.active_pack else ""
    return _write(tx, route, pack, skill, session_id, now)


def set_session(tx: Tx, route: Route, session_id: str, now: str, *, afresh: bool = False) -> bool:
    """Point to a session, `afresh` without the skill that was active; False as in `set_pack`."""
    skill = "" if afresh else route.active_skill
    return _write(tx, route, route.active_pack, skill, session_id, now)


def _write(tx: Tx, route: Route, pack: str, skill: str, session_id: str, now: str) -> bool:
    return tx.changes(
        "UPDATE conversation_routes SET active_pack = ?, active_skill = ?, session_id = ?, "
        "version = version + 1, updated_at = ? WHERE id = ? AND version = ?",
        pack,
        skill,
        session_id,
        now,
        route.id,
        route.version,
    )


def set_title(tx: Tx, route: Route, title: str) -> None:
    """Note what a service message called the topic."""
    tx.run("UPDATE conversation_routes SET title = ? WHERE id = ?", title, route.id)


def set_paused(tx: Tx, address: ConversationAddress, paused: str, now: str) -> bool:
    """Note that a topic is `closed` or `deleted`, "" = neither; False when that was known."""
    return tx.changes(
        "UPDATE conversation_routes SET paused = ?, updated_at = ? WHERE platform = ? "
        "AND chat_id = ? AND thread_id = ? AND user_id = ? AND paused <> ?",
        paused,
        now,
        *address.columns,
        paused,
    )


def is_paused(tx: Tx, address: ConversationAddress) -> bool:
    """Whether nothing may begin here by itself: the topic is shut, or the chat is gone."""
    return bool(
        tx.one(
            "SELECT 1 FROM conversation_routes WHERE platform = ? AND chat_id = ? "
            "AND thread_id IN (?, '') AND user_id = ? "
            "AND (gone <> '' OR (paused <> '' AND thread_id = ?)) LIMIT 1",
            *address.columns,
            address.thread_id,
        )
    )


def bound_to(tx: Tx, pack: str) -> list[tuple[ConversationAddress, ChatKind]]:
    """Return the conversations that a pack is bound to and where something may begin by itself."""
    rows = tx.all(
        "SELECT * FROM conversation_routes WHERE active_pack = ? AND gone = '' AND paused = '' "
        "ORDER BY id",
        pack,
    )
    return [(_address(row), cast("ChatKind", row["chat_kind"])) for row in rows]


def heard_from(tx: Tx, address: ConversationAddress) -> None:
    """Clear `gone` and `paused`, since a person writes here; a failing send sets them again."""
    tx.run(
        "UPDATE conversation_routes SET gone = '', paused = '' WHERE platform = ? AND chat_id = ? "
        "AND thread_id IN (?, '') AND user_id = ? AND (gone <> '' OR paused <> '')",
        *address.columns,
    )


def found(tx: Tx, address: ConversationAddress) -> None:
    """Clear the pause `deleted`: something happened in this topic, so it exists."""
    tx.run(
        "UPDATE conversation_routes SET paused = '' WHERE platform = ? AND chat_id = ? "
        "AND thread_id = ? AND user_id = ? AND paused = 'deleted'",
        *address.columns,
    )


def _address(row: sqlite3.Row) -> ConversationAddress:
    return ConversationAddress(
        cast("Platform", row["platform"]), row["chat_id"], row["thread_id"], row["user_id"]
    )


def _route(row: sqlite3.Row) -> Route:
    return made(Route, row)
