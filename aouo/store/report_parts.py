"""Stores the messages that a triggered turn sends, until they go out with its result."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.ports import Rendered
from aouo.store.database import Tx
from aouo.store.rendered import dump, load


def keep(tx: Tx, turn_id: str, call_id: str, messages: Sequence[Rendered]) -> None:
    """Store the messages of one call, after those of the turn's earlier calls; once."""
    row = tx.one("SELECT count(*) AS n FROM report_parts WHERE turn_id = ?", turn_id)
    before = row["n"] if row else 0
    for number, message in enumerate(messages):
        tx.run(
            "INSERT INTO report_parts (call_id, turn_id, number, body) VALUES (?, ?, ?, ?) "
            "ON CONFLICT DO NOTHING",
            f"{call_id}:{number}",
            turn_id,
            before + number,
            dump(message),
        )


def any_of(tx: Tx, turn_id: str) -> bool:
    """Whether a turn has sent messages."""
    return tx.one("SELECT 1 FROM report_parts WHERE turn_id = ? LIMIT 1", turn_id) is not None


def take(tx: Tx, turn_id: str) -> list[Rendered]:
    """Return the turn's messages in their order, and forget them."""
    rows = tx.all("SELECT body FROM report_parts WHERE turn_id = ? ORDER BY number", turn_id)
    drop(tx, turn_id)
    return [load(row["body"]) for row in rows]


def drop(tx: Tx, turn_id: str) -> None:
    """Forget the turn's messages: they go out nowhere."""
    tx.run("DELETE FROM report_parts WHERE turn_id = ?", turn_id)
