"""Stores grants: what the owner allowed for good, each for one tool of one pack in one folder."""

from __future__ import annotations

from pathlib import Path

from aouo.store.database import Tx


def add(tx: Tx, pack: str, tool: str, folder: Path, person: str, now: str) -> None:
    """Store a grant; idempotent."""
    tx.run(
        "INSERT OR IGNORE INTO grants (pack, tool, folder, person, granted_at) "
        "VALUES (?, ?, ?, ?, ?)",
        pack,
        tool,
        str(folder),
        person,
        now,
    )


def covers(tx: Tx, pack: str, tool: str, folder: Path) -> bool:
    """Whether `folder`, its links resolved, is a granted folder or lies below one."""
    rows = tx.all("SELECT folder FROM grants WHERE pack = ? AND tool = ?", pack, tool)
    return any(folder.is_relative_to(row["folder"]) for row in rows)
