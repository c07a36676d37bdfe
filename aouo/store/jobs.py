"""Stores jobs: inbounds on their way through a lane."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection
from dataclasses import replace
from typing import LiteralString

from aouo.facts import events
from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.commands import Carried, PostAction
from aouo.facts.errors import LostClaim, StopAsked
from aouo.facts.records import NEWEST
from aouo.facts.work import Job
from aouo.store import gates, rendered, routes
from aouo.store.database import Tx
from aouo.store.rows import columns, made

ENDED = "jobs"
"""Touched when a job ends or is parked, for those who wait for it."""
_NOBODYS = (events.Intruder, events.Migrated, events.Standing, events.TopicNamed, events.TopicShut)


def add(
    tx: Tx,
    lane: Lane,
    inbound: events.Inbound,
    now: str,
    *,
    due_at: str = "",
    carried: Carried | None = None,
) -> int:
    """Store a job, ready at once or gathering until `due_at`; return its id."""
    address = inbound.address
    album = inbound.content.id if isinstance(inbound.content, events.Album) else ""
    job_id = tx.insert(
        "jobs",
        {
            **columns(address),
            "lane": lane,
            "person": inbound.person.id,
            "origin": inbound.origin,
            "body": inbound.dump(),
            "album": album,
            "state": "gathering" if due_at else "ready",
            "due_at": due_at,
            "carried": carried.dump() if carried else "",
            "created_at": now,
        },
    )
    if inbound.message_id and isinstance(
        inbound.content, events.Text | events.Command | events.Attached | events.Album
    ):
        _found_by(tx, job_id, inbound)
    return job_id


def gathering(tx: Tx, lane: Lane, person: str) -> tuple[int, events.Inbound] | None:
    """The open burst or album of `person` in this lane; there is never more than one."""
    row = tx.one(
        "SELECT * FROM jobs WHERE lane = ? AND person = ? AND state = 'gathering'", lane, person
    )
    return (row["id"], inbound_of(row)) if row else None


def waiting(tx: Tx, lane: Lane, person: str) -> tuple[int, events.Inbound] | None:
    """The newest job of this lane, if it is `person`'s and nobody has begun it."""
    row = tx.one(
        "SELECT * FROM jobs WHERE id = (SELECT max(id) FROM jobs WHERE lane = ? AND "
        "state = 'ready') AND NOT EXISTS (SELECT 1 FROM turns WHERE job_id = jobs.id)",
        lane,
    )
    return (row["id"], inbound_of(row)) if row and row["person"] == person else None


def has_album(tx: Tx, lane: Lane, album: str) -> bool:
    """Whether this lane has a job with an item of this album."""
    return tx.finds(
        # the index holds albums only, and is taken only where the statement says so
        "SELECT 1 FROM jobs WHERE album = ? AND album <> '' AND lane = ? LIMIT 1",
        album,
        lane,
    )


def extend(tx: Tx, job_id: int, inbound: events.Inbound, due_at: str) -> None:
    """Add to a job that waits; it gathers until `due_at`, "" = it goes on waiting as it did."""
    content = inbound.content
    tx.run(
        "UPDATE jobs SET body = ?, due_at = ?, state = iif(? = '', state, 'gathering'), album = ? "
        "WHERE id = ?",
        inbound.dump(),
        due_at,
        due_at,
        content.id if isinstance(content, events.Album) else "",
        job_id,
    )
    _found_by(tx, job_id, inbound)


def rewrite(tx: Tx, job_id: int, inbound: events.Inbound) -> None:
    """Replace a job's inbound by one with other words for the same messages; a command is run
    anew."""
    tx.run(
        "UPDATE jobs SET body = ?, carried = '', forgotten = 0 WHERE id = ?", inbound.dump(), job_id
    )


def blank(tx: Tx, job: Job) -> None:
    """Erase a job's words, from the write-ahead log too."""
    tx.forget()
    tx.run(
        "UPDATE jobs SET body = ?, carried = '' WHERE id = ?",
        replace(job.inbound, content=events.Text("")).dump(),
        job.id,
    )


def forget_words(tx: Tx, job: Job) -> None:
    """Empty the job of an applied edit, whose words the edited job has now."""
    blank = replace(job.inbound, content=events.Edited(""))
    tx.run("UPDATE jobs SET body = ? WHERE id = ?", blank.dump(), job.id)


def _found_by(tx: Tx, job_id: int, inbound: events.Inbound) -> None:
    """Index the job by each of its messages, for `store.asked`."""
    content = inbound.content
    items = content.items if isinstance(content, events.Album) else ()
    parts = content.parts if isinstance(content, events.Text | events.Album) else ()
    for message_id in [one.message_id for one in (*parts, *items)] or [inbound.message_id]:
        tx.run(
            "INSERT OR REPLACE INTO job_messages VALUES (?, ?, ?, ?)",
            *inbound.address.chat_columns,
            message_id,
            job_id,
        )


def flush(tx: Tx, job_id: int) -> None:
    tx.run("UPDATE jobs SET state = 'ready' WHERE id = ? AND state = 'gathering'", job_id)


def flush_due(tx: Tx, now: str) -> list[Lane]:
    """Close the bursts whose window is over; return their lanes."""
    rows = tx.all(
        "UPDATE jobs SET state = 'ready' WHERE state = 'gathering' AND due_at <= ? RETURNING lane",
        now,
    )
    return [Lane(row["lane"]) for row in rows]


def next_due(tx: Tx) -> str:
    """When the next burst closes, "" = no burst is open."""
    return tx.text("SELECT min(due_at) AS due FROM jobs WHERE state = 'gathering'")


def void_claims(tx: Tx) -> None:
    """Give back the claims of an earlier process; the caller holds the home's lock.

    If it was killed, the turns at work are suspects. Its death counts against the one that was
    alone, and against the one that was a suspect before: of those one runs at a time.
    """
    tx.run(
        "UPDATE jobs SET suspect = 1, deaths = deaths + (suspect OR 1 = (SELECT count(*) FROM jobs "
        "WHERE state = 'running' AND at_work = 1)) WHERE state = 'running' AND at_work = 1"
    )
    tx.run("UPDATE jobs SET state = 'ready', fence = fence + 1 WHERE state = 'running'")


def open_lanes(tx: Tx) -> list[Lane]:
    """Return the lanes with a ready job: those that bypass others before all, then by the deaths
    that count against their oldest job, then by its age."""
    rows = tx.all(
        "SELECT lane, deaths, min(id) AS first FROM jobs WHERE state = 'ready' GROUP BY lane "
        "ORDER BY deaths, first"
    )
    return sorted((Lane(row["lane"]) for row in rows), key=lambda lane: not lane.bypasses)


def any_ready(tx: Tx, lane: Lane) -> bool:
    sql: LiteralString = "SELECT 1 FROM jobs WHERE lane = ? AND state = 'ready' LIMIT 1"
    return tx.one(sql, lane) is not None


def claim(tx: Tx, lane: Lane) -> Job | None:
    """Take the oldest ready job of a lane; its claim number is higher than any before."""
    row = tx.one(
        "UPDATE jobs SET state = 'running', fence = fence + 1, at_work = 0 WHERE id = "
        "(SELECT id FROM jobs WHERE lane = ? AND state = 'ready' ORDER BY id LIMIT 1) "
        "AND NOT EXISTS (SELECT 1 FROM jobs WHERE lane = ? AND state = 'running') RETURNING *",
        lane,
        lane,
    )
    if row is None:
        return None
    inbound, carried = _read(row)
    route = routes.find(tx, inbound.address)
    return Job(
        row["id"],
        lane,
        inbound,
        row["deaths"],
        row["fence"],
        suspect=bool(row["suspect"]),
        active_pack=route.active_pack if route else "",
        asked=gates.open_for(tx, inbound.address, inbound.person.id) is not None,
        off_record=route.off_record if route else False,
        stopped=bool(row["stopped"]),
        carried=carried,
    )


def of_turn(tx: Tx, turn_id: str) -> events.Inbound | None:
    """Return the inbound that a turn answers; its words are empty if they were not kept."""
    row = tx.one(
        "SELECT j.* FROM jobs AS j JOIN turns AS t ON t.job_id = j.id WHERE t.id = ?", turn_id
    )
    return inbound_of(row) if row else None


def settle(tx: Tx, job: Job, state: str, outcome: str, now: str) -> None:
    """End a claim with `done`, `parked`, `dropped` or `aside`. What its command left stays until a
    turn of it is answered, for one that tries again; only a report that is `parked` keeps its
    messages.

    Raises:
        LostClaim: the claim does not hold any more.
    """
    tx.touch(ENDED)
    changed = tx.run(
        "UPDATE jobs SET state = ?, outcome = ?, settled_at = ?, carried = CASE WHEN "
        "carried <> '' AND (SELECT status FROM turns WHERE job_id = jobs.id ORDER BY id DESC LIMIT "
        "1) = 'ack' THEN '' ELSE carried END "
        "WHERE id = ? AND fence = ? AND state = 'running'",
        state,
        outcome,
        now,
        job.id,
        job.claim_number,
    )
    if not changed:
        raise LostClaim(f"job {job.id} with claim {job.claim_number}")
    if isinstance(job.inbound.content, events.Report) and state != "parked":
        rendered.drop_parts(tx, job.inbound.content.turn_id)


def waits_for_a_person(tx: Tx, turn_id: str) -> None:
    """Clear the job: a death of the process while its turn waits for an answer is not its fault."""
    tx.run(
        "UPDATE jobs SET deaths = 0, suspect = 0, at_work = 0 WHERE state = 'running' AND id = "
        "(SELECT job_id FROM turns WHERE id = ?)",
        turn_id,
    )


def release(tx: Tx, job: Job) -> None:
    """Give a claim back unfinished, as if it had not begun: the process shuts down."""
    tx.run(
        "UPDATE jobs SET state = 'ready' WHERE id = ? AND fence = ? AND state = 'running'",
        job.id,
        job.claim_number,
    )


def carry(tx: Tx, job: Job, carried: Carried) -> None:
    """Give a claim back, for the turn that the job's command leaves the rest to."""
    keep(tx, job, carried)
    release(tx, job)


def keep(tx: Tx, job: Job, carried: Carried | None) -> None:
    """Store with a job what a command left to its turn, None = another job has it now."""
    tx.run(
        "UPDATE jobs SET carried = ?, forgotten = 0 WHERE id = ?",
        carried.dump() if carried else "",
        job.id,
    )


def carried_by(tx: Tx, turn_id: str) -> Carried | None:
    """Return what a command left to a turn that ended without an answer, for another job."""
    row = tx.one(
        "SELECT j.* FROM turns AS t JOIN jobs AS j ON j.id = t.job_id "
        "WHERE t.id = ? AND t.status <> 'ack'",
        turn_id,
    )
    carried = _read(row)[1] if row else None
    return replace(carried, command=carried.command or row["id"]) if row and carried else None


def take_post_action(tx: Tx, job: Job) -> PostAction | None:
    """Return the post-action that the job's answer is to do, and mark it as done for every job
    that carries it; None = there is none, or it was done."""
    if job.carried is None or job.carried.post_action is None:
        return None
    holder = job.carried.command or job.id
    row = tx.one("SELECT * FROM jobs WHERE id = ?", holder)
    left = _read(row)[1] if row else None
    if left is None or left.post_action is None:
        return None
    rest = replace(left, post_action=None).dump()
    tx.run("UPDATE jobs SET carried = ? WHERE id = ?", rest, holder)
    return left.post_action


def defer(tx: Tx, job: Job) -> Lane:
    """Give a claim back unfinished, to wait in the lane that it bypassed; returns that lane.

    Raises:
        LostClaim: as in `settle`.
    """
    row = tx.one(
        "UPDATE jobs SET state = 'ready', lane = ltrim(lane, ?) "
        "WHERE id = ? AND fence = ? AND state = 'running' RETURNING lane",
        Lane.MARK,
        job.id,
        job.claim_number,
    )
    if row is None:
        raise LostClaim(f"job {job.id} with claim {job.claim_number}")
    return Lane(row["lane"])


def check_claim(tx: Tx, job: Job, *, unless_stopped: bool = False, begins: bool = False) -> None:
    """Check that a claim holds, before anything is written in its name; with `unless_stopped`,
    for a beginning or an answer, also that nobody stopped the job. `begins`: its turn is at work
    from now on.

    Raises:
        LostClaim: as in `settle`.
        StopAsked: the job is to end without an answer.
    """
    held: LiteralString = "WHERE id = ? AND fence = ? AND state = 'running'"
    sql: LiteralString = (
        f"UPDATE jobs SET at_work = 1 {held} RETURNING stopped"
        if begins
        else f"SELECT stopped FROM jobs {held}"
    )
    row = tx.one(sql, job.id, job.claim_number)
    if row is None:
        raise LostClaim(f"job {job.id} with claim {job.claim_number}")
    if unless_stopped and row["stopped"]:
        raise StopAsked(f"job {job.id}")


def any_open(tx: Tx, lane: Lane) -> bool:
    """Whether a job in the lane of a trigger is not over."""
    return tx.finds(
        "SELECT 1 FROM jobs WHERE lane = ? AND state IN ('ready', 'running', 'parked') "
        "AND origin NOT IN ('chat', 'web', 'cli') LIMIT 1",
        lane,
    )


def move_reports(tx: Tx, lane: Lane, to: Lane) -> None:
    """Move what triggered turns brought into this lane, and waits there, to another lane."""
    tx.run(
        "UPDATE jobs SET lane = ? WHERE lane = ? AND state = 'ready' "
        "AND origin NOT IN ('chat', 'web', 'cli')",
        to,
        lane,
    )


def any_parked(tx: Tx, address: ConversationAddress) -> bool:
    """Whether a job of this conversation is parked."""
    return tx.finds(
        "SELECT 1 FROM jobs WHERE state = 'parked' "
        "AND platform = ? AND chat_id = ? AND thread_id = ? AND user_id = ?",
        *address.columns,
    )


def since_parked(tx: Tx, address: ConversationAddress) -> list[tuple[int, events.Inbound, bool]]:
    """Return the conversation's jobs (id, inbound, whether it waits for a pack) from the first that
    waits on, in their order."""
    rows = tx.all(
        "SELECT * FROM jobs WHERE platform = ? AND chat_id = ? AND thread_id = ? AND user_id = ? "
        "AND id >= (SELECT min(id) FROM jobs WHERE state = 'parked' AND platform = ? "
        "AND chat_id = ? AND thread_id = ? AND user_id = ?) ORDER BY id",
        *address.columns,
        *address.columns,
    )
    return [(row["id"], inbound_of(row), row["state"] == "parked") for row in rows]


def join(tx: Tx, job_id: int, into: int, inbound: events.Inbound) -> None:
    """Let a job be a part of another, which has the words of both now."""
    tx.run("UPDATE jobs SET state = 'done', outcome = 'answered with another' WHERE id = ?", job_id)
    extend(tx, into, inbound, "")


def replay_parked(tx: Tx, address: ConversationAddress) -> int:
    """Make the conversation's parked jobs ready again, in their old order; return how many."""
    return tx.run(
        "UPDATE jobs SET state = 'ready', deaths = 0 WHERE state = 'parked' "
        "AND platform = ? AND chat_id = ? AND thread_id = ? AND user_id = ?",
        *address.columns,
    )


def of_others(tx: Tx, listed: Collection[str]) -> list[tuple[int, events.Inbound]]:
    """Return the unsettled jobs (id, inbound) of people in Telegram who are not `listed`.

    Refusals, and Telegram's facts about a chat, belong to no person and are left out.
    """
    statements: tuple[LiteralString, ...] = (  # one a state: so each finds its index
        "SELECT * FROM jobs WHERE state = 'gathering' AND platform = 'tg' ORDER BY id",
        "SELECT * FROM jobs WHERE state = 'ready' AND platform = 'tg' ORDER BY id",
        "SELECT * FROM jobs WHERE state = 'running' AND platform = 'tg' ORDER BY id",
        "SELECT * FROM jobs WHERE state = 'parked' AND platform = 'tg' ORDER BY id",
    )
    rows = [row for sql in statements for row in tx.all(sql) if row["person"] not in listed]
    found = [(row["id"], inbound_of(row)) for row in rows]
    return [(job_id, one) for job_id, one in found if not isinstance(one.content, _NOBODYS)]


def drop(tx: Tx, job_id: int, outcome: str, now: str) -> None:
    """End a job that nobody holds."""
    tx.touch(ENDED)
    tx.run(
        "UPDATE jobs SET state = 'dropped', carried = '', outcome = ?, settled_at = ? WHERE id = ?",
        outcome,
        now,
        job_id,
    )


def drop_waiting(
    tx: Tx, lane: Lane, person: str, before: int, now: str
) -> list[tuple[int, events.Inbound]]:
    """Drop what `person` said in this lane before the job `before` and has not begun.

    Returns (id, inbound) of each job.
    """
    tx.touch(ENDED)
    statements: tuple[LiteralString, ...] = (  # one a state: so each finds its index
        "UPDATE jobs SET state = 'dropped', outcome = 'stopped', settled_at = ? "
        "WHERE lane = ? AND person = ? AND id < ? AND state = 'gathering' "
        "AND origin IN ('chat', 'web', 'cli') RETURNING *",
        "UPDATE jobs SET state = 'dropped', outcome = 'stopped', settled_at = ? "
        "WHERE lane = ? AND person = ? AND id < ? AND state = 'ready' "
        "AND origin IN ('chat', 'web', 'cli') RETURNING *",
        "UPDATE jobs SET state = 'dropped', outcome = 'stopped', settled_at = ? "
        "WHERE lane = ? AND person = ? AND id < ? AND state = 'parked' "
        "AND origin IN ('chat', 'web', 'cli') RETURNING *",
    )
    rows = [row for statement in statements for row in tx.all(statement, now, lane, person, before)]
    return [(row["id"], inbound_of(row)) for row in rows]


def is_settled(tx: Tx, job_id: int) -> bool:
    """Whether a job is over, or parked."""
    row = tx.one(
        "SELECT 1 FROM jobs WHERE id = ? AND state IN ('gathering', 'ready', 'running')", job_id
    )
    return row is None


def outcome(tx: Tx, job_id: int) -> tuple[str, str]:
    """Return the state of a job and what it ended with; "" each if it is forgotten."""
    row = tx.one("SELECT state, outcome FROM jobs WHERE id = ?", job_id)
    return (row["state"], row["outcome"]) if row else ("", "")


def at_work(tx: Tx, lane: Lane, before: int = NEWEST) -> tuple[int, str] | None:
    """Return (id, person) of the lane's running job if it is older than the job `before`."""
    row = tx.one(
        "SELECT id, person FROM jobs WHERE lane = ? AND state = 'running' AND id < ?", lane, before
    )
    return (row["id"], row["person"]) if row else None


def stop(tx: Tx, job_id: int) -> None:
    """Have a running job end without an answer."""
    tx.run("UPDATE jobs SET stopped = 1 WHERE id = ? AND state = 'running'", job_id)


def stop_turn(tx: Tx, turn_id: str) -> int:
    """Have a turn's running or ready job end without an answer; return its id, 0 = it is over."""
    return tx.number(
        "UPDATE jobs SET stopped = 1 WHERE id = (SELECT job_id FROM turns WHERE id = ?) "
        "AND state IN ('running', 'ready') RETURNING id",
        turn_id,
    )


def behind(tx: Tx, lane: Lane) -> tuple[events.Inbound | None, list[tuple[int, events.Inbound]]]:
    """Return a lane's running inbound, None = there is none, and the (id, inbound) after it."""
    row = tx.one("SELECT * FROM jobs WHERE lane = ? AND state = 'running'", lane)
    if row is None:
        return None, []
    rows = [
        *tx.all("SELECT * FROM jobs WHERE lane = ? AND state = 'ready' ORDER BY id", lane),
        *tx.all("SELECT * FROM jobs WHERE lane = ? AND state = 'gathering' ORDER BY id", lane),
    ]
    return inbound_of(row), [(waiting["id"], inbound_of(waiting)) for waiting in rows]


def first_ready(tx: Tx) -> list[tuple[Lane, str]]:
    """Return each lane with ready jobs, and since when the oldest is stored, oldest first."""
    rows = tx.all(
        "SELECT j.lane, j.created_at FROM (SELECT min(id) AS id FROM jobs WHERE state = 'ready' "
        "GROUP BY lane) AS f JOIN jobs AS j ON j.id = f.id ORDER BY j.id"
    )
    return [(Lane(row["lane"]), row["created_at"]) for row in rows]


def count(tx: Tx) -> int:
    """How many jobs there have been."""
    return tx.number("SELECT count(*) AS n FROM jobs")


def count_by_state(tx: Tx) -> dict[str, int]:
    """How many jobs are not over, by state; states without any are left out."""
    rows = tx.all(
        "SELECT 'gathering' AS state, count(*) AS n FROM jobs WHERE state = 'gathering' UNION ALL "
        "SELECT 'ready', count(*) FROM jobs WHERE state = 'ready' UNION ALL "
        "SELECT 'running', count(*) FROM jobs WHERE state = 'running' UNION ALL "
        "SELECT 'parked', count(*) FROM jobs WHERE state = 'parked'"
    )
    return {row["state"]: row["n"] for row in rows if row["n"]}


def _read(row: sqlite3.Row) -> tuple[events.Inbound, Carried | None]:
    """Read a row's inbound and what its command left; both are lost if that cannot be read."""
    inbound = inbound_of(row)
    try:
        return inbound, Carried.load(row["carried"]) if row["carried"] else None
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return replace(inbound, content=events.Illegible()), None


def inbound_of(row: sqlite3.Row) -> events.Inbound:
    """Read a row's inbound; its address comes from the columns, which follow a chat that moves.

    A body that cannot be read is `Illegible`: one broken row must not block a lane or a start.
    """
    address = made(ConversationAddress, row)
    try:
        return replace(events.Inbound.load(row["body"]), address=address)
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return events.Inbound(address, events.Person(row["person"]), events.Illegible())
