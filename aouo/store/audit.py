"""The audit: what was proposed, how it was judged, how it ended."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from aouo.store.database import Tx

Stage = Literal["PROPOSED", "EVALUATED", "EXECUTED", "FAILED", "BLOCKED"]


@dataclass(frozen=True, slots=True)
class Entry:
    """One row; holds digests and names, never what the arguments say."""

    stage: Stage
    turn_id: str
    call_id: str
    action_id: str
    tool: str
    pack: str
    origin: str
    digest: str
    reason: str = ""


def append(tx: Tx, entry: Entry, now: str) -> None:
    tx.run(
        "INSERT INTO audit (at, stage, turn_id, call_id, action_id, tool, pack, origin, digest, "
        "reason) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        now,
        entry.stage,
        entry.turn_id,
        entry.call_id,
        entry.action_id,
        entry.tool,
        entry.pack,
        entry.origin,
        entry.digest,
        entry.reason,
    )
