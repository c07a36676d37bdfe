"""Tells who and where: known chats, people, tenants; moves the rows of a group."""

from __future__ import annotations

import re
from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.facts.events import ChatKind, Inbound
from aouo.facts.people import data_name, data_of
from aouo.store import deliveries, gone, kept_changes, kept_reports, memory_versions, schedules
from aouo.store.database import Tx
from aouo.store.snapshots import Query


def is_known(tx: Tx, address: ConversationAddress) -> bool:
    """Whether this chat has a route."""
    return tx.finds(
        "SELECT 1 FROM conversation_routes WHERE platform = ? AND chat_id = ? LIMIT 1",
        *address.chat_columns,
    )


def rename_chat(tx: Tx, platform: str, old: str, new: str) -> None:
    """Rewrite `old` to `new` in routes, open jobs, deliveries, gates, schedules and session keys.

    Where the new chat already has a route of its own, the old binding replaces it; but what the
    old chat gets after its first move is a straggler, and the new chat's binding stays. Of
    schedules that both have, see `schedules.move`.
    """
    if old == new:  # both chats are told, and the first of the two moved the other
        return
    gone.reopen(tx, platform, old)
    first = tx.changes("INSERT OR IGNORE INTO moved_chats VALUES (?, ?, ?)", platform, old, new)
    loser, winner = (new, old) if first else (old, new)
    _keep_one_route(tx, platform, loser, winner)
    tx.run(
        "UPDATE conversation_routes SET chat_id = ?, version = version + 1 "
        "WHERE platform = ? AND chat_id = ?",
        new,
        platform,
        old,
    )
    # The running job too: until it ends, nothing else begins in the new lane.
    tx.run(
        "UPDATE jobs SET lane = replace(lane, ?, ?) WHERE platform = ? AND chat_id = ? "
        "AND state IN ('gathering', 'ready', 'parked', 'running')",
        old,
        new,
        platform,
        old,
    )
    tx.run("UPDATE jobs SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    deliveries.move(tx, platform, old, new)
    tx.run("UPDATE gates SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old)
    schedules.move(tx, platform, old, new, winner=winner)
    kept_changes.move(tx, platform, old, new)
    kept_reports.move(tx, platform, old, new)
    # Messages have other ids in the new chat: nothing there is found by the old ones.
    tx.run("DELETE FROM job_messages WHERE platform = ? AND chat_id = ?", platform, old)
    tx.run("DELETE FROM reactions WHERE platform = ? AND chat_id = ?", platform, old)
    memory_versions.moved(tx, platform, old)
    prefix = f"{platform}:{old}"
    tx.run(
        "UPDATE sessions SET session_key = ? || substr(session_key, ?) "
        "WHERE session_key = ? OR session_key LIKE ? || ':%'",
        f"{platform}:{new}",
        len(prefix) + 1,
        prefix,
        prefix,
    )


def _keep_one_route(tx: Tx, platform: str, loser: str, winner: str) -> None:
    """Delete the routes of `loser` for places that `winner` has a route for, too."""
    tx.run(
        "DELETE FROM conversation_routes WHERE platform = ? AND chat_id = ? AND EXISTS "
        "(SELECT 1 FROM conversation_routes AS o WHERE o.platform = ? AND o.chat_id = ? "
        "AND o.thread_id = conversation_routes.thread_id "
        "AND o.user_id = conversation_routes.user_id)",
        platform,
        loser,
        platform,
        winner,
    )


_PEOPLE_MAX = 1_000
_LOOKED_THROUGH = 50_000
"""The newest jobs, among which names are looked for: some 30 ms."""

NAMES = Query(
    "SELECT person, CASE WHEN json_valid(body) THEN body ->> '$.person.name' END AS name "
    "FROM jobs WHERE id IN (SELECT max(id) FROM jobs "
    "WHERE id > (SELECT max(id) FROM jobs) - ? AND platform = 'tg' AND person <> '' "
    "AND body <> '' AND CASE WHEN json_valid(body) THEN body ->> '$.person.name' END <> '' "
    "GROUP BY person) ORDER BY id DESC LIMIT ?",
    (_LOOKED_THROUGH, _PEOPLE_MAX),
    lambda rows: {str(row["person"]): str(row["name"]) for row in rows if row["name"]},
)
"""Names by Telegram id, of those who wrote last."""
TOPICS = Query(
    "SELECT chat_id, thread_id, title FROM conversation_routes "
    "WHERE platform = 'tg' AND thread_id <> '' AND title <> '' ORDER BY id DESC LIMIT ?",
    (_PEOPLE_MAX,),
    lambda rows: {(row["chat_id"], row["thread_id"]): str(row["title"]) for row in rows},
)
"""Titles of topics by chat and topic."""


_NAME = re.compile(r"(tg|cli)_[A-Za-z0-9_-]+", re.ASCII)


def tenant_of(tx: Tx, inbound: Inbound, pack: str) -> str:
    """Return the tenant as a file name; a group that became a supergroup keeps its first one.

    A person is one tenant in all their private chats, unless they chose another for the pack.
    """
    return tenant_at(tx, inbound.address, inbound.chat_kind, inbound.person.id, pack)


def tenant_at(tx: Tx, address: ConversationAddress, kind: ChatKind, person: str, pack: str) -> str:
    """Return the tenant of a person in a conversation with a pack."""
    place = _place_at(tx, address, kind, person)
    return data_in(tx, place, pack, person) or place


def place_of(tx: Tx, inbound: Inbound) -> str:
    """Return the tenant that a person is where they wrote, before anybody chose another one."""
    return _place_at(tx, inbound.address, inbound.chat_kind, inbound.person.id)


def _place_at(tx: Tx, address: ConversationAddress, kind: ChatKind, person: str) -> str:
    if kind == "private":
        return data_of(address.platform, person)
    return data_name(address.platform, _first(tx, address).queue_key)


def data_in(tx: Tx, place: str, pack: str, person: str) -> str:
    """Return the tenant whose data a person uses in a place, "" = nobody settled that."""
    return tx.text(
        "SELECT tenant FROM data_places WHERE place = ? AND pack = ? AND person IN ('', ?) "
        "ORDER BY person LIMIT 1",
        place,
        pack,
        person,
    )


def is_asked_about(tx: Tx, place: str, pack: str, person: str) -> bool:
    """Whether it was this person's to settle."""
    found = "SELECT 1 FROM data_places WHERE place = ? AND pack = ? AND person = ?"
    return tx.finds(found, place, pack, person)


def keep_data_in(
    tx: Tx, place: str, pack: str, person: str, tenant: str, *, everybody: bool = False
) -> None:
    """Settle whose data a person, or everybody, uses in a place from now on."""
    tx.run("DELETE FROM data_places WHERE place = ? AND pack = ? AND person = ''", place, pack)
    for whose in (person, "") if everybody else (person,):
        tx.run("INSERT OR REPLACE INTO data_places VALUES (?, ?, ?, ?)", place, pack, whose, tenant)


def is_tenant(name: str) -> bool:
    """Whether a tenant could have this name, in any case of its letters."""
    return bool(_NAME.fullmatch(name.casefold()))


def _first(tx: Tx, address: ConversationAddress) -> ConversationAddress:
    """Return the address under its chat's first id, which names its data."""
    row = tx.one(
        "WITH RECURSIVE earlier (chat_id, depth) AS (SELECT ?, 0 UNION ALL "
        "SELECT m.chat_id, depth + 1 FROM moved_chats AS m JOIN earlier "
        "ON m.new_chat_id = earlier.chat_id WHERE m.platform = ? AND depth < 8) "
        "SELECT chat_id FROM earlier ORDER BY depth DESC LIMIT 1",
        address.chat_id,
        address.platform,
    )
    return replace(address, chat_id=row["chat_id"]) if row else address
