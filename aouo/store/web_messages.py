"""Stores what the chats on the local page show: a row for each message, changed in place.

A window asks for what changed after the last change that it knows; so nothing has to be kept for
it, and it can miss nothing.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias, cast

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Album, Attached, Inbound, Text
from aouo.facts.ports import Rendered
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.rendered import dump, load
from aouo.store.rows import made
from aouo.store.snapshots import Query

CHANGED = "web_messages"
"""What a commit touches that changes such a row."""
State: TypeAlias = Literal["shown", "deleted", "off_record"]


@dataclass(frozen=True, slots=True)
class WebMessage:
    """One message of a chat on the page; what is `deleted` or `off_record` is empty.

    `change` is the number of its newest change, higher than that of every change before.
    """

    id: int
    change: int
    by_person: bool
    state: State
    message: Rendered
    created_at: str


def sending(tx: Tx, address: ConversationAddress) -> tuple[str, bool] | None:
    """Return the key of the delivery that is being sent to a chat, and whether it is off the
    record: one sender makes one call at a time."""
    row = tx.one(
        "SELECT d.id, d.off_record OR coalesce(t.off_record, 0) AS off_record "
        "FROM deliveries AS d LEFT JOIN turns AS t ON t.id = d.turn_id "
        "WHERE d.state = 'sending' AND d.platform = ? AND d.chat_id = ? ORDER BY d.id LIMIT 1",
        *address.chat_columns,
    )
    return (_key(row["id"]), bool(row["off_record"])) if row else None


def known(tx: Tx, key: str) -> int:
    """Return the id of the message with this key, 0 = there is none."""
    return tx.number("SELECT id FROM web_messages WHERE key = ?", key)


def add(
    tx: Tx,
    chat_id: str,
    key: str,
    message: Rendered,
    now: str,
    *,
    by_person: bool = False,
    off_record: bool = False,
) -> int:
    """Store a message and return its id; the same key again changes nothing."""
    if found := known(tx, key):
        return found
    tx.touch(CHANGED)
    row = tx.one(
        "INSERT INTO web_messages (chat_id, key, said_by, state, body, change, created_at) "
        "VALUES (?, ?, ?, ?, ?, (SELECT coalesce(max(change), 0) + 1 FROM web_messages), ?) "
        "RETURNING id",
        chat_id,
        key,
        "person" if by_person else "bot",
        "off_record" if off_record else "shown",
        "" if off_record else dump(message),
        now,
    )
    assert row is not None
    return row["id"]


def edit(tx: Tx, chat_id: str, message_id: int, message: Rendered) -> State | None:
    """Replace a message's content, unless it is deleted or off the record; None = it is not there.

    The same content again changes nothing.
    """
    row = tx.one(
        "SELECT state, body FROM web_messages WHERE id = ? AND chat_id = ?", message_id, chat_id
    )
    if row is None:
        return None
    body = dump(message) if row["state"] == "shown" else ""
    if body != row["body"]:
        _change(tx, message_id, row["state"], body)
    return cast("State", row["state"])


def tell_anew(tx: Tx, chat_id: str, message_id: int) -> None:
    """Count a change of a message that is off the record, whose words are not stored."""
    row = tx.one(
        "SELECT 1 FROM web_messages WHERE id = ? AND chat_id = ? AND state = 'off_record'",
        message_id,
        chat_id,
    )
    if row:
        _change(tx, message_id, "off_record", "")


def delete(tx: Tx, chat_id: str, message_id: int) -> None:
    """Empty a message of the bot's; the row stays, so that every window takes it away."""
    row = tx.one(
        "SELECT state FROM web_messages WHERE id = ? AND chat_id = ? AND state <> 'deleted'",
        message_id,
        chat_id,
    )
    if row:
        _change(tx, message_id, "deleted", "")


def take_back(tx: Tx, delivery_id: int) -> None:
    """Take away what a delivery has put on the page, of which nobody knows any more."""
    row = tx.one("SELECT id, chat_id FROM web_messages WHERE key = ?", _key(delivery_id))
    if row:
        delete(tx, row["chat_id"], row["id"])


def _key(delivery_id: int) -> str:
    return f"delivery:{delivery_id}"


def wipe(tx: Tx, inbound: Inbound) -> None:
    """Erase a person's words on the page, which turned out to be off the record."""
    if inbound.address.platform != "web":
        return
    content, numbers = inbound.content, {inbound.message_id}
    if isinstance(content, Text):
        numbers |= {part.message_id for part in content.parts}
    if isinstance(content, Attached | Album):
        numbers |= {item.message_id for item in content.items}
    for number in numbers:
        row = tx.one(
            "SELECT 1 FROM web_messages WHERE id = ? AND chat_id = ? AND said_by = 'person' "
            "AND state = 'shown'",
            number,
            inbound.address.chat_id,
        )
        if row:
            _change(tx, number, "off_record", "")


def one(chat_id: str, message_id: int) -> Query[WebMessage | None]:
    """Ask for one message of a chat."""
    return Query(
        "SELECT * FROM web_messages WHERE id = ? AND chat_id = ?",
        (message_id, chat_id),
        lambda rows: _message(rows[0]) if rows else None,
    )


def newest(chat_id: str, before: int, limit: int) -> Query[list[WebMessage]]:
    """Ask for the newest messages of a chat with ids below `before` (0 = any), the oldest first."""
    return Query(
        "SELECT * FROM (SELECT * FROM web_messages WHERE chat_id = ? AND id < ? "
        "AND state <> 'deleted' ORDER BY id DESC LIMIT ?) ORDER BY id",
        (chat_id, before or 2**62, limit),
        _messages,
    )


def changed(chat_id: str, after: int, limit: int) -> Query[list[WebMessage]]:
    """Ask for the messages of a chat that changed after a change, in the order of their changes."""
    return Query(
        "SELECT * FROM web_messages WHERE chat_id = ? AND change > ? ORDER BY change LIMIT ?",
        (chat_id, after, limit),
        _messages,
    )


def last_change(chat_id: str) -> Query[int]:
    """Ask for the number of the newest change in a chat, 0 = there was none."""
    return Query(
        "SELECT coalesce(max(change), 0) AS change FROM web_messages WHERE chat_id = ?",
        (chat_id,),
        lambda rows: int(rows[0]["change"]),
    )


def standing(address: ConversationAddress) -> Query[dict[str, bool]]:
    """Ask whether a chat is `busy`, since something waits or is at work, and `asks` something."""
    lane = address.lane
    return Query(
        "SELECT EXISTS (SELECT 1 FROM jobs WHERE lane = ? AND state = 'ready') "
        "OR EXISTS (SELECT 1 FROM jobs WHERE lane = ? AND state = 'running') "
        "OR EXISTS (SELECT 1 FROM jobs WHERE lane = ? AND state = 'gathering') AS busy, "
        "EXISTS (SELECT 1 FROM gates WHERE platform = ? AND chat_id = ? AND thread_id = '' "
        "AND state = 'open') AS asks",
        (lane, lane, lane, address.platform, address.chat_id),
        lambda rows: {name: bool(rows[0][name]) for name in ("busy", "asks")},
    )


def prune(tx: Tx, before: str) -> int:
    """Delete some of what was said before `before`; return how many messages, 0 = there are no
    more.

    The row with the newest change of all is only emptied, so that changes are counted on.
    """
    gone = tx.run(
        "DELETE FROM web_messages WHERE id IN (SELECT id FROM web_messages WHERE created_at < ? "
        "AND change < (SELECT max(change) FROM web_messages) LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
    return gone or tx.run(
        "UPDATE web_messages SET state = 'deleted', body = '' WHERE created_at < ? "
        "AND state <> 'deleted'",
        before,
    )


def forget(tx: Tx, chat_id: str) -> None:
    """Delete what was said in a chat; as in `prune`, one row may stay empty."""
    tx.touch(CHANGED)
    tx.run(
        "DELETE FROM web_messages WHERE chat_id = ? "
        "AND change < (SELECT max(change) FROM web_messages)",
        chat_id,
    )
    tx.run("UPDATE web_messages SET state = 'deleted', body = '' WHERE chat_id = ?", chat_id)


def _change(tx: Tx, message_id: int, state: str, body: str) -> None:
    tx.touch(CHANGED)
    tx.run(
        "UPDATE web_messages SET state = ?, body = ?, "
        "change = (SELECT coalesce(max(change), 0) + 1 FROM web_messages) WHERE id = ?",
        state,
        body,
        message_id,
    )


def _messages(rows: Sequence[sqlite3.Row]) -> list[WebMessage]:
    return [_message(row) for row in rows]


def _message(row: sqlite3.Row) -> WebMessage:
    by_person = row["said_by"] == "person"
    return made(WebMessage, row, by_person=by_person, message=load(row["body"]))
