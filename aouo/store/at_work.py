"""Reads what is at work, and how much waits, for people who ask."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.work import Working
from aouo.store.database import Tx
from aouo.store.jobs import inbound_of


def running(tx: Tx) -> list[Working]:
    """Return the jobs at work that other jobs of their lane wait for, the oldest first."""
    rows = tx.all(
        "SELECT j.*, coalesce(t.started_at, j.created_at) AS since FROM jobs AS j "
        "LEFT JOIN turns AS t ON t.job_id = j.id AND t.status = 'open' "
        "WHERE j.state = 'running' ORDER BY +j.id"  # by its id it walks all jobs
    )
    return [
        Working(row["id"], Lane(row["lane"]), inbound_of(row), row["since"])
        for row in rows
        if not Lane(row["lane"]).bypasses
    ]


def count_waiting(tx: Tx, address: ConversationAddress) -> int:
    """Return how many jobs of a conversation wait, and how many of its schedules' runs."""
    return tx.number(
        "SELECT (SELECT count(*) FROM jobs WHERE state = 'ready' AND lane = ?) + (SELECT count(*) "
        "FROM jobs WHERE state = 'ready' AND origin = 'cron' AND lane <> ? "
        "AND platform = ? AND chat_id = ? AND thread_id = ?) AS n",
        address.lane,
        address.lane,
        *address.topic_columns,
    )
