"""Writes messages into rows and reads them back; keeps those of a triggered turn."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from aouo.facts.ports import ButtonSpec, Entity, Media, Rendered
from aouo.store.database import Tx


def dump(message: Rendered) -> str:
    return json.dumps(asdict(message), ensure_ascii=False, separators=(",", ":"))


def load(text: str) -> Rendered:
    """The inverse of `dump`; what was said off the record is empty once it was sent."""
    if not text:
        return Rendered("")
    body: dict[str, Any] = json.loads(text)
    rows: Sequence[Sequence[dict[str, Any]]] = body["buttons"]
    body["entities"] = tuple(Entity(**item) for item in body["entities"])
    body["buttons"] = tuple(tuple(ButtonSpec(**item) for item in row) for row in rows)
    media: dict[str, Any] | None = body.pop("media", None)
    body["media"] = Media(**media) if media else None
    items: Sequence[dict[str, Any]] = body.pop("album", ())
    body["album"] = tuple(Media(**item) for item in items)
    return Rendered(**body)


def keep_part(tx: Tx, turn_id: str, call_id: str, messages: Sequence[Rendered]) -> None:
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


def any_parts(tx: Tx, turn_id: str) -> bool:
    """Whether a turn has sent messages."""
    return tx.one("SELECT 1 FROM report_parts WHERE turn_id = ? LIMIT 1", turn_id) is not None


def take_parts(tx: Tx, turn_id: str) -> list[Rendered]:
    """Return the turn's messages in their order, and forget them."""
    rows = tx.all("SELECT body FROM report_parts WHERE turn_id = ? ORDER BY number", turn_id)
    drop_parts(tx, turn_id)
    return [load(row["body"]) for row in rows]


def drop_parts(tx: Tx, turn_id: str) -> None:
    """Forget the turn's messages: they go out nowhere."""
    tx.run("DELETE FROM report_parts WHERE turn_id = ?", turn_id)
