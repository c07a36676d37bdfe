"""Stores what is long: texts of prompts, results of tools, and where files of jobs lie."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import LiteralString

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Album, Attached
from aouo.facts.work import KeptFile
from aouo.store import edits
from aouo.store.database import Tx
from aouo.store.rows import columns, made
from aouo.store.snapshots import Query


def keep_prompts(tx: Tx, turn_id: str, texts: Mapping[str, str]) -> None:
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


def erase_prompts(tx: Tx, turn_id: str) -> None:
    """Erase the texts that no newer turn had."""
    tx.run("DELETE FROM prompts WHERE turn_id = ?", turn_id)


def erase_prompts_of_pack(tx: Tx, pack: str) -> None:
    """Erase the texts of a pack's prompts, which hold what it remembered."""
    tx.run(
        "DELETE FROM prompts WHERE EXISTS "
        "(SELECT 1 FROM turns WHERE id = prompts.turn_id AND pack = ?)",
        pack,
    )


def prompt_texts(digests: Sequence[str], at_most_chars: int) -> Query[list[str]]:
    """Find the texts that are kept of up to two, in the order of the digests, cut if long."""
    first, second = (*digests, "", "")[:2]
    return Query(
        "SELECT substr(text, 1, ?) AS text FROM prompts WHERE digest IN (?, ?) "
        "ORDER BY digest <> ?",
        (at_most_chars, first, second, first),
        lambda rows: [row["text"] for row in rows],
    )


_LINE: LiteralString = (
    "WITH RECURSIVE line (session_id) AS (SELECT ? UNION SELECT s.source_session_id "
    "FROM summaries AS s JOIN line ON s.session_id = line.session_id) "
)
"""A session and those that it continues: see `store.summaries`."""


def put_result(
    tx: Tx,
    session_id: str,
    result_id: str,
    text: str,
    now: str,
    *,
    turn_id: str,
    call_id: str,
    tool: str,
) -> None:
    """Keep a result's redacted text; a call that runs once more after a crash replaces its own.

    `result_id` is unique in its session.
    """
    tx.put(
        "results",
        {
            "id": result_id,
            "session_id": session_id,
            "turn_id": turn_id,
            "call_id": call_id,
            "tool": tool,
            "text": text,
            "created_at": now,
        },
        "ON CONFLICT (session_id, id) DO UPDATE SET turn_id = excluded.turn_id, "
        "call_id = excluded.call_id, tool = excluded.tool, text = excluded.text, "
        "created_at = excluded.created_at",
    )


def result_text(tx: Tx, session_id: str, result_id: str) -> str:
    """Return the whole text of a handle of this session or of one that it continues, "" = there
    is no such handle."""
    return tx.text(
        _LINE + "SELECT text FROM results JOIN line USING (session_id) WHERE id = ? "
        "ORDER BY results.created_at DESC LIMIT 1",
        session_id,
        result_id,
    )


def any_results(tx: Tx, session_id: str) -> bool:
    """Whether the session, or one that it continues, has a stored result."""
    return tx.finds(
        _LINE + "SELECT 1 FROM results JOIN line USING (session_id) LIMIT 1", session_id
    )


def erase_results(tx: Tx, turn_id: str) -> int:
    """Delete a turn's results; return how many."""
    return tx.run("DELETE FROM results WHERE turn_id = ?", turn_id)


_PRUNED_AT_ONCE = 50
"""A result may have megabytes."""


def prune_results(tx: Tx, before: str) -> int:
    """Delete some results from before `before`; return how many, 0 = there are no more."""
    return tx.run(
        "DELETE FROM results WHERE rowid IN "
        "(SELECT rowid FROM results WHERE created_at < ? LIMIT ?)",
        before,
        _PRUNED_AT_ONCE,
    )


def files_of_job(tx: Tx, job_id: int) -> dict[int, KeptFile]:
    """Return the job's files: position → file."""
    rows = tx.all("SELECT * FROM media WHERE job_id = ? ORDER BY position", job_id)
    return {row["position"]: _kept(row) for row in rows}


def file_of_message(tx: Tx, address: ConversationAddress, message_id: int) -> KeptFile | None:
    """Return the file that a message in this chat brought, None = there is none any more."""
    asked = edits.asked_by(tx, address, message_id)
    content = asked.inbound.content if asked else None
    if asked is None or not isinstance(content, Attached | Album):
        return None
    files = files_of_job(tx, asked.job_id)
    brought = (at for at, item in enumerate(content.items) if item.message_id == message_id)
    return files.get(next(brought, -1))


def keep_file(tx: Tx, job_id: int, kept: KeptFile, now: str) -> None:
    """Store a file, or update what is known of it."""
    tx.put(
        "media",
        {
            **columns(kept, "understood"),
            "job_id": job_id,
            "state": "understood" if kept.understood else "fetched",
            "created_at": now,
        },
        "ON CONFLICT (job_id, position) DO UPDATE SET path = excluded.path, "
        "size_bytes = excluded.size_bytes, state = excluded.state, text = excluded.text",
    )


def lend_files(tx: Tx, turn_id: str, job_id: int) -> None:
    """Give the files of a turn's job to another job, which answers the same words again."""
    tx.run(
        "INSERT OR IGNORE INTO media (job_id, position, kind, path, mime_type, size_bytes, state, "
        "text, created_at) SELECT ?, m.position, m.kind, m.path, m.mime_type, m.size_bytes, "
        "m.state, m.text, m.created_at FROM media AS m JOIN turns AS t ON t.job_id = m.job_id "
        "WHERE t.id = ?",
        job_id,
        turn_id,
    )


def wipe_files(tx: Tx, job_id: int) -> None:
    """Delete the rows of a job's files; the caller removes the files themselves."""
    tx.run("DELETE FROM media WHERE job_id = ?", job_id)


def forget_file(tx: Tx, path: str) -> None:
    """Delete the rows of a file that is gone."""
    tx.run("DELETE FROM media WHERE path = ?", path)


def forget_folder(tx: Tx, folder: str) -> None:
    """Delete the rows of all files in a folder of the media, which are gone."""
    tx.run("DELETE FROM media WHERE substr(path, 1, length(?)) = ?", f"{folder}/", f"{folder}/")


def _kept(row: sqlite3.Row) -> KeptFile:
    return made(KeptFile, row, understood=row["state"] == "understood")


def mark_file(tx: Tx, path: str, source: str) -> None:
    """Note whose words, besides the person's own, a file may repeat from now on, "" = nobody's."""
    tx.run("DELETE FROM marked_files WHERE path = ?", path)
    if source:
        tx.put("marked_files", {"path": path, "source": source})


def source_in_folder(tx: Tx, folder: str) -> str:
    """Return whose words the marked files in a folder repeat, also deeper ones; "" = nobody's."""
    return tx.text(
        "SELECT coalesce(group_concat(DISTINCT source), '') FROM marked_files "
        "WHERE source <> '' AND path > ? AND path < ?",
        f"{folder}/",
        f"{folder}0",
    )


def source_of_file(tx: Tx, paths: Sequence[str]) -> str:
    """Return whose words the first of these repeats that repeats any: a file, and the folders above
    it."""
    return tx.text(
        "SELECT source FROM marked_files WHERE path IN (SELECT value FROM json_each(?)) "
        "ORDER BY length(path) DESC LIMIT 1",
        json.dumps(paths),
    )
