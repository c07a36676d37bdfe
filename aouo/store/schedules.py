"""Stores schedules: what begins by itself, where, in whose name, and when next.

Whatever may make a due time come sooner touches `CHANGED`, for those who wait for the next one.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Collection, Mapping
from typing import Any

from aouo.facts.address import ConversationAddress
from aouo.facts.events import ChatKind
from aouo.facts.ids import ulid
from aouo.facts.work import Paused, RunState, Scheduled
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.rows import columns, made

CHANGED = "schedules"


def new_id() -> str:
    """Make an id short enough to type: ten characters, nearly all of them random."""
    return ulid()[-10:].lower()


def add(tx: Tx, row: Scheduled, now: str) -> bool:
    """Store a schedule; False, and nothing changed, when its default is there already."""
    tx.touch(CHANGED)
    return tx.put(
        "schedules",
        {
            **columns(row, "address", "next_due"),
            **columns(row.address, "user_id"),
            "next_due": row.next_due or None,
            "created_at": now,
            "updated_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )


def get(tx: Tx, schedule_id: str) -> Scheduled | None:
    return tx.first(of_row, "SELECT * FROM schedules WHERE id = ?", schedule_id)


_BY_RUNS = ("next_due", "last_due", "last_state", "updated_at")


def written(tx: Tx, schedule_id: str) -> str:
    """Return what people and models have decided about a schedule as JSON, "" = there is none."""
    row = tx.one("SELECT * FROM schedules WHERE id = ?", schedule_id)
    if row is None:
        return ""
    return json.dumps({key: row[key] for key in row.keys() if key not in _BY_RUNS})  # noqa: SIM118


def read(written: str) -> Scheduled:
    """Return the schedule that `written` was made of, without a due time."""
    row = dict.fromkeys(_BY_RUNS, "") | json.loads(written)
    return of_row(row)


def everything(tx: Tx) -> list[Scheduled]:
    return [of_row(row) for row in tx.all("SELECT * FROM schedules ORDER BY pack, created_at, key")]


def speaking_places(tx: Tx) -> list[tuple[ConversationAddress, ChatKind, str]]:
    """Return where, and in whose name, there are reminders."""
    return [
        (made(ConversationAddress, row, user_id=""), row["chat_kind"], row["person"])
        for row in tx.all(
            "SELECT DISTINCT platform, chat_id, thread_id, chat_kind, person FROM schedules "
            "WHERE say <> ''"
        )
    ]


def spoken(tx: Tx, address: ConversationAddress, kind: ChatKind, person: str) -> list[Scheduled]:
    """Return the reminders of a place in somebody's name: what comes as words, verbatim."""
    rows = tx.all(
        "SELECT * FROM schedules WHERE say <> '' AND platform = ? AND chat_id = ? "
        "AND thread_id = ? AND chat_kind = ? AND person = ? ORDER BY created_at, id",
        *address.topic_columns,
        kind,
        person,
    )
    return [of_row(row) for row in rows]


def of_pack(tx: Tx, pack: str) -> list[Scheduled]:
    rows = tx.all("SELECT * FROM schedules WHERE pack = ? ORDER BY created_at, key", pack)
    return [of_row(row) for row in rows]


def of_conversation(tx: Tx, address: ConversationAddress) -> list[Scheduled]:
    """Return the schedules of all packs whose results go to this conversation."""
    rows = tx.all(
        "SELECT * FROM schedules WHERE platform = ? AND chat_id = ? AND thread_id = ? "
        "ORDER BY pack, created_at, key",
        *address.topic_columns,
    )
    return [of_row(row) for row in rows]


def restored(tx: Tx) -> list[Scheduled]:
    """Return what people and models made and a restored backup has switched off."""
    rows = tx.all(
        "SELECT * FROM schedules WHERE paused = 'proposed' AND origin <> 'default' "
        "ORDER BY created_at, id"
    )
    return [of_row(row) for row in rows]


def count_made(tx: Tx, address: ConversationAddress) -> int:
    """Return how many schedules of a conversation, made by people and models, are not over."""
    return tx.number(
        "SELECT count(*) AS n FROM schedules WHERE platform = ? AND chat_id = ? AND thread_id = ? "
        "AND origin <> 'default' AND paused <> 'over'",
        *address.topic_columns,
    )


def switch_off(tx: Tx, schedule_id: str, paused: Paused, now: str) -> None:
    """Switch a schedule off; `paused` says why."""
    tx.touch(CHANGED)
    tx.run(
        "UPDATE schedules SET enabled = 0, paused = ?, next_due = NULL, updated_at = ? "
        "WHERE id = ?",
        paused,
        now,
        schedule_id,
    )


def pause_others(tx: Tx, listed: Collection[str], now: str) -> list[str]:
    """Switch off the schedules of people in Telegram who are not `listed`; return the person of
    each."""
    rows = tx.all("SELECT id, person FROM schedules WHERE enabled = 1 AND platform = 'tg'")
    theirs = [row for row in rows if row["person"] not in listed]
    for row in theirs:
        switch_off(tx, row["id"], "unlisted", now)
    return [row["person"] for row in theirs]


def edit(tx: Tx, row: Scheduled, now: str) -> None:
    """Store all that a person or a model may change of a schedule."""
    tx.touch(CHANGED)
    tx.run(
        "UPDATE schedules SET name = ?, skill = ?, prompt = ?, say = ?, act = ?, source = ?, "
        "text = ?, zone = ?, since = ?, own_text = ?, enabled = ?, paused = ?, next_due = ?, "
        "misfire = ?, timeout_s = ?, tokens_max = ?, retries = ?, updated_at = ? WHERE id = ?",
        *(row.name, row.skill, row.prompt, row.say, row.act, row.source, row.text, row.zone),
        *(row.since, row.own_text, row.enabled, row.paused, row.next_due or None, row.misfire),
        *(row.timeout_s, row.tokens_max, row.retries, now, row.id),
    )


_ZONE = "owner_zone"


def owner_zone(tx: Tx) -> str:
    """Return the zone in which what stands on the owner's zone was planned, "" = in none yet."""
    return tx.text("SELECT state FROM ticks WHERE name = ?", _ZONE)


def keep_owner_zone(tx: Tx, zone: str, now: str) -> None:
    tx.run("REPLACE INTO ticks (name, at, state) VALUES (?, ?, ?)", _ZONE, now, zone)


def next_due(tx: Tx) -> str:
    """Return when the next schedule is due, "" = none is."""
    return tx.text("SELECT min(next_due) AS due FROM schedules WHERE next_due IS NOT NULL")


def due(tx: Tx, now: str, limit: int) -> list[Scheduled]:
    """Return the schedules that are due by `now`, the longest due first."""
    rows = tx.all(
        "SELECT * FROM schedules WHERE next_due IS NOT NULL AND next_due <= ? "
        "ORDER BY next_due, id LIMIT ?",
        now,
        limit,
    )
    return [of_row(row) for row in rows]


def ahead(tx: Tx, now: str, limit: int) -> list[Scheduled]:
    """Return schedules whose last due time is after `now`: the clock has been set back."""
    rows = tx.all(
        "SELECT * FROM schedules WHERE next_due IS NOT NULL AND last_due > ? LIMIT ?", now, limit
    )
    return [of_row(row) for row in rows]


def advance(tx: Tx, schedule_id: str, due_at: str, next_due: str) -> None:
    """Note that `due_at` has come; "" as `next_due` = it was the last time."""
    tx.run(
        "UPDATE schedules SET last_due = ?, next_due = ? WHERE id = ?",
        due_at,
        next_due or None,
        schedule_id,
    )


def is_late(tx: Tx, schedule_id: str, due_at: str, now: str) -> bool:
    """Note that a run has no answer yet; False = that was noted before, or it is over."""
    return tx.changes(
        "UPDATE schedule_runs SET late_at = ? WHERE schedule_id = ? AND due_at = ? "
        "AND state = 'waiting' AND late_at = ''",
        now,
        schedule_id,
        due_at,
    )


def settled(tx: Tx, schedule_id: str, state: RunState) -> None:
    """Note how the newest run ended; one that has no due time left is over."""
    tx.run("UPDATE schedules SET last_state = ? WHERE id = ?", state, schedule_id)
    tx.run(
        "UPDATE schedules SET enabled = 0, paused = 'over' "
        "WHERE id = ? AND next_due IS NULL AND enabled = 1",
        schedule_id,
    )


def prune(tx: Tx, before: str) -> int:
    """Delete some runs of schedules that were over before that time, or, if there are none, some
    of these schedules; return how many rows, 0 = there are no more."""
    return tx.run(
        "DELETE FROM schedule_runs WHERE (schedule_id, due_at) IN (SELECT schedule_id, due_at FROM "
        "schedules JOIN schedule_runs ON schedule_id = schedules.id "
        "WHERE paused = 'over' AND last_due < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    ) or tx.run(
        "DELETE FROM schedules WHERE id IN "
        "(SELECT id FROM schedules WHERE paused = 'over' AND last_due < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def remove(tx: Tx, schedule_id: str) -> bool:
    """Delete a schedule and its runs; False when it was gone already."""
    tx.run("DELETE FROM schedule_runs WHERE schedule_id = ?", schedule_id)
    return tx.changes("DELETE FROM schedules WHERE id = ?", schedule_id)


def remove_of_pack(tx: Tx, pack: str) -> int:
    """Delete a pack's schedules and their runs; return how many schedules there were."""
    tx.run(
        "DELETE FROM schedule_runs WHERE schedule_id IN (SELECT id FROM schedules WHERE pack = ?)",
        pack,
    )
    return tx.run("DELETE FROM schedules WHERE pack = ?", pack)


def move(tx: Tx, platform: str, old: str, new: str, *, winner: str) -> None:
    """Move a chat's schedules to its new id. Of a default that both chats have, one stays: the one
    that somebody has decided on, else that of the chat `winner`."""
    for pair in tx.all(
        "SELECT o.id AS old, n.id AS new, o.paused <> 'proposed' AS old_decided, "
        "n.paused <> 'proposed' AS new_decided FROM schedules AS o JOIN schedules AS n "
        "ON (n.pack, n.key, n.platform, n.thread_id) = (o.pack, o.key, o.platform, o.thread_id) "
        "WHERE o.key <> '' AND o.platform = ? AND o.chat_id = ? AND n.chat_id = ?",
        platform,
        old,
        new,
    ):
        decided = pair["old_decided"] - pair["new_decided"]
        keeps_old = decided > 0 or (decided == 0 and winner == old)
        remove(tx, pair["new"] if keeps_old else pair["old"])
    tx.run(
        "UPDATE schedules SET chat_id = ? WHERE platform = ? AND chat_id = ?", new, platform, old
    )


def of_row(row: sqlite3.Row | Mapping[str, Any]) -> Scheduled:
    address = made(ConversationAddress, row, user_id="")
    return made(Scheduled, row, address=address, next_due=row["next_due"] or "")
