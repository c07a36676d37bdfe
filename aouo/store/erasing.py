"""Shows and erases what is kept of one person. Ids, sums of what was used and the audit, which
holds hashes and no words, stay.

What somebody wrote is theirs wherever they wrote it; their private chat is theirs as a whole, with
the answers. Each function does its part in one transaction and may be done again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, LiteralString

from aouo.facts.events import Inbound
from aouo.facts.people import data_of
from aouo.store import contents, web_messages
from aouo.store.database import Tx
from aouo.store.forgetting import forget_turn
from aouo.store.jobs import inbound_of
from aouo.store.turns import REPORT

_JOBS_AT_ONCE: Final = 40
_LINES: Final = 20_000
"""The most of each kind that is shown."""
_THEIRS: Final = "(person = ? OR (platform = 'tg' AND chat_id = ?))"
_SESSIONS: Final = (
    "SELECT id FROM sessions WHERE session_key = 'tg:' || ? OR session_key LIKE 'tg:' || ? || ':%'"
)
_BY_PERSON: Final[tuple[LiteralString, ...]] = (
    "reactions",
    "grants",
    "kept_reports",
    "attention",
    "data_places",
    "refusals",
)
_BY_OWNER: Final[tuple[LiteralString, ...]] = (
    "onboarding",
    "memory_versions",
    "journal",
    "consolidations",
)


def tenant(person: str) -> str:
    """Return whose data of packs is theirs alone: that of their private chat."""
    return data_of("web", person)


def kept_of(tx: Tx, person: str) -> Iterator[tuple[str, list[str]]]:
    """Yield what is kept of somebody's words: a kind, and its lines."""
    said = tx.all(
        "SELECT m.created_at AS at, m.text FROM messages AS m JOIN turns AS t ON t.id = m.turn_id "
        "JOIN jobs AS j ON j.id = t.job_id WHERE j.person = ? AND m.role = 'user' "
        "ORDER BY m.id LIMIT ?",
        person,
        _LINES,
    )
    yield "said", [f"{row['at'][:16]} {row['text']}" for row in said]
    noted = tx.all("SELECT * FROM journal WHERE owner = ? LIMIT ?", tenant(person), _LINES)
    yield "noted", [str(row["text"]) for row in noted]
    rows = tx.all("SELECT * FROM schedules WHERE person = ? ORDER BY id", person)
    yield (
        "scheduled",
        [f"{row['text']}: {row['say'] or row['prompt'] or row['skill']}" for row in rows],
    )


def drop_waiting(tx: Tx, person: str, now: str, but: int) -> None:
    """Drop what of a person waits for a pack, but for the job `but`."""
    tx.run(
        "UPDATE jobs SET state = 'dropped', settled_at = ? "
        f"WHERE {_THEIRS} AND state = 'parked' AND id <> ?",
        now,
        person,
        person,
        but,
    )


def due(tx: Tx, person: str, but: int) -> list[tuple[int, Inbound]]:
    """Return some jobs of a person that are over and have words, but for the job `but`."""
    rows = tx.all(
        f"SELECT * FROM jobs WHERE {_THEIRS} AND id <> ? AND body <> '' "
        "AND state IN ('done', 'dropped', 'aside') LIMIT ?",
        person,
        person,
        but,
        _JOBS_AT_ONCE,
    )
    return [(row["id"], inbound_of(row)) for row in rows]


def is_busy(tx: Tx, person: str, but: int) -> bool:
    """Whether a job of a person is at work, or waits to be, and so keeps its words."""
    return tx.finds(
        f"SELECT 1 FROM jobs WHERE {_THEIRS} AND id <> ? AND body <> ''", person, person, but
    )


def erase_jobs(tx: Tx, jobs: Iterable[int]) -> None:
    """Erase the words of jobs that are over, with their turns; the caller removes their files."""
    for job in jobs:
        for turn in tx.all("SELECT id FROM turns WHERE job_id = ?", job):
            forget_turn(tx, turn["id"])
            tx.run("DELETE FROM messages WHERE turn_id = ?", f"{REPORT}{turn['id']}")
        tx.run("UPDATE jobs SET body = '', carried = '', forgotten = 1 WHERE id = ?", job)
        tx.run("DELETE FROM edits WHERE job_id = ?", job)
        contents.wipe_files(tx, job)


def is_told(tx: Tx, person: str) -> bool:
    """Whether nothing is on its way into somebody's private chat."""
    return not tx.finds(
        "SELECT 1 FROM deliveries WHERE state = 'queued' AND platform = 'tg' AND chat_id = ? "
        "UNION ALL "
        "SELECT 1 FROM deliveries WHERE state = 'sending' AND platform = 'tg' AND chat_id = ?",
        person,
        person,
    )


def erase_rest(tx: Tx, person: str, *, at_home: bool) -> None:
    """Erase what is not in somebody's jobs; the words of a group's summary go with theirs.
    `at_home`: the terminal and the page are theirs, too."""
    if at_home:
        for row in tx.all("SELECT DISTINCT chat_id FROM web_messages"):
            web_messages.forget(tx, row["chat_id"])
        tx.run(
            "UPDATE deliveries SET body = '' WHERE platform <> 'tg' "
            "AND state NOT IN ('queued', 'sending', 'live')"
        )
    spoke: Final = "SELECT t.session_id FROM turns AS t JOIN jobs AS j ON j.id = t.job_id"
    for column in ("session_id", "source_session_id"):
        tx.run(f"DELETE FROM summaries WHERE {column} IN ({_SESSIONS})", person, person)
        tx.run(f"DELETE FROM summaries WHERE {column} IN ({spoke} WHERE j.person = ?)", person)
    tx.run(f"DELETE FROM messages WHERE session_id IN ({_SESSIONS})", person, person)
    tx.run(f"UPDATE sessions SET title = '' WHERE id IN ({_SESSIONS})", person, person)
    tx.run(f"UPDATE sessions SET title = '' WHERE id IN ({spoke} WHERE j.person = ?)", person)
    tx.run(
        "UPDATE deliveries SET state = 'dropped' WHERE state = 'queued' AND platform = 'tg' "
        "AND chat_id = ?",
        person,
    )
    tx.run(
        "UPDATE deliveries SET body = '' WHERE platform = 'tg' AND chat_id = ? "
        "AND state NOT IN ('sending', 'live')",
        person,
    )
    _erase_quotes(tx, person)
    runs: Final = "DELETE FROM schedule_runs WHERE schedule_id IN"
    tx.run(f"{runs} (SELECT id FROM schedules WHERE person = ?)", person)
    tx.run("DELETE FROM schedules WHERE person = ?", person)
    for table in _BY_PERSON:
        tx.run(f"DELETE FROM {table} WHERE person = ?", person)
    for table in _BY_OWNER:
        tx.run(f"DELETE FROM {table} WHERE owner = ?", tenant(person))
    for form in ('"id":{},', '"id": {},'):
        tx.run("UPDATE updates SET body = '' WHERE instr(body, ?)", form.format(person))
    tx.run("UPDATE people SET name = '' WHERE person = ?", person)


def _erase_quotes(tx: Tx, person: str) -> None:
    """Erase what was said anywhere to somebody's jobs, and what changed or repeated such a message.
    The keys end in `:JOB:CLAIM:NUMBER`, see `flow.replies`."""
    jobs = {str(row["id"]) for row in tx.all("SELECT id FROM jobs WHERE person = ?", person)}
    over: Final = "body <> '' AND state NOT IN ('queued', 'sending', 'live')"
    for row in tx.all(f"SELECT id, key FROM deliveries WHERE key LIKE '%:%' AND {over}"):
        parts = str(row["key"]).split(":")
        if (parts[-3:-2] and parts[-3] in jobs) or (parts[0] == "aside" and parts[1] in jobs):
            tx.run("UPDATE deliveries SET body = '' WHERE id = ?", row["id"])
    tx.run(
        f"UPDATE deliveries SET body = '' WHERE {over} AND edits > 0 AND EXISTS "
        "(SELECT 1 FROM deliveries AS d WHERE d.chat_id = deliveries.chat_id "
        "AND d.message_id = deliveries.edits AND d.message_id > 0 AND d.body = '')"
    )
    tx.run(
        f"UPDATE deliveries SET body = '' WHERE {over} "
        "AND (key LIKE 'again:%' OR key LIKE 'unknown:%') AND EXISTS "
        "(SELECT 1 FROM deliveries AS d WHERE d.body = '' "
        "AND d.id = CAST(substr(deliveries.key, instr(deliveries.key, ':') + 1) AS INTEGER))"
    )
