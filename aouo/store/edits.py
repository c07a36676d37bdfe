"""Stores edits that came after their job began: for its turn, or as an offer to answer anew."""

from __future__ import annotations

from aouo.facts.events import Inbound
from aouo.store.database import PRUNED_AT_ONCE, Tx


def note(tx: Tx, job_id: int, said: str, inbound: Inbound, now: str) -> None:
    """Store an edit for the running turn; `said` are the message's new words."""
    body = inbound.dump()
    tx.put(
        "edits",
        {"job_id": job_id, "state": "untold", "said": said, "body": body, "created_at": now},
    )


def untold(tx: Tx, job_id: int) -> list[tuple[str, Inbound]]:
    """Return the edits that the turn was not told, oldest first: (new words, edited inbound)."""
    rows = tx.all(
        "SELECT said, body FROM edits WHERE job_id = ? AND state = 'untold' ORDER BY id", job_id
    )
    return [(row["said"], Inbound.load(row["body"])) for row in rows]


def forget_untold(tx: Tx, job_id: int) -> None:
    """Delete the edits that wait for the turn: it was told, or is over."""
    tx.run("DELETE FROM edits WHERE job_id = ? AND state = 'untold'", job_id)


def offer(tx: Tx, job_id: int, inbound: Inbound, now: str) -> tuple[int, bool]:
    """Offer to answer the job's newest edit; return (the offer's id, whether it is new)."""
    row = tx.one(
        "UPDATE edits SET body = ? WHERE job_id = ? AND state = 'offered' RETURNING id",
        inbound.dump(),
        job_id,
    )
    if row:
        return row["id"], False
    number = tx.insert(
        "edits",
        {"job_id": job_id, "state": "offered", "body": inbound.dump(), "created_at": now},
    )
    return number, True


def offered(tx: Tx, offer_id: int) -> tuple[bool, Inbound | None]:
    """Return whether there is such an offer, and the edited message, None once it was taken."""
    row = tx.one("SELECT body FROM edits WHERE id = ? AND state <> 'untold'", offer_id)
    return row is not None, Inbound.load(row["body"]) if row and row["body"] else None


def take(tx: Tx, offer_id: int) -> None:
    """Mark an offer as taken and drop its words, which a job of their own holds now."""
    tx.run("UPDATE edits SET state = 'taken', body = '' WHERE id = ?", offer_id)


def prune(tx: Tx, before: str) -> int:
    """Delete some edits from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM edits WHERE id IN (SELECT id FROM edits WHERE created_at < ? LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )
