"""Forgets what has been kept long enough, once at start and then daily."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import structlog

from aouo.config.sections import Retention
from aouo.facts.ports import Clock, iso
from aouo.flow.files import media_files
from aouo.store import (
    asked,
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
from aouo.store.database import PRUNED_AT_ONCE, Database, Tx
from aouo.store.forgetting import Forgotten

log = structlog.get_logger()
_DAY_S = 24 * 3600.0


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
            gone["edits"] += await self._in_parts(asked.prune, before)
        if days.deliveries_days:
            before = iso(now - timedelta(days=days.deliveries_days))
            gone["deliveries"] = await self._walk(forgetting.forget_deliveries, before)
            gone["reactions"] = await self._in_parts(reactions.prune, before)
            gone["digests"] = await self._in_parts(kept_reports.prune, before)
            gone["schedules"] = await self._in_parts(schedules.prune, before)
        if days.messages_days:
            gone |= await self._forget(iso(now - timedelta(days=days.messages_days)), gone)
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
            "results": await self._in_parts(results.prune, before),
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
            paths = await asyncio.to_thread(media_files.prune, self.folder, before_s)
        except OSError as error:
            log.warning("media_not_pruned", error=str(error))
            return 0

        def forget(tx: Tx, some: Sequence[str]) -> None:
            for path in some:
                media.forget(tx, path)

        for first in range(0, len(paths), PRUNED_AT_ONCE):
            some = paths[first : first + PRUNED_AT_ONCE]
            await self.database.transact(lambda tx, some=some: forget(tx, some))
        return len(paths)
