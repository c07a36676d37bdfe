"""Finds the job that a person's message is part of."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress
from aouo.facts.work import Asked
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.jobs import inbound_of


def has(tx: Tx, address: ConversationAddress, message_id: int) -> bool:
    """Whether a person's message became a job, or a part of one."""
    return bool(
        tx.one(
            "SELECT 1 FROM job_messages WHERE platform = ? AND chat_id = ? AND message_id = ?",
            *address.chat_columns,
            message_id,
        )
    )


def of(tx: Tx, address: ConversationAddress, message_id: int) -> Asked | None:
    """The job of a person's message, the newest one if it was asked again."""
    row = tx.one(
        "SELECT j.*, (SELECT t.status FROM turns AS t WHERE t.job_id = j.id ORDER BY t.id DESC "
        "LIMIT 1) AS turn FROM job_messages AS m JOIN jobs AS j ON j.id = m.job_id "
        "WHERE m.platform = ? AND m.chat_id = ? AND m.message_id = ?",
        *address.chat_columns,
        message_id,
    )
    if row is None:
        return None
    waits = row["state"] in ("gathering", "ready", "parked") and row["turn"] != "open"
    runs = not waits and (row["state"] == "running" or row["turn"] == "open")
    answered = row["turn"] in ("ack", "nack", "aborted")
    return Asked(row["id"], inbound_of(row), not waits, runs, answered)


def prune(tx: Tx, before: str) -> int:
    """Forget which jobs some messages from before `before` are in; return of how many, 0 = there
    are no more. Their edits are ignored from then on."""
    return tx.run(
        "DELETE FROM job_messages WHERE (platform, chat_id, message_id) IN "
        "(SELECT platform, chat_id, message_id FROM job_messages WHERE job_id <= "
        "(SELECT coalesce(max(id), 0) FROM jobs WHERE created_at < ?) LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
