"""Stores how far the journal has been worked into MEMORY.md, and when that was tried."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.facts.events import Inbound
from aouo.store.database import Tx
from aouo.store.jobs import inbound_of


@dataclass(frozen=True, slots=True)
class Owed:
    """A tenant of a pack with lines of the journal after `upto`; `inbound` is where the newest of
    them was said."""

    pack: str
    owner: str
    upto: int
    inbound: Inbound


def owed(tx: Tx, before: str, now: str) -> list[Owed]:
    """Return where lines wait, and neither they nor the last try are newer than `before`; what is
    later than `now` was written while the clock was ahead, and waits no longer."""
    rows = tx.all(
        "SELECT n.pack AS of_pack, n.owner, n.upto, j.* FROM (SELECT l.pack, l.owner, "
        "coalesce(c.upto, 0) AS upto, coalesce(c.asked_at, min(l.created_at)) AS since, "
        "max(l.id) AS newest FROM journal AS l LEFT JOIN consolidations AS c "
        "ON c.pack = l.pack AND c.owner = l.owner WHERE l.id > coalesce(c.upto, 0) "
        "GROUP BY l.pack, l.owner) AS n JOIN journal AS k ON k.id = n.newest "
        "JOIN jobs AS j ON j.id = k.job_id WHERE n.since <= ? OR n.since > ?",
        before,
        now,
    )
    return [Owed(row["of_pack"], row["owner"], row["upto"], inbound_of(row)) for row in rows]


def ask(tx: Tx, pack: str, owner: str, asked: int, shown: str, now: str) -> None:
    """Remember that a consolidation begins, and what it is shown."""
    tx.put(
        "consolidations",
        {"pack": pack, "owner": owner, "asked_at": now, "asked": asked, "shown": shown},
        "ON CONFLICT (pack, owner) DO UPDATE SET asked_at = excluded.asked_at, "
        "asked = excluded.asked, shown = excluded.shown",
    )


def newest(tx: Tx, pack: str, owner: str) -> tuple[int, int, str] | None:
    """Return what the newest one was shown, None = there was none.

    The journal's lines in (`upto`, `asked`], and the digest of the file, "" = it was changed since.
    """
    row = tx.one("SELECT * FROM consolidations WHERE pack = ? AND owner = ?", pack, owner)
    return (row["upto"], row["asked"], row["shown"]) if row else None


def go_stale(tx: Tx, pack: str, owner: str) -> None:
    """Remember that the file was changed while a model thought about it: the lines wait on."""
    tx.run("UPDATE consolidations SET shown = '' WHERE pack = ? AND owner = ?", pack, owner)


def done(tx: Tx, pack: str, owner: str) -> None:
    """Mark the lines as done with, unless the file was changed meanwhile."""
    tx.run(
        "UPDATE consolidations SET upto = max(upto, asked) WHERE pack = ? AND owner = ? "
        "AND shown <> ''",
        pack,
        owner,
    )
