"""Stores versions of memory files, with cause and undo, and reads their history."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from typing import Literal, LiteralString, cast

from aouo.facts.records import Basis, Cause, Source, Version
from aouo.plumbing.control import Facts
from aouo.store import journal
from aouo.store.database import PRUNED_AT_ONCE, Tx
from aouo.store.jobs import inbound_of
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query

_KEPT = 50
"""Versions of one file; older ones are forgotten."""


def cause_of_call(tx: Tx, turn_id: str, call_id: str) -> Cause:
    """Return where a call came from; one that is no tool call of a turn came from a summary."""
    asked = tx.one("SELECT 1 FROM tool_calls WHERE id = ?", call_id)
    row = tx.one(
        "SELECT j.* FROM turns AS t JOIN jobs AS j ON j.id = t.job_id WHERE t.id = ?", turn_id
    )
    if row is None or asked is None:
        return Cause("tool" if asked else "summary", turn_id)
    inbound = inbound_of(row)
    address = inbound.address
    return Cause(
        "tool", turn_id, inbound.person.id, address.platform, address.chat_id, inbound.message_id
    )


def intend(
    tx: Tx,
    pack: str,
    tenant: str,
    file: str,
    before: str,
    after: str,
    cause: Cause,
    now: str,
    *,
    call_id: str = "",
    undoes: int = 0,
) -> int:
    """Store a change that is about to be made, as an intent; return its id."""
    return _add(
        tx, pack, tenant, "intent", Version(0, file, before, after, cause, now, call_id, undoes)
    )


def intents(tx: Tx, pack: str, tenant: str) -> list[Version]:
    """Return the tenant's intents, oldest first; only the file tells whether one was made."""
    rows = tx.all(
        "SELECT * FROM memory_versions WHERE pack = ? AND owner = ? AND state = 'intent' "
        "ORDER BY id",
        pack,
        tenant,
    )
    return [_version_of(row) for row in rows]


def settle(tx: Tx, version_id: int) -> None:
    """Mark an intent as made, and the change that it undoes as undone; forget the oldest."""
    row = tx.one("UPDATE memory_versions SET state = 'done' WHERE id = ? RETURNING *", version_id)
    if row is None:
        return
    undone = tx.one(
        "UPDATE memory_versions SET state = 'undone' WHERE id = ? RETURNING undoes", row["undoes"]
    )
    if undone:  # an undo is taken back: what it undid stands again
        tx.run("UPDATE memory_versions SET state = 'done' WHERE id = ?", undone["undoes"])
    _forget_oldest(tx, row["pack"], row["owner"], row["file"])


def drop(tx: Tx, version_id: int) -> None:
    """Delete an intent whose change was not made."""
    tx.run("DELETE FROM memory_versions WHERE id = ?", version_id)


def note_hand(tx: Tx, pack: str, tenant: str, file: str, text: str, now: str) -> bool:
    """Store an edit by hand since the file's newest version; False = there was none."""
    newest = _newest_of(tx, pack, tenant, file)
    if newest is None or newest.after == text:
        return False
    _add(tx, pack, tenant, "done", Version(0, file, newest.after, text, Cause("hand"), now))
    _forget_oldest(tx, pack, tenant, file)
    return True


def is_edited(tx: Tx, pack: str, tenant: str, file: str, text: str) -> bool:
    """Whether the file was edited by hand since its newest version."""
    newest = _newest_of(tx, pack, tenant, file)
    return newest is not None and newest.after != text


def of_call(tx: Tx, pack: str, tenant: str, call_id: str) -> Version | None:
    """The change that a call made, None = it made none."""
    return _newest(tx, pack, tenant, "call_id = ? AND state <> 'intent'", call_id)


def undoable(tx: Tx, pack: str, tenant: str) -> Version | None:
    """The newest change of any file that still stands and is no undo itself."""
    return _newest(tx, pack, tenant, "state = 'done' AND origin <> 'undo'")


def newest(tx: Tx, pack: str, tenant: str, limit: int) -> list[Version]:
    """The newest changes of all files that were made, undone or not, newest first."""
    rows = tx.all(
        "SELECT * FROM memory_versions WHERE pack = ? AND owner = ? AND state <> 'intent' "
        "ORDER BY id DESC LIMIT ?",
        pack,
        tenant,
        limit,
    )
    return [_version_of(row) for row in rows]


def inferred(tx: Tx, pack: str, tenant: str, file: str) -> frozenset[str]:
    """Return the lines that the newest version which tells of them took from the journal without
    that anybody had said so."""
    bases: dict[str, Basis] = {}
    rows = tx.all(
        "SELECT sources FROM memory_versions WHERE pack = ? AND owner = ? AND file = ? "
        "AND state = 'done' AND sources <> '' ORDER BY id",
        pack,
        tenant,
        file,
    )
    for row in rows:
        bases |= {source.line: source.basis for source in _loaded(row["sources"])}
    return frozenset(line for line, basis in bases.items() if basis == "inferred")


def words_of(tx: Tx, version: Version) -> str:
    """The words of the message that a change came from, "" = they are not kept (any more)."""
    if version.cause.sources:
        return journal.words_of(tx, version.cause.sources[0].journal_ids)
    row = tx.one(
        "SELECT text FROM messages WHERE turn_id = ? AND role = 'user' ORDER BY id LIMIT 1",
        version.cause.turn_id,
    )
    return row["text"] if row and version.cause.turn_id else ""


def moved(tx: Tx, platform: str, chat_id: str) -> None:
    """Forget the message ids of a chat that moved: they are others in the new one."""
    tx.run(
        "UPDATE memory_versions SET message_id = 0 WHERE platform = ? AND chat_id = ? "
        "AND message_id > 0",
        platform,
        chat_id,
    )


def forget(tx: Tx, pack: str, tenant: str = "") -> int:
    """Delete all versions of a pack's memory, of one tenant or of all; return how many."""
    tx.forget()
    return tx.run(
        "DELETE FROM memory_versions WHERE pack = ? AND (? = '' OR owner = ?)", pack, tenant, tenant
    )


def prune(tx: Tx, before: str) -> int:
    """Delete some versions from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM memory_versions WHERE id IN (SELECT id FROM memory_versions "
        "WHERE at < ? AND state <> 'intent' LIMIT ?)",
        before,
        PRUNED_AT_ONCE,
    )


def _newest_of(tx: Tx, pack: str, tenant: str, file: str) -> Version | None:
    return _newest(tx, pack, tenant, "file = ? AND state <> 'intent'", file)


def _newest(
    tx: Tx, pack: str, tenant: str, condition: LiteralString, *values: str
) -> Version | None:
    row = tx.one(
        "SELECT * FROM memory_versions WHERE pack = ? AND owner = ? AND "
        + condition
        + " ORDER BY id DESC LIMIT 1",
        *(pack, tenant, *values),
    )
    return _version_of(row) if row else None


def _forget_oldest(tx: Tx, pack: str, tenant: str, file: str) -> None:
    key = (pack, tenant, file)
    tx.run(
        "DELETE FROM memory_versions WHERE pack = ? AND owner = ? AND file = ? AND id <= "
        "(SELECT id FROM memory_versions WHERE pack = ? AND owner = ? AND file = ? "
        "ORDER BY id DESC LIMIT 1 OFFSET ?)",
        *key,
        *key,
        _KEPT,
    )


def _add(tx: Tx, pack: str, tenant: str, state: Literal["intent", "done"], version: Version) -> int:
    cause = version.cause
    return tx.insert(
        "memory_versions",
        {
            **columns(version, "id", "cause"),
            **columns(cause, "sources"),
            "pack": pack,
            "owner": tenant,
            "state": state,
            "sources": _dumped(cause.sources),
        },
    )


def _dumped(sources: tuple[Source, ...]) -> str:
    rows = [[one.line, one.basis, one.journal_ids] for one in sources]
    return json.dumps(rows, ensure_ascii=False) if rows else ""


def _loaded(sources: str) -> tuple[Source, ...]:
    rows = cast("list[tuple[str, Basis, list[int]]]", json.loads(sources) if sources else [])
    return tuple(Source(line, basis, tuple(ids)) for line, basis, ids in rows)


def _version_of(row: sqlite3.Row) -> Version:
    """Read a row's version."""
    cause = made(Cause, row, sources=_loaded(row["sources"]))
    return made(Version, row, cause=cause)


_FILES = 4


def tenants_with_memory(pack: str) -> Query[tuple[str, ...]]:
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
        (pack, tenant, _KEPT * _FILES),
        lambda rows: [
            {**dict(row), "undone": bool(row["undone"]), "by_page": bool(row["by_page"])}
            for row in rows
        ],
    )


def newest_texts(pack: str, tenant: str) -> Query[dict[str, str]]:
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
        lambda rows: _version_of(rows[0]) if rows else None,
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


def undoable_change(changes: Sequence[Facts]) -> int:
    """Return the newest change that still stands and is no undo itself, 0 = there is none."""
    standing = (one["id"] for one in changes if not one["undone"] and one["origin"] != "undo")
    return next(standing, 0)
