"""Stores grants: what the owner allowed for good, each for one tool of one pack in one folder."""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from aouo.store.database import Tx
from aouo.store.snapshots import Query


@dataclass(frozen=True, slots=True)
class Grant:
    """One tool of one pack may touch one folder and below, since when and by whom.

    `times` and `last` tell how often any grant let this tool of this pack pass, and when last.
    """

    pack: str
    tool: str
    folder: str
    person: str
    since: str
    times: int = 0
    last: str = ""

    @property
    def id(self) -> str:
        """A name that fits into an address."""
        return hashlib.sha256("\0".join((self.pack, self.tool, self.folder)).encode()).hexdigest()


def add(tx: Tx, pack: str, tool: str, folder: Path, person: str, now: str) -> None:
    """Store a grant; idempotent."""
    tx.put(
        "grants",
        {
            "pack": pack,
            "tool": tool,
            "folder": str(folder),
            "person": person,
            "granted_at": now,
        },
        "ON CONFLICT DO NOTHING",
    )


def covers(tx: Tx, pack: str, tool: str, folder: Path) -> bool:
    """Whether `folder`, its links resolved, is a granted folder or lies below one."""
    rows = tx.all("SELECT folder FROM grants WHERE pack = ? AND tool = ?", pack, tool)
    return any(folder.is_relative_to(row["folder"]) for row in rows)


def revoke(tx: Tx, grant_id: str) -> Grant | None:
    """Delete a grant and return it, None = there is none with this id."""
    rows = tx.all("SELECT pack, tool, folder, person, granted_at AS since FROM grants")
    found = next((one for one in (Grant(**dict(row)) for row in rows) if one.id == grant_id), None)
    if found:
        tx.run(
            "DELETE FROM grants WHERE pack = ? AND tool = ? AND folder = ?",
            found.pack,
            found.tool,
            found.folder,
        )
    return found


def every(reason: str, limit: int) -> Query[list[Grant]]:
    """The grants by pack; `reason` is what the audit says of a call that one let pass."""
    return Query(
        "SELECT g.pack, g.tool, g.folder, g.person, g.granted_at AS since, "
        "count(a.id) AS times, coalesce(max(a.at), '') AS last FROM grants AS g "
        "LEFT JOIN audit AS a ON a.pack = g.pack AND a.tool = g.tool AND a.digest <> '' "
        "AND a.stage IN ('EXECUTED', 'FAILED', 'BLOCKED') AND a.reason = ? "
        "GROUP BY g.pack, g.tool, g.folder ORDER BY g.pack, g.tool, g.folder LIMIT ?",
        (reason, limit),
        _grants,
    )


def _grants(rows: Sequence[sqlite3.Row]) -> list[Grant]:
    return [Grant(**dict(row)) for row in rows]
