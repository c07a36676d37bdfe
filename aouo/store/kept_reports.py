"""Stores reports that nobody asked for until their digest comes, and counts those that came."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.facts.work import Delivery
from aouo.store import deliveries
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.rendered import dump, load
from aouo.store.rows import columns, made

_WORDS_CHARS = 2_000


@dataclass(frozen=True, slots=True)
class KeptReport:
    """One report: what it comes from, its Markdown, and its turn with its messages as they would
    have come. `sent` such messages had come on its day before it; `always`: it is for a digest in
    any case."""

    id: int
    person: str
    address: ConversationAddress
    name: str
    text: str
    turn_id: str
    messages: tuple[Rendered, ...]
    created_at: str
    sent: int = 0
    always: bool = False


def sent_on(tx: Tx, person: str, day: str) -> int:
    """How many messages that they had not asked for came to a person on that local day."""
    return tx.number("SELECT sent FROM attention WHERE person = ? AND day = ?", person, day)


def count(tx: Tx, person: str, day: str) -> None:
    """Count one more of them."""
    tx.run(
        "INSERT INTO attention (person, day, sent) VALUES (?, ?, 1) ON CONFLICT (person) DO UPDATE "
        "SET sent = CASE WHEN day = excluded.day THEN sent + 1 ELSE 1 END, day = excluded.day",
        person,
        day,
    )


def keep(
    tx: Tx,
    person: str,
    address: ConversationAddress,
    name: str,
    text: str,
    messages: Sequence[Rendered],
    due_at: str,
    now: str,
    *,
    turn_id: str,
    sent: int = 0,
    always: bool = False,
) -> None:
    """Keep a report of a turn for the digest of `due_at`; the rest as in `KeptReport`."""
    shown = {"turn_id": turn_id, "messages": [dump(message) for message in messages]}
    tx.put(
        "kept_reports",
        {
            **columns(address),
            "person": person,
            "name": name,
            "text": text,
            "messages": json.dumps({**shown, "sent": sent, "always": always}),
            "due_at": due_at,
            "created_at": now,
        },
    )


def next_due(tx: Tx) -> str:
    """Return when the next digest is due, "" = nothing waits."""
    return tx.text("SELECT min(due_at) AS due FROM kept_reports WHERE due_at IS NOT NULL")


def due(tx: Tx, now: str) -> list[KeptReport]:
    """Return what is due by `now`, oldest first."""
    rows = tx.all(
        "SELECT * FROM kept_reports WHERE due_at IS NOT NULL AND due_at <= ? ORDER BY id", now
    )
    return [_kept(row) for row in rows]


def everything(tx: Tx) -> list[KeptReport]:
    """Return all that waits for a digest."""
    return [_kept(row) for row in tx.all("SELECT * FROM kept_reports WHERE due_at IS NOT NULL")]


def waiting(tx: Tx, address: ConversationAddress) -> tuple[int, str]:
    """Return how many reports wait here for a digest, and when it is due ("" = none wait)."""
    row = tx.one(
        "SELECT count(*) AS n, min(due_at) AS due FROM kept_reports "
        "WHERE due_at IS NOT NULL AND platform = ? "
        "AND chat_id = ? AND thread_id = ? AND user_id = ?",
        *address.columns,
    )
    return (row["n"], row["due"] or "") if row else (0, "")


def plan(tx: Tx, kept: KeptReport, due_at: str) -> None:
    """Have a report come with the digest of another time."""
    tx.run("UPDATE kept_reports SET due_at = ? WHERE id = ?", due_at, kept.id)


def told(tx: Tx, kept: KeptReport, digest: int) -> None:
    """Note the digest that a report came with; its messages stay for the digest's button."""
    tx.run("UPDATE kept_reports SET due_at = NULL, digest = ? WHERE id = ?", digest, kept.id)


def drop(tx: Tx, kept: KeptReport) -> None:
    tx.run("DELETE FROM kept_reports WHERE id = ?", kept.id)


def of_digest(tx: Tx, digest: int, address: ConversationAddress) -> list[KeptReport]:
    """Return what a digest of this conversation folded, oldest first."""
    rows = tx.all(
        "SELECT * FROM kept_reports WHERE digest = ? AND digest > 0 AND platform = ? "
        "AND chat_id = ? AND thread_id = ? AND user_id = ? ORDER BY id",
        digest,
        *address.columns,
    )
    return [_kept(row) for row in rows]


def send(tx: Tx, kept: KeptReport, now: str) -> list[Delivery]:
    """Queue the messages of a report as they would have come, once."""
    return [
        deliveries.add(
            tx, kept.address, "reply", message, now, turn_id=kept.turn_id, key=key_of(kept, number)
        )
        for number, message in enumerate(kept.messages)
    ]


def key_of(kept: KeptReport, number: int) -> str:
    """Return the key of a message of a report, by its number from 0."""
    return f"kept:{kept.id}:{number}"


def prune(tx: Tx, before: str) -> int:
    """Forget some of what came with a digest and is older than `before`; return how many reports,
    0 = there are no more."""
    return tx.run(
        "DELETE FROM kept_reports WHERE id IN "
        "(SELECT id FROM kept_reports WHERE digest > 0 AND created_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def move(tx: Tx, platform: str, old: str, new: str) -> None:
    """Move what a chat keeps to its new id."""
    tx.run(
        "UPDATE kept_reports SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old
    )


def _kept(row: sqlite3.Row) -> KeptReport:
    turn_id, messages, sent, always = _shown(row)
    return made(
        KeptReport,
        row,
        address=made(ConversationAddress, row),
        turn_id=turn_id,
        messages=messages,
        sent=sent,
        always=always,
    )


def _shown(row: sqlite3.Row) -> tuple[str, tuple[Rendered, ...], int, bool]:
    """Return a report's turn and messages, and why it was kept; of what cannot be read any more,
    the words that fit one message, so that one bad row holds up nobody's digest."""
    try:
        found: dict[str, Any] | list[str] = json.loads(row["messages"])
        if isinstance(found, list):  # of a version that did not note the turn
            found = {"turn_id": "", "messages": found}
        messages = tuple(load(each) for each in found["messages"])
        return found["turn_id"], messages, found.get("sent", 0), found.get("always", False)
    except (ValueError, LookupError, TypeError, AttributeError):
        return "", (Rendered(row["text"][:_WORDS_CHARS]),), 0, False
