"""Keeps the texts of prompts, each once, while a turn that had it is kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from aouo.store.database import Tx
from aouo.store.snapshots import Query


def keep(tx: Tx, turn_id: str, texts: Mapping[str, str]) -> None:
    """Keep the texts of a turn's prompt, by digest, at least as long as this turn is kept."""
    for digest, text in texts.items():
        legible = text if text.isascii() else text.encode("utf-8", "replace").decode()
        tx.run(
            "INSERT INTO prompts (digest, turn_id, text) VALUES (?, ?, ?) "
            "ON CONFLICT (digest) DO UPDATE SET turn_id = max(turn_id, excluded.turn_id)",
            digest,
            turn_id,
            legible,
        )


def erase_of_turn(tx: Tx, turn_id: str) -> None:
    """Erase the texts that no newer turn had."""
    tx.run("DELETE FROM prompts WHERE turn_id = ?", turn_id)


def erase_of_pack(tx: Tx, pack: str) -> None:
    """Erase the texts of a pack's prompts, which hold what it remembered."""
    tx.run(
        "DELETE FROM prompts WHERE EXISTS "
        "(SELECT 1 FROM turns WHERE id = prompts.turn_id AND pack = ?)",
        pack,
    )


def texts(digests: Sequence[str], at_most_chars: int) -> Query[list[str]]:
    """Find the texts that are kept of up to two, in the order of the digests, cut if long."""
    first, second = (*digests, "", "")[:2]
    return Query(
        "SELECT substr(text, 1, ?) AS text FROM prompts WHERE digest IN (?, ?) "
        "ORDER BY digest <> ?",
        (at_most_chars, first, second, first),
        lambda rows: [row["text"] for row in rows],
    )
