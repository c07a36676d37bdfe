"""Grants: what the owner has allowed for good, one tool of one pack in one folder at a time."""

from __future__ import annotations

from pathlib import Path

from aouo.store.database import Tx


def add(tx: Tx, pack: str, tool: str, folder: Path, person: str, now: str) -> None:
    """Allow from now on; granting twice is granting once."""
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
    """Whether `folder`, links followed, is one that was granted or lies below one."""
    rows = tx.all("SELECT folder FROM grants WHERE pack = ? AND tool = ?", pack, tool)
    return any(folder.is_relative_to(row["folder"]) for row in rows)
