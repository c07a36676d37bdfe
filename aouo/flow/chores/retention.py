"""Forgets what was kept long enough, and ends what nobody may answer any more."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from functools import partial
from pathlib import Path

from aouo.config.sections import Retention
from aouo.facts.errors import SetupError
from aouo.facts.events import Report, Triggered
from aouo.facts.ports import Clock, iso, stamp
from aouo.facts.work import Delivery
from aouo.flow import media, waiting
from aouo.flow.media import prune_files
from aouo.outbound.outbox import Outbox, OwnerNotices
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import look_of
from aouo.queue.running import Running, StopReason
from aouo.store import (
    audit,
    contents,
    deliveries,
    edits,
    forgetting,
    jobs,
    journal,
    kept_changes,
    kept_reports,
    memory_versions,
    off_record,
    rendered,
    schedule_runs,
    schedules,
    search,
    turns,
    updates,
    web_messages,
)
from aouo.store.database import PRUNED_AT_ONCE, Database, Tx, copy_of
from aouo.store.forgetting import Forgotten
from aouo.store.opening import keep_copy
from aouo.words.catalogue import say, speaking, text
from aouo.words.schedules import restored

_PATIENCE_S = 10.0
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
            told += waiting.end_dropped(tx, job_id, inbound, "erased", now)
            if not stopped:  # else its person was told, and wants no more of it
                said, key = say("turns.erased"), f"erased:{job_id}"
                told.append(deliveries.add(tx, inbound.address, "notice", said, now, key=key))
        return told

    unanswered = await database.read(off_record.unanswered)
    if not unanswered:
        return
    for job_id, inbound, _ in unanswered:
        async with taking(_FILES):
            media.remove_files(folder, job_id, inbound)
    rows = await database.transact(erase, durable=True)
    log.info("off_record_erased", jobs=len(rows))
    outbox.put(*rows)


async def tell_restored(
    database: Database, clock: Clock, outbox: Outbox, language: Callable[[str], str]
) -> None:
    """Say once in each conversation what a restored backup has switched off there."""
    now = stamp(clock)

    def write(tx: Tx) -> list[Delivery]:
        notices: list[Delivery] = []
        rows = schedules.restored(tx)
        for address in dict.fromkeys(row.address for row in rows):
            key = f"restored:{address.lane}"
            theirs = [row for row in rows if row.address == address]
            if not deliveries.has_key(tx, key):
                with speaking(language(theirs[0].person)):
                    notice = restored(theirs)
                notices.append(deliveries.add(tx, address, "notice", notice, now, key=key))
        return notices

    outbox.put(*await database.transact(write))


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
                rendered.drop_parts(tx, turn.id)
            waiting.end_dropped(tx, job_id, inbound, _WHY, now)
            match inbound.content:
                case Triggered() as asked:
                    _stop_run(tx, job_id, asked, now)
                case Report() as report:
                    rendered.drop_parts(tx, report.turn_id)
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
                    media.remove_files(folder, job_id, inbound)
        found.update(await database.transact(lambda tx: drop(tx, but), durable=True))

    async with taking("Dropping what waits of people taken off the list"):
        # What waits goes first, or it would begin when what is before it ends.
        theirs = await database.read(lambda tx: jobs.of_others(tx, listed))
        at_work = running.at_work(job_id for job_id, _ in theirs)
        await end(at_work)
    if at_work:
        async with taking("Stopping what is at work for people taken off the list"):
            with suppress(TimeoutError):  # their claims are void then
                async with asyncio.timeout(_PATIENCE_S):
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


_DAY_S = 24 * 3600.0
_HOUR_S = 3600.0
_SETTLED_S = 600.0
"""After a start, of which there may be several a day."""


async def keep_copies(database: Database, clock: Clock, owner_notices: OwnerNotices) -> None:
    """Keep a copy of the database that is a day old at most, for ever; where it cannot be made
    the owner hears why: the database may be damaged."""
    wait_s = _SETTLED_S
    while True:
        await clock.sleep(wait_s)
        wait_s = _HOUR_S
        head = await database.read(audit.head)
        log.info("audit_head", row=head.id, chain=head.chain)
        made = look_of(copy_of(database.path))
        if made and clock.now().timestamp() - made[2] / 1e9 < _DAY_S:
            continue
        try:
            if not await asyncio.to_thread(keep_copy, database.path):
                log.warning("database_not_copied", why="there is too little room")
        except SetupError as error:
            log.error("database_not_copied", why=str(error))
            await owner_notices.tell(partial(text, "parts.no-copy", problem=str(error)))


@dataclass(slots=True, eq=False, kw_only=True)
class Tidying:
    """Deletes what is older than `days` say; 0 days keeps everything of a kind.

    `folder` is where files lie that people sent.
    """

    database: Database
    clock: Clock
    folder: Path
    days: Callable[[], Retention]

    async def run(self) -> None:
        """Prune for ever."""
        while True:
            await self.clock.sleep(60.0)  # not while everybody waits for the start
            try:
                await self.prune()
            except Exception as error:  # what cannot be pruned today stays until tomorrow
                log.exception("not_pruned", error=repr(error))
            await self.clock.sleep(_DAY_S)

    async def prune(self) -> None:
        """Delete what is too old now, some rows at a time, and give their space back."""
        days, now = self.days(), self.clock.now()
        gone: dict[str, int] = {}
        if days.updates_days:
            before = iso(now - timedelta(days=days.updates_days))
            gone["updates"] = await self._in_parts(updates.prune, before)
            gone["edits"] = await self._in_parts(edits.prune, before)
            gone["edits"] += await self._in_parts(edits.prune_asked, before)
        if days.deliveries_days:
            before = iso(now - timedelta(days=days.deliveries_days))
            gone["deliveries"] = await self._walk(forgetting.forget_deliveries, before)
            gone["reactions"] = await self._in_parts(edits.prune_reactions, before)
            gone["digests"] = await self._in_parts(kept_reports.prune, before)
            gone["schedules"] = await self._in_parts(schedules.prune, before)
            gone["runs"] = await self._in_parts(schedule_runs.prune, before)
        if days.messages_days:
            gone |= await self._forget(iso(now - timedelta(days=days.messages_days)), gone)
        gone["copies"] = 0
        while some := await self.database.transact(kept_changes.prune):
            gone["copies"] += some
        gone["media"] = await self._prune_media(days.media_days)
        if any(gone.values()):
            log.info("pruned", **gone)
        while await self.database.transact(Tx.give_back):
            pass

    async def _in_parts(self, prune: Callable[[Tx, str], int], before: str) -> int:
        """Run `prune` until nothing is left, each time in a transaction; return how many rows."""
        gone = 0
        while some := await self.database.transact(lambda tx: prune(tx, before)):
            gone += some
        return gone

    async def _walk(self, forget: Callable[[Tx, str, int], Forgotten], before: str) -> int:
        """Run `forget` over all rows, each time in a transaction; return how many it forgot."""
        many, after = 0, 0
        while True:
            some, after = await self.database.transact(
                lambda tx, after=after: forget(tx, before, after)
            )
            many += some
            if not after:
                return many

    async def _forget(self, before: str, gone: Mapping[str, int]) -> dict[str, int]:
        """Forget what was noted and said, then what stood for it, then sessions without any."""
        digests = gone.get("digests", 0) + await self._in_parts(kept_reports.prune, before)
        noted = {
            "memory_versions": await self._in_parts(memory_versions.prune, before),
            "digests": digests,
            "journal": await self._in_parts(journal.prune, before),
            "web_messages": await self._in_parts(web_messages.prune, before),
        }
        said = {
            "results": await self._in_parts(contents.prune_results, before),
            "turns": await self._walk(forgetting.forget_turns, before),
            "jobs": await self._walk(forgetting.forget_jobs, before),
        }
        await self._in_parts(forgetting.forget_summaries, before)
        said["ended"] = await self._in_parts(forgetting.end_sessions, before)
        if any(said.values()):
            await self._forget_traces()
        return {**noted, **said}

    async def _forget_traces(self) -> None:
        """Take the words that are gone out of the search index and the write-ahead log as well."""
        transact, begins = self.database.transact, True
        while await transact(lambda tx, begins=begins: search.purge(tx, begins=begins)):
            begins = False
        await transact(Tx.forget)

    async def _prune_media(self, days: int) -> int:
        """By age and by size together; 0 days keeps what fits."""
        before_s = (self.clock.now() - timedelta(days=days)).timestamp() if days else 0.0
        try:
            paths = await asyncio.to_thread(prune_files, self.folder, before_s)
        except OSError as error:
            log.warning("media_not_pruned", error=str(error))
            return 0

        def forget(tx: Tx, some: Sequence[str]) -> None:
            for path in some:
                contents.forget_file(tx, path)

        for first in range(0, len(paths), PRUNED_AT_ONCE):
            some = paths[first : first + PRUNED_AT_ONCE]
            await self.database.transact(lambda tx, some=some: forget(tx, some))
        return len(paths)
