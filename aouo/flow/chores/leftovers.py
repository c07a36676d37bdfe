"""Ends what nobody may answer: what was said off the record to a former process, and whatever is
of people who were taken off the list.
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import replace
from pathlib import Path

import structlog

from aouo.facts.events import Report, Triggered
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery
from aouo.flow import ending
from aouo.flow.files import media_files
from aouo.outbound.outbox import Outbox
from aouo.queue.running import Running, StopReason
from aouo.store import deliveries, jobs, off_record, report_parts, schedule_runs, schedules, turns
from aouo.store.database import Database, Tx
from aouo.words.catalogue import say

log = structlog.get_logger()
PATIENCE_S = 10.0
"""How long what is stopped may take to end by itself."""
_FILES = "Removing files that were sent off the record"
_WHY = StopReason.TAKEN_OFF.value


async def erase_unanswered(
    database: Database,
    clock: Clock,
    folder: Path,
    outbox: Outbox,
    taking: Callable[[str], AbstractAsyncContextManager[None]],
) -> None:
    """Erase what was said off the record and not answered, and say so once in each conversation;
    before anything is claimed. Its files in the media `folder` go inside a block of `taking`,
    which tells of a failure and lets the start go on."""
    now = stamp(clock)

    def erase(tx: Tx) -> list[Delivery]:
        told: list[Delivery] = []
        for job_id, inbound, stopped in off_record.unanswered(tx):
            jobs.drop(tx, job_id, "erased", now)
            told += ending.end_dropped(tx, job_id, inbound, "erased", now)
            if not stopped:  # else its person was told, and wants no more of it
                said, key = say("turns.erased"), f"erased:{job_id}"
                told.append(deliveries.add(tx, inbound.address, "notice", said, now, key=key))
        return told

    unanswered = await database.read(off_record.unanswered)
    if not unanswered:
        return
    for job_id, inbound, _ in unanswered:
        async with taking(_FILES):
            media_files.remove(folder, job_id, inbound)
    rows = await database.transact(erase, durable=True)
    log.info("off_record_erased", jobs=len(rows))
    outbox.put(*rows)


async def end_what_is_theirs(
    database: Database,
    clock: Clock,
    folder: Path,
    listed: Collection[str],
    running: Running,
    taking: Callable[[str], AbstractAsyncContextManager[None]],
) -> None:
    """Drop the jobs of all but the `listed`, end their turns, send nothing of it and switch their
    schedules off. What is in the chats stays as it is; what they said off the record is erased,
    with its files in the media `folder`. Each part is inside a block of `taking`, which tells of a
    failure and lets the others go on."""
    now, found, at_work = stamp(clock), Counter[str](), frozenset[int]()

    def drop(tx: Tx, but: Collection[int]) -> Counter[str]:
        dropped = Counter[str]()
        for job_id, inbound in jobs.of_others(tx, listed):
            if job_id in but:
                continue
            jobs.drop(tx, job_id, _WHY, now)
            if turn := turns.open_of(tx, job_id):
                report_parts.drop(tx, turn.id)
            ending.end_dropped(tx, job_id, inbound, _WHY, now)
            match inbound.content:
                case Triggered() as asked:
                    _stop_run(tx, job_id, asked, now)
                case Report() as report:
                    report_parts.drop(tx, report.turn_id)
                    jobs.rewrite(tx, job_id, replace(inbound, content=report.wordless))
                case _:
                    pass
            dropped[inbound.person.id] += 1
        return dropped

    async def end(but: Collection[int]) -> None:
        for job_id, inbound in await database.read(lambda tx: jobs.of_others(tx, listed)):
            if job_id not in but and await database.read(
                lambda tx, of=(job_id, inbound): off_record.hides(tx, *of)
            ):
                async with taking(_FILES):
                    media_files.remove(folder, job_id, inbound)
        found.update(await database.transact(lambda tx: drop(tx, but), durable=True))

    async with taking("Dropping what waits of people taken off the list"):
        # What waits goes first, or it would begin when what is before it ends.
        theirs = await database.read(lambda tx: jobs.of_others(tx, listed))
        at_work = running.at_work(job_id for job_id, _ in theirs)
        await end(at_work)
    if at_work:
        async with taking("Stopping what is at work for people taken off the list"):
            with suppress(TimeoutError):  # their claims are void then
                async with asyncio.timeout(PATIENCE_S):
                    await running.end(at_work, StopReason.TAKEN_OFF)
            await end(())
    async with taking("Holding back what was to be sent to people taken off the list"):
        for person in await database.transact(
            lambda tx: deliveries.drop_of_others(tx, listed, now), durable=True
        ):
            found[person] += 0
    async with taking("Switching off the schedules of people taken off the list"):
        for person in await database.transact(lambda tx: schedules.pause_others(tx, listed, now)):
            found[person] += 0
    for person, dropped in found.items():
        log.warning("person_taken_off", person=person, jobs=dropped)


def _stop_run(tx: Tx, job_id: int, asked: Triggered, now: str) -> None:
    if run := schedule_runs.get(tx, asked.trigger, asked.due_at):
        schedule_runs.settle(tx, run, "stopped", now, job_id=job_id, why=_WHY)
