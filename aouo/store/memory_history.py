"""Reads for the owner how memory files became what they are: their versions, and the causes."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.facts.history import Version
from aouo.plumbing.verbs import Facts
from aouo.store.memory_versions import KEPT, version_of
from aouo.store.snapshots import Query

_FILES = 4


def tenants(pack: str) -> Query[tuple[str, ...]]:
    """Whose memory of a pack has versions."""
    return Query(
        "SELECT DISTINCT owner FROM memory_versions WHERE pack = ? LIMIT 1000",
        (pack,),
        lambda rows: tuple(str(row["owner"]) for row in rows),
    )


def changes(pack: str, tenant: str) -> Query[list[Facts]]:
    """The versions of all files of a tenant without their texts, newest first.

    `undone`: it was taken back; `undoes` is the version that it took back, 0 = none; `by_page`: a
    person made it on the page.
    """
    return Query(
        "SELECT id, file, origin, at, state = 'undone' AS undone, undoes, person, "
        "platform = 'web' AS by_page, length(CAST(after AS BLOB)) AS bytes_after "
        "FROM memory_versions WHERE pack = ? AND owner = ? AND state <> 'intent' "
        "ORDER BY id DESC LIMIT ?",
        (pack, tenant, KEPT * _FILES),
        lambda rows: [
            {**dict(row), "undone": bool(row["undone"]), "by_page": bool(row["by_page"])}
            for row in rows
        ],
    )


def newest(pack: str, tenant: str) -> Query[dict[str, str]]:
    """The text of the newest version of each file, by its name."""
    return Query(
        "SELECT file, after FROM memory_versions WHERE id IN (SELECT max(id) FROM memory_versions "
        "WHERE pack = ? AND owner = ? AND state <> 'intent' GROUP BY file)",
        (pack, tenant),
        lambda rows: {str(row["file"]): str(row["after"]) for row in rows},
    )


def version(pack: str, tenant: str, version_id: int) -> Query[Version | None]:
    """One version with its texts, None = it is not kept (any more)."""
    return Query(
        "SELECT * FROM memory_versions WHERE id = ? AND pack = ? AND owner = ? "
        "AND state <> 'intent'",
        (version_id, pack, tenant),
        lambda rows: version_of(rows[0]) if rows else None,
    )


def words_of_turn(turn_id: str) -> Query[str]:
    """The words that began a turn, "" = they are not kept (any more)."""
    return Query(
        "SELECT text FROM messages WHERE turn_id = ? AND role = 'user' ORDER BY id LIMIT 1",
        (turn_id,),
        lambda rows: str(rows[0]["text"]) if rows else "",
    )


def words_of_line(line_id: int) -> Query[str]:
    """The words that a line of the journal came from, "" = they are not kept (any more)."""
    return Query(
        "SELECT m.text FROM journal AS j JOIN messages AS m ON m.id = j.message_id WHERE j.id = ?",
        (line_id,),
        lambda rows: str(rows[0]["text"]) if rows else "",
    )


def undoable(changes: Sequence[Facts]) -> int:
    """Return the newest change that still stands and is no undo itself, 0 = there is none."""
    standing = (one["id"] for one in changes if not one["undone"] and one["origin"] != "undo")
    return next(standing, 0)
