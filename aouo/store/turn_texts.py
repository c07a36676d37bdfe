"""Reads the texts of one turn while they are kept: words, calls, results; long ones cut."""

from __future__ import annotations

from typing import TypeAlias

from aouo.store.snapshots import Query

MOST = 200
Kept: TypeAlias = tuple[str, int]
"""The beginning of a text, and how many characters it has in all."""


def words(turn_id: str, at_most_chars: int) -> Query[list[Kept]]:
    """Find the words that began a turn, and then its answer; [] = they are not kept."""
    return Query(
        "SELECT substr(text, 1, ?) AS text, length(text) AS chars FROM messages WHERE id IN "
        "((SELECT min(id) FROM messages WHERE turn_id = ? AND role = 'user'), "
        "(SELECT max(id) FROM messages WHERE turn_id = ? AND role = 'assistant')) ORDER BY id",
        (at_most_chars, turn_id, turn_id),
        lambda rows: [(row["text"], row["chars"]) for row in rows],
    )


def calls(turn_id: str, at_most_chars: int) -> Query[dict[str, dict[str, Kept]]]:
    """Find the `arguments` and the `result` of a turn's first calls, by the id of the call."""
    return Query(
        "SELECT id, substr(arguments, 1, ?) AS arguments, length(arguments) AS arguments_chars, "
        "substr(result, 1, ?) AS result, length(result) AS result_chars FROM tool_calls "
        "WHERE turn_id = ? ORDER BY started_at, id LIMIT ?",
        (at_most_chars, at_most_chars, turn_id, MOST),
        lambda rows: {
            row["id"]: {name: (row[name], row[f"{name}_chars"]) for name in ("arguments", "result")}
            for row in rows
        },
    )
