"""Stores what a conversation is bound to: its pack, skill, session, topic, first conversation."""

from __future__ import annotations

import sqlite3
from dataclasses import replace
from typing import Literal, LiteralString, cast

from aouo.facts.address import ConversationAddress, Platform
from aouo.facts.events import ChatKind
from aouo.facts.work import Route
from aouo.store.database import Tx
from aouo.store.rows import columns, made


def get_or_create(tx: Tx, address: ConversationAddress, chat_kind: str, now: str) -> Route:
    """The conversation's route; a new one is bound to nothing."""
    if route := find(tx, address):
        return route
    tx.put("conversation_routes", {**columns(address), "chat_kind": chat_kind, "updated_at": now})
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


def shared(tx: Tx, platform: str) -> list[tuple[ConversationAddress, str]]:
    """Return the groups and topics there are, each with the topic's title, the newest first."""
    rows = tx.all(
        "SELECT * FROM conversation_routes WHERE platform = ? AND chat_kind <> 'private' "
        "ORDER BY id DESC",
        platform,
    )
    return [(_address(row), row["title"]) for row in rows]


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


def topics_of_pack(
    tx: Tx, chat: ConversationAddress, pack: str
) -> list[tuple[ConversationAddress, Route]]:
    """The topics that are bound to a pack, the newest first."""
    return _found(tx, chat, pack, "")


def topics_of_chat(tx: Tx, chat: ConversationAddress) -> list[tuple[str, str]]:
    """Return the topics of a chat that we have seen and that are not deleted: (id, title), where
    the title may be ""."""
    rows = tx.all(
        "SELECT thread_id, title FROM conversation_routes WHERE platform = ? AND chat_id = ? "
        "AND thread_id <> '' AND paused <> 'deleted' ORDER BY id",
        *chat.chat_columns,
    )
    return [(row["thread_id"], row["title"]) for row in rows]


def titled_topics(
    tx: Tx, chat: ConversationAddress, pack: str
) -> list[tuple[ConversationAddress, Route]]:
    """Return unbound topics named like a pack: the pack was installed after them."""
    return [
        (address, route)
        for address, route in _found(tx, chat, "", pack)
        if route.title.strip().casefold() == pack.casefold()
    ]


def intend_topic(tx: Tx, chat: ConversationAddress, pack: str, now: str) -> bool:
    """Note that a topic is about to be created; False = it was noted before, and whether the
    topic was created is not known."""
    return tx.changes(
        "INSERT OR IGNORE INTO topic_intents VALUES (?, ?, ?, ?)", *chat.chat_columns, pack, now
    )


def settle_topic(tx: Tx, chat: ConversationAddress, pack: str) -> None:
    """Delete the note of `intend`: the topic exists, or surely was not created."""
    tx.run(
        "DELETE FROM topic_intents WHERE platform = ? AND chat_id = ? AND pack = ?",
        *chat.chat_columns,
        pack,
    )


def forums_of_topics(tx: Tx, platform: str) -> frozenset[str]:
    """Return the groups that had topics when one of their routes was created."""
    rows = tx.all(
        "SELECT DISTINCT chat_id FROM conversation_routes WHERE platform = ? "
        "AND chat_kind = 'forum'",
        platform,
    )
    return frozenset(row["chat_id"] for row in rows)


def groups(tx: Tx, platform: str, *, all_talk: bool) -> list[str]:
    """Return the groups whose messages are for us: with a pack's topic, or all if `all_talk`."""
    rows = tx.all(
        "SELECT chat_id, max(thread_id <> '' AND active_pack <> '') AS packs "
        "FROM conversation_routes WHERE platform = ? AND chat_kind <> 'private' AND gone = '' "
        "GROUP BY chat_id ORDER BY max(id) DESC",
        platform,
    )
    return [row["chat_id"] for row in rows if all_talk or row["packs"]]


def _found(
    tx: Tx, chat: ConversationAddress, pack: str, title: str
) -> list[tuple[ConversationAddress, Route]]:
    rows = tx.all(
        "SELECT thread_id FROM conversation_routes WHERE platform = ? AND chat_id = ? "
        "AND user_id = ? AND thread_id <> '' AND active_pack = ? AND (? = '' OR title <> '') "
        "ORDER BY id DESC",
        *chat.chat_columns,
        chat.user_id,
        pack,
        title,
    )
    addresses = [replace(chat, thread_id=row["thread_id"]) for row in rows]
    found = ((address, find(tx, address)) for address in addresses)
    return [(address, route) for address, route in found if route]


ONBOARDING_SKILL = "onboarding"
"""The bare name of the skill that leads a first conversation."""
TURNS_MAX, SESSIONS_MAX = 10, 3
_Ended = Literal["done", "skipped", "given_up"]


def onboarding_step(tx: Tx, pack: str, tenant: str, session_id: str, now: str) -> bool:
    """Count a turn of the first conversation, and begin it if it is new; False = it is over.

    A turn above the limits gives it up.
    """
    fresh: dict[LiteralString, str] = {"pack": pack, "owner": tenant, "state": "open"}
    tx.put("onboarding", {**fresh, "began_at": now}, "ON CONFLICT DO NOTHING")
    counted = tx.run(
        "UPDATE onboarding SET turns = turns + 1, session_id = ?, "
        "sessions = sessions + (session_id <> ?) WHERE pack = ? AND owner = ? AND state = 'open' "
        "AND turns < ? AND sessions + (session_id <> ?) <= ?",
        session_id,
        session_id,
        pack,
        tenant,
        TURNS_MAX,
        session_id,
        SESSIONS_MAX,
    )
    if not counted:
        end_onboarding(tx, pack, tenant, "given_up", now)
    return counted == 1


def is_onboarding(tx: Tx, pack: str, tenant: str) -> bool:
    """Whether the first conversation has begun and not ended."""
    return _state(tx, pack, tenant) == "open"


def offer_onboarding(tx: Tx, pack: str, tenant: str) -> bool:
    """Return True once, while it is open: the button that skips it is to be shown now."""
    return tx.changes(
        "UPDATE onboarding SET offered = 1 WHERE pack = ? AND owner = ? AND state = 'open' "
        "AND offered = 0",
        pack,
        tenant,
    )


def end_onboarding(
    tx: Tx, pack: str, tenant: str, how: _Ended, now: str, summary: str = ""
) -> bool:
    """End the first conversation for good; False = it was over, or had never begun."""
    return tx.changes(
        "UPDATE onboarding SET state = ?, summary = ?, ended_at = ? "
        "WHERE pack = ? AND owner = ? AND state = 'open'",
        how,
        summary,
        now,
        pack,
        tenant,
    )


def forget_onboarding(tx: Tx, pack: str) -> int:
    """Let it happen once more, for all; return how many rows went."""
    return tx.run("DELETE FROM onboarding WHERE pack = ?", pack)


def _state(tx: Tx, pack: str, tenant: str) -> str:
    return tx.text("SELECT state FROM onboarding WHERE pack = ? AND owner = ?", pack, tenant)
