"""Stores what calls change outside of packs' rows, as it was before: files and schedules."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.rows import columns, made

_KeptKind: TypeAlias = Literal["file", "folder", "schedule"]
_MOST_BYTES: Final = 200_000_000
"""Of all copies together; the oldest go first."""


@dataclass(frozen=True, slots=True)
class Kept:
    """One thing that a call changes: a file by its path, a schedule by its id.

    `before` is what it held, None = it was not there; `after` the SHA-256 of what a file holds
    then, or the schedule as JSON, "" = it is gone. The kind `folder` says that what the call
    changed there is not known: with `before`, the SHA-256 of each file as JSON, its tool is at work
    or was killed; without it nobody will know.
    """

    kind: _KeptKind
    name: str
    before: bytes | None
    after: str


def keep(tx: Tx, call_id: str, kept: Kept, now: str) -> None:
    """Store it; a call that runs once more after a crash replaces its own."""
    tx.put(
        "kept_changes",
        {"call_id": call_id, **columns(kept), "at": now},
        "ON CONFLICT (call_id, kind, name) DO UPDATE SET before = excluded.before, "
        "after = excluded.after, at = excluded.at",
    )


def of_call(tx: Tx, call_id: str) -> list[Kept]:
    rows = tx.all("SELECT * FROM kept_changes WHERE call_id = ? ORDER BY kind, name", call_id)
    return [made(Kept, row) for row in rows]


def at_work(tx: Tx) -> list[tuple[str, Kept]]:
    """Return the calls that were at work in a folder, with it: of all that a process left."""
    rows = tx.all("SELECT * FROM kept_changes WHERE kind = 'folder' AND before IS NOT NULL")
    return [(row["call_id"], made(Kept, row)) for row in rows]


def settle(tx: Tx, call_id: str) -> None:
    """Delete the note that a call is at work in a folder."""
    tx.run("DELETE FROM kept_changes WHERE call_id = ? AND kind = 'folder'", call_id)


def move(tx: Tx, platform: str, old: str, new: str) -> None:
    """Let what is kept of a chat's schedules name its new id, so that they come back there."""
    for row in tx.all("SELECT * FROM kept_changes WHERE kind = 'schedule'"):
        kept = made(Kept, row)
        before = _moved((kept.before or b"").decode(), platform, old, new).encode()
        after = _moved(kept.after, platform, old, new)
        if (before, after) != (kept.before or b"", kept.after):
            keep(tx, row["call_id"], Kept("schedule", kept.name, before, after), row["at"])


def _moved(schedule: str, platform: str, old: str, new: str) -> str:
    row = json.loads(schedule or "{}")
    here = (row.get("platform"), row.get("chat_id")) == (platform, old)
    return json.dumps({**row, "chat_id": new}) if here else schedule


def forget_turn(tx: Tx, turn_id: str) -> None:
    """Delete what the calls of a turn kept."""
    tx.run(
        "DELETE FROM kept_changes WHERE call_id IN (SELECT id FROM tool_calls WHERE turn_id = ?)",
        turn_id,
    )


def forget_pack(tx: Tx, pack: str) -> None:
    """Delete what the calls of a pack kept."""
    tx.run(
        "DELETE FROM kept_changes WHERE EXISTS (SELECT 1 FROM tool_calls AS c "
        "JOIN turns AS t ON t.id = c.turn_id WHERE c.id = call_id AND t.pack = ?)",
        pack,
    )


def prune(tx: Tx) -> int:
    """Delete some of the oldest if all take too much; return how many, 0 = there is room."""
    whole = tx.one("SELECT sum(length(before)) AS bytes FROM kept_changes")
    if whole is None or (whole["bytes"] or 0) <= _MOST_BYTES:
        return 0
    return tx.run(
        "DELETE FROM kept_changes WHERE rowid IN (SELECT rowid FROM kept_changes "
        "WHERE kind <> 'folder' ORDER BY rowid LIMIT ?)",
        PRUNED_AT_ONCE,
    )
