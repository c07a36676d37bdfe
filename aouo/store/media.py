"""Stores the files of jobs: where each one lies, and what was heard or seen in it."""

from __future__ import annotations

import sqlite3

from aouo.facts.work import KeptFile
from aouo.store.database import Tx
from aouo.store.rows import columns, made


def of_job(tx: Tx, job_id: int) -> dict[int, KeptFile]:
    """Return the job's files: position → file."""
    rows = tx.all("SELECT * FROM media WHERE job_id = ? ORDER BY position", job_id)
    return {row["position"]: _kept(row) for row in rows}


def keep(tx: Tx, job_id: int, kept: KeptFile, now: str) -> None:
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


def lend(tx: Tx, turn_id: str, job_id: int) -> None:
    """Give the files of a turn's job to another job, which answers the same words again."""
    tx.run(
        "INSERT OR IGNORE INTO media (job_id, position, kind, path, mime_type, size_bytes, state, "
        "text, created_at) SELECT ?, m.position, m.kind, m.path, m.mime_type, m.size_bytes, "
        "m.state, m.text, m.created_at FROM media AS m JOIN turns AS t ON t.job_id = m.job_id "
        "WHERE t.id = ?",
        job_id,
        turn_id,
    )


def wipe(tx: Tx, job_id: int) -> None:
    """Delete the rows of a job's files; the caller removes the files themselves."""
    tx.run("DELETE FROM media WHERE job_id = ?", job_id)


def forget(tx: Tx, path: str) -> None:
    """Delete the rows of a file that is gone."""
    tx.run("DELETE FROM media WHERE path = ?", path)


def forget_folder(tx: Tx, folder: str) -> None:
    """Delete the rows of all files in a folder of the media, which are gone."""
    tx.run("DELETE FROM media WHERE substr(path, 1, length(?)) = ?", f"{folder}/", f"{folder}/")


def _kept(row: sqlite3.Row) -> KeptFile:
    return made(KeptFile, row, understood=row["state"] == "understood")
