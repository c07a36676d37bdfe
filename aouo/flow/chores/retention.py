"""Forgets what has been kept long enough, once at start and then daily."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import structlog

from aouo.config.sections import Retention
from aouo.facts.ports import Clock, iso
from aouo.flow.files import media_files
from aouo.store import (
    asked,
    deliveries,
    edits,
    forgetting,
    journal,
    kept_reports,
    media,
    memory_versions,
    reactions,
    results,
    schedules,
    search,
    updates,
    web_messages,
)
from aouo.store.database import Database, Tx

log = structlog.get_logger()
_DAY_S = 24 * 3600.0


class Tidying:
    """Deletes what is older than `days` say; 0 days keeps everything of a kind.

    `folder` is where files lie that people sent.
    """

    def __init__(
        self, *, database: Database, clock: Clock, folder: Path, days: Callable[[], Retention]
    ) -> None:
        self._database = database
        self._clock = clock
        self._folder = folder
        self._days = days

    async def run(self) -> None:
        """Prune for ever."""
        while True:
            await self._clock.sleep(60.0)  # not while everybody waits for the start
            try:
                await self.prune()
            except Exception as error:  # what cannot be pruned today stays until tomorrow
                log.exception("not_pruned", error=repr(error))
            await self._clock.sleep(_DAY_S)

    async def prune(self) -> None:
        """Delete what is too old now."""
        days, now = self._days(), self._clock.now()

        def delete(tx: Tx) -> dict[str, int]:
            gone: dict[str, int] = {}
            if days.updates_days:
                before = iso(now - timedelta(days=days.updates_days))
                gone["updates"] = updates.prune(tx, before)
                gone["edits"] = edits.prune(tx, before) + asked.prune(tx, before)
            if days.deliveries_days:
                before = iso(now - timedelta(days=days.deliveries_days))
                gone["deliveries"] = deliveries.prune(tx, before)
                gone["reactions"] = reactions.prune(tx, before)
                gone["digests"] = kept_reports.prune(tx, before)
                gone["schedules"] = schedules.prune(tx, before)
            if days.messages_days:
                before = iso(now - timedelta(days=days.messages_days))
                gone["memory_versions"] = memory_versions.prune(tx, before)
                gone["digests"] = gone.get("digests", 0) + kept_reports.prune(tx, before)
                gone["journal"] = journal.prune(tx, before)
                gone["web_messages"] = web_messages.prune(tx, before)
            return gone

        gone = await self._database.transact(delete)
        if days.messages_days:
            gone |= await self._forget(iso(now - timedelta(days=days.messages_days)))
        gone["media"] = await self._prune_media(days.media_days)
        if any(gone.values()):
            log.info("pruned", **gone)

    async def _forget(self, before: str) -> dict[str, int]:
        """What was said, some at a time, then what stood for it, then sessions without any."""
        transact = self._database.transact
        gone = {"results": 0, "turns": 0, "jobs": 0, "ended": 0}
        while some := await transact(lambda tx: results.prune(tx, before)):
            gone["results"] += some
        after = 0
        while True:
            forgotten = await transact(
                lambda tx, after=after: forgetting.forget_turns(tx, before, after)
            )
            gone["turns"] += forgotten.turns
            if not (after := forgotten.upto):
                break
        after = 0
        while True:
            emptied = await transact(
                lambda tx, after=after: forgetting.forget_jobs(tx, before, after)
            )
            gone["jobs"] += emptied.turns
            if not (after := emptied.upto):
                break
        await transact(lambda tx: forgetting.forget_summaries(tx, before))
        while some := await transact(lambda tx: forgetting.end_sessions(tx, before)):
            gone["ended"] += some
        if any(gone.values()):
            await self._forget_traces()
        return gone

    async def _forget_traces(self) -> None:
        """Take the words that are gone out of the search index and the write-ahead log as well."""
        transact, begins = self._database.transact, True
        while await transact(lambda tx, begins=begins: search.purge(tx, begins=begins)):
            begins = False
        await transact(Tx.forget)

    async def _prune_media(self, days: int) -> int:
        """By age and by size together; 0 days keeps what fits."""
        before_s = (self._clock.now() - timedelta(days=days)).timestamp() if days else 0.0
        try:
            paths = await asyncio.to_thread(media_files.prune, self._folder, before_s)
        except OSError as error:
            log.warning("media_not_pruned", error=str(error))
            return 0

        def forget(tx: Tx) -> None:
            for path in paths:
                media.forget(tx, path)

        if paths:
            await self._database.transact(forget)
        return len(paths)
