"""The outbox: one row is one message that a chat shall see."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import replace
from typing import LiteralString

from aouo.facts.address import ConversationAddress
from aouo.facts.events import DeliveryFailed
from aouo.facts.ports import Rendered
from aouo.facts.work import Delivery, DeliveryKind, DeliveryState
from aouo.store import gone, web_messages
from aouo.store.database import Tx
from aouo.store.rendered import dump, load
from aouo.store.rows import columns, made

_LOST_WITHIN = 6
"""So many ids after what was answered a lost message is looked for: others write, too."""
ONLY_CHANGES = ("chosen", "ending")
"""Kinds that only edit a message: if that is gone, they are sent nowhere."""


def add(
    tx: Tx,
    address: ConversationAddress,
    kind: DeliveryKind,
    message: Rendered,
    now: str,
    *,
    turn_id: str = "",
    key: str | None = None,
    edits: int = 0,
) -> Delivery:
    """Queue a message and return its row; a `key` that is known returns the row it has.

    A message for a chat that is gone is refused at once; one for a chat that moved goes to its
    new address.
    """
    there, state = gone.where_it_is(tx, address), "queued"
    if there != address:
        message, state = _elsewhere(kind, message, edits)
        address, edits = there, 0
    if gone.is_closed(tx, address):
        state = "refused"
    queued = Delivery(0, address, turn_id, kind, message, state, 0, edits, 0, "")
    number = tx.insert(
        "deliveries",
        {
            **columns(queued, "id", "address", "message"),
            **columns(address),
            "key": key,
            "body": dump(message),
            "created_at": now,
        },
        "ON CONFLICT (key) DO NOTHING",
    )
    if number:
        return replace(queued, id=number)
    row = tx.one("SELECT * FROM deliveries WHERE key = ?", key)
    assert row is not None
    return _delivery(row)


def has_key(tx: Tx, key: str) -> bool:
    return tx.one("SELECT 1 FROM deliveries WHERE key = ?", key) is not None


def keyed(tx: Tx, key: str) -> Delivery | None:
    """The delivery with this key."""
    return tx.first(_delivery, "SELECT * FROM deliveries WHERE key = ?", key)


def get(tx: Tx, delivery_id: int) -> Delivery | None:
    return tx.first(_delivery, "SELECT * FROM deliveries WHERE id = ?", delivery_id)


def of_message(tx: Tx, address: ConversationAddress, message_id: int) -> Delivery | None:
    """The newest delivery that a message of ours shows."""
    row = tx.one(
        "SELECT * FROM deliveries WHERE chat_id = ? AND message_id = ? AND message_id > 0 "
        "AND platform = ? ORDER BY id DESC LIMIT 1",
        address.chat_id,
        message_id,
        address.platform,
    )
    return _delivery(row) if row else None


def seen(tx: Tx, delivery_id: int, address: ConversationAddress, message_id: int) -> None:
    """Note the message id of an `unknown` delivery: a tap on its button proves that it arrived."""
    tx.run(
        "UPDATE deliveries SET message_id = ? WHERE id = ? AND message_id = 0 "
        "AND state = 'unknown' AND platform = ? AND chat_id = ?",
        message_id,
        delivery_id,
        *address.chat_columns,
    )


def resumed_key(turn_id: str) -> str:
    """The key of the line that tells of a restart."""
    return f"resumed:{turn_id}"


def menu_key(pack: str) -> str:
    """Return how the keys of a pack's menu messages begin."""
    return f"menu:{pack}"


def menu_pack(tx: Tx, address: ConversationAddress, message_id: int) -> str:
    """Return the pack whose menu this message of ours shows, "" = it shows none."""
    row = tx.one(
        "SELECT key FROM deliveries WHERE chat_id = ? AND message_id = ? AND message_id > 0 "
        "AND platform = ? AND key LIKE 'menu:%' ORDER BY id LIMIT 1",
        address.chat_id,
        message_id,
        address.platform,
    )
    return row["key"].split(":")[1] if row else ""


def drop_of_others(tx: Tx, listed: Collection[str], now: str) -> list[str]:
    """Drop unsent messages to people in Telegram who are not `listed`, and of their turns.

    Returns the person of each. Refusals stay: they tell a stranger only that they are one.
    """
    statements: tuple[LiteralString, ...] = (  # one a state: so each finds its index
        "SELECT d.*, j.person FROM deliveries AS d LEFT JOIN turns AS t ON t.id = d.turn_id "
        "LEFT JOIN jobs AS j ON j.id = t.job_id WHERE d.state = 'queued' AND d.platform = 'tg'",
        "SELECT d.*, j.person FROM deliveries AS d LEFT JOIN turns AS t ON t.id = d.turn_id "
        "LEFT JOIN jobs AS j ON j.id = t.job_id WHERE d.state = 'sending' AND d.platform = 'tg'",
        "SELECT d.*, j.person FROM deliveries AS d LEFT JOIN turns AS t ON t.id = d.turn_id "
        "LEFT JOIN jobs AS j ON j.id = t.job_id WHERE d.state = 'live' AND d.platform = 'tg'",
    )
    found: list[str] = []
    for row in [row for sql in statements for row in tx.all(sql)]:
        in_private = not row["chat_id"].startswith("-")
        person = row["chat_id"] if in_private else row["person"]
        if not person or person in listed or (row["kind"] == "aside" and not row["turn_id"]):
            continue
        found.append(person)
        mark(tx, row["id"], "unknown" if row["state"] == "sending" else "dropped", now)
    return found


def mark(
    tx: Tx,
    delivery_id: int,
    state: DeliveryState,
    now: str,
    *,
    message_id: int = 0,
    error: str = "",
) -> None:
    """Set a row's state; `message_id` 0 keeps the known one. A settled row that is off the record
    loses its words."""
    row = tx.one(
        "UPDATE deliveries SET state = ?, message_id = iif(? = 0, message_id, ?), "
        "error = iif(off_record = 1, '', ?), "
        "settled_at = ?, attempts = attempts + (? = 'sending'), "
        "body = iif(off_record = 1 AND ? NOT IN ('queued', 'sending', 'live'), '', body) "
        "WHERE id = ? RETURNING off_record",
        state,
        message_id,
        message_id,
        error,
        now,
        state,
        state,
        delivery_id,
    )
    if row and row["off_record"]:
        tx.forget()


def failure(tx: Tx, delivery_id: int) -> DeliveryFailed | None:
    """The event of a row that is refused or unknown; None = it is not, or it only changes a
    message."""
    row = tx.one(
        "SELECT d.id AS delivery_id, d.turn_id, d.platform AS channel, d.chat_id, d.kind, "
        "d.state AS error, coalesce(t.session_id, '') AS session_id "
        "FROM deliveries AS d LEFT JOIN turns AS t ON t.id = d.turn_id WHERE d.id = ?",
        delivery_id,
    )
    if row is None or row["error"] not in ("refused", "unknown") or row["kind"] in ONLY_CHANGES:
        return None
    return made(DeliveryFailed, row)


def begin(tx: Tx, delivery_id: int, now: str) -> bool:
    """Mark a queued row as `sending`; False = it is not queued any more."""
    row = tx.one("SELECT 1 FROM deliveries WHERE id = ? AND state = 'queued'", delivery_id)
    if row:
        mark(tx, delivery_id, "sending", now)
    return row is not None


def is_off_record(tx: Tx, delivery_id: int) -> bool:
    """Whether a delivery is off the record; while its turn runs, only the turn is marked so."""
    row = tx.one(
        "SELECT d.off_record OR coalesce(t.off_record, 0) AS off_record FROM deliveries AS d "
        "LEFT JOIN turns AS t ON t.id = d.turn_id WHERE d.id = ?",
        delivery_id,
    )
    return bool(row and row["off_record"])


def anew(tx: Tx, delivery_id: int, now: str, error: str) -> None:
    """Queue an edit as a new message, because the one that it was to edit is gone."""
    mark(tx, delivery_id, "queued", now, error=error)
    tx.run("UPDATE deliveries SET edits = 0 WHERE id = ?", delivery_id)


def queued_in(tx: Tx, platform: str, chat_id: str) -> list[int]:
    """Return the ids of the messages that wait for a chat with its topics."""
    rows = tx.all(
        "SELECT id FROM deliveries WHERE state = 'queued' AND platform = ? AND chat_id = ?",
        platform,
        chat_id,
    )
    return [row["id"] for row in rows]


def queued(tx: Tx) -> list[Delivery]:
    """Return the queued deliveries that can be read, in order; notes of doubt come first."""
    rows = tx.all("SELECT * FROM deliveries WHERE state = 'queued' ORDER BY kind <> 'doubt', id")
    return [_delivery(row) for row in rows if _is_readable(row)]


def refuse_unreadable(tx: Tx, now: str) -> list[int]:
    """Refuse the waiting rows whose body cannot be read any more; return their ids."""
    rows = tx.all(
        "SELECT * FROM deliveries WHERE state = 'queued' "
        "UNION ALL SELECT * FROM deliveries WHERE state = 'sending'"
    )
    broken = [row["id"] for row in rows if not _is_readable(row)]
    for number in broken:
        mark(tx, number, "refused", now, error="its content cannot be read any more")
    return broken


def _is_readable(row: sqlite3.Row) -> bool:
    try:
        load(row["body"])
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return False
    return True


def waiting(tx: Tx, but: str = "") -> int:
    """Count the messages that are queued or being sent, those of the platform `but` left out."""
    return tx.number(
        "SELECT (SELECT count(*) FROM deliveries WHERE state = 'queued' AND platform <> ?) + "
        "(SELECT count(*) FROM deliveries WHERE state = 'sending' AND platform <> ?) AS n",
        but,
        but,
    )


def unsent(tx: Tx) -> tuple[int, str, int, int]:
    """Return how many messages are queued or being sent, since when the oldest one is ("" = none),
    of how many nobody knows whether they arrived, and how many were refused."""
    row = tx.one(
        "SELECT (SELECT count(*) FROM deliveries WHERE state = 'unknown') AS unknown, "
        "(SELECT count(*) FROM deliveries WHERE state = 'refused') AS refused, "
        "coalesce((SELECT created_at FROM deliveries WHERE state = 'sending' ORDER BY id LIMIT 1), "
        "'') AS sending, "
        "coalesce((SELECT created_at FROM deliveries WHERE state = 'queued' ORDER BY id LIMIT 1), "
        "'') AS queued"
    )
    assert row is not None
    moments: list[str] = [at for at in (row["sending"], row["queued"]) if at]
    return waiting(tx), min(moments, default=""), row["unknown"], row["refused"]


def cut_off(tx: Tx, now: str) -> list[Delivery]:
    """Settle what an earlier process was sending when it died; return what became `unknown`.

    An edit is idempotent and is queued again, and so is a note of doubt: read twice it harms
    nobody, lost it would leave its message unexplained. Any other send may have arrived and
    becomes `unknown`; one to the page is queued again, since it stores each row once. A queued live
    message is dropped: the resumed turn begins its own.
    """
    tx.run(
        "UPDATE deliveries SET state = 'queued' WHERE state = 'sending' "
        "AND (edits > 0 OR kind = 'doubt' OR platform = 'web')"
    )
    for row in tx.all("SELECT id FROM deliveries WHERE state = 'queued' AND kind = 'live'"):
        mark(tx, row["id"], "dropped", now)
        web_messages.take_back(tx, row["id"])
    rows = tx.all("SELECT * FROM deliveries WHERE state = 'sending' ORDER BY id")
    for row in rows:
        mark(tx, row["id"], "unknown", now, error="process ended")
    return [_delivery(row) for row in rows]


def may_be_at(tx: Tx, row: Delivery) -> list[int]:
    """Return the message ids that a lost live message may have: after what its turn answers, and
    not those of messages that are known; none if another message is lost in its chat."""
    here = row.address.platform, row.address.chat_id
    if (
        tx.number(
            "SELECT count(*) FROM deliveries WHERE state = 'unknown' AND settled_at = (SELECT "
            "settled_at FROM deliveries WHERE id = ?) AND platform = ? AND chat_id = ?",
            row.id,
            *here,
        )
        > 1
    ):
        return []
    after = tx.number(
        "SELECT max(m.message_id) FROM turns AS t JOIN job_messages AS m ON m.job_id = t.job_id "
        "WHERE t.id = ?",
        row.turn_id,
    )
    known = tx.all(
        "SELECT message_id FROM deliveries WHERE platform = ? AND chat_id = ? AND message_id > 0 "
        "AND message_id > ? UNION SELECT message_id FROM job_messages WHERE platform = ? "
        "AND chat_id = ? AND message_id > ?",
        *here,
        after,
        *here,
        after,
    )
    ids = range(after + 1, after + 1 + _LOST_WITHIN)
    return sorted(set(ids) - {one["message_id"] for one in known}) if after else []


def hush(tx: Tx, delivery_id: int) -> None:
    """Mark a row as off the record: it loses its words once it is sent."""
    tx.run("UPDATE deliveries SET off_record = 1 WHERE id = ?", delivery_id)


def hush_as(tx: Tx, delivery_id: int, former_id: int) -> None:
    """Mark a row as off the record if the row that it repeats is."""
    if is_off_record(tx, former_id):
        hush(tx, delivery_id)


def live_of(tx: Tx, turn_id: str) -> tuple[Delivery, ...]:
    """Return the turn's live messages, for the process that resumes the turn."""
    rows = tx.all(
        "SELECT * FROM deliveries WHERE turn_id = ? AND kind = 'live' AND state = 'live' "
        "ORDER BY id",
        turn_id,
    )
    return tuple(map(_delivery, rows))


def newest_said(tx: Tx, turn_id: str) -> int:
    """Return the id of the newest message that a turn at work sent or asked, 0 = none."""
    return tx.number(
        "SELECT coalesce(max(id), 0) AS id FROM deliveries WHERE turn_id = ? "
        "AND kind IN ('msg', 'notice') AND edits = 0",
        turn_id,
    )


def show_live(tx: Tx, delivery_id: int, message: Rendered) -> None:
    """Store what a live message is about to show."""
    tx.run(
        "UPDATE deliveries SET body = ? WHERE id = ? AND state = 'live'", dump(message), delivery_id
    )


def end_live(tx: Tx, turn_id: str, now: str) -> None:
    """Drop the live messages of a turn that is over."""
    tx.run(
        "UPDATE deliveries SET state = 'dropped', settled_at = ? WHERE turn_id = ? "
        "AND kind = 'live' AND state IN ('live', 'queued')",
        now,
        turn_id,
    )


def texts_of(tx: Tx, turn_id: str) -> list[str]:
    """Return what the turn's `msg` calls have shown, one text for each call."""
    rows = tx.all(
        "SELECT key, body FROM deliveries WHERE turn_id = ? AND kind = 'msg' "
        "AND state <> 'refused' ORDER BY id",
        turn_id,
    )
    said: dict[str, list[str]] = {}
    for row in rows:
        said.setdefault(row["key"].rpartition(":")[0], []).append(load(row["body"]).text)
    return [" ".join(filter(None, texts)) for texts in said.values()]


def replies_to(tx: Tx, job_id: int) -> list[str]:
    """Return the texts that a job was answered with, if no turn answered it."""
    rows = tx.all(
        "SELECT body FROM deliveries WHERE key >= ? AND key < ? AND body <> '' ORDER BY id",
        f"job:{job_id}:",
        f"job:{job_id};",  # the character after the colon
    )
    return [load(row["body"]).text for row in rows]


def last_reply(tx: Tx, turn_id: str) -> Delivery | None:
    """The last message that the end of a turn queued."""
    row = tx.one(
        "SELECT * FROM deliveries WHERE turn_id = ? AND kind = 'reply' ORDER BY id DESC LIMIT 1",
        turn_id,
    )
    return _delivery(row) if row else None


def raise_key(turn_id: str) -> str:
    """The key of the card that asks the owner to raise the budget that stopped a turn."""
    return f"budget:{turn_id}"


def raises_asked_since(tx: Tx, moment: str) -> int:
    """Count the cards with such a key that were created after `moment`."""
    return tx.number(
        "SELECT count(*) AS n FROM deliveries WHERE key GLOB 'budget:*' AND created_at > ?", moment
    )


def tagged(tx: Tx, turn_id: str, tag: str) -> int:
    """Return the id of the turn's newest message with this tag, 0 = the chat has none."""
    return tx.number(
        "SELECT message_id FROM deliveries WHERE turn_id = ? AND kind = 'msg' AND message_id > 0 "
        "AND json_extract(nullif(body, ''), '$.tag') = ? ORDER BY id DESC LIMIT 1",
        turn_id,
        tag,
    )


def move(tx: Tx, platform: str, old: str, new: str) -> None:
    """Move a chat's rows to its new id and forget their message ids, which are others there."""
    rows = tx.all(
        "SELECT * FROM deliveries WHERE state = 'queued' AND platform = ? AND chat_id = ?",
        platform,
        old,
    )
    for row in map(_delivery, rows):
        message, state = _elsewhere(row.kind, row.message, row.edits)
        tx.run(
            "UPDATE deliveries SET body = ?, state = ? WHERE id = ?", dump(message), state, row.id
        )
    tx.run(
        "UPDATE deliveries SET chat_id = ?, message_id = 0, edits = 0, "
        "state = iif(state = 'live', 'dropped', state) WHERE platform = ? AND chat_id = ?",
        new,
        platform,
        old,
    )


def _elsewhere(kind: DeliveryKind, message: Rendered, edits: int) -> tuple[Rendered, DeliveryState]:
    """Return a message for a chat that moved: no reply, no edit; what only edits is dropped.

    So is a live one: its turn knows the old chat and could not edit it in the new one.
    """
    dropped = kind == "live" or (edits and (kind in ONLY_CHANGES or not message.text))
    return replace(message, reply_to=0), "dropped" if dropped else "queued"


def _delivery(row: sqlite3.Row) -> Delivery:
    address = made(ConversationAddress, row)
    return made(Delivery, row, address=address, message=load(row["body"]))
