"""Asks for the gates that are open: who is asked what, by which call, since when."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass

from aouo.facts.events import Inbound
from aouo.facts.work import Gate
from aouo.store.gates import gate_of
from aouo.store.jobs import inbound_of
from aouo.store.rows import made
from aouo.store.snapshots import Query

READ_CHARS = 20_000
"""Of a question, and of the arguments of a call, that are read to be shown."""


@dataclass(frozen=True, slots=True)
class Opened:
    """An open gate since when, with the call that opened it: its tool, the beginning of its
    arguments and how large they are; `inbound` is what its turn answers."""

    gate: Gate
    since: str
    pack: str
    off_record: bool
    tool: str
    arguments: str
    arguments_bytes: int
    question_bytes: int
    inbound: Inbound


def open_gates(limit: int) -> Query[list[Opened]]:
    """The open gates, oldest first."""
    return Query(
        "SELECT g.id, g.kind, g.platform, g.chat_id, g.thread_id, g.user_id, g.person, g.turn_id, "
        "g.call_id, substr(g.question, 1, ?) AS question, g.options, g.state, g.answer, "
        "g.delivery_id, g.created_at, g.expires_at, g.digest, g.origin, "
        "length(CAST(g.question AS BLOB)) AS question_bytes, "
        "coalesce(t.pack, '') AS pack, coalesce(t.off_record, 1) AS off_record, "
        "coalesce(c.name, '') AS tool, substr(coalesce(c.arguments, ''), 1, ?) AS arguments, "
        "length(CAST(coalesce(c.arguments, '') AS BLOB)) AS arguments_bytes, "
        "coalesce(j.body, '') AS body FROM gates AS g LEFT JOIN turns AS t ON t.id = g.turn_id "
        "LEFT JOIN jobs AS j ON j.id = t.job_id LEFT JOIN tool_calls AS c ON c.id = g.call_id "
        "WHERE g.state = 'open' ORDER BY g.created_at, g.id LIMIT ?",
        (READ_CHARS, READ_CHARS, limit),
        _opened,
    )


def how_many() -> Query[int]:
    """How many gates are open."""
    return Query(
        "SELECT count(*) AS n FROM gates WHERE state = 'open'", (), lambda rows: rows[0]["n"]
    )


def _opened(rows: Sequence[sqlite3.Row]) -> list[Opened]:
    return [
        made(Opened, row, gate=gate_of(row), since=row["created_at"], inbound=inbound_of(row))
        for row in rows
    ]
