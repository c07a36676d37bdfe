"""Forgets what has been kept long enough, once at start and then daily."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from aouo.ports import iso
from aouo.store import asked, deliveries, edits, reactions, results, updates
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()
_DAY_S = 24 * 3600.0


async def keep_tidy(app: App) -> None:
    """Prune for ever; 0 days keeps everything of a kind."""
    while True:
        await app.clock.sleep(60.0)  # not while everybody waits for the start
        await prune(app)
        await app.clock.sleep(_DAY_S)


async def prune(app: App) -> None:
    """Delete what is older than `retention` says."""
    days = app.settings.retention
    now = app.clock.now()

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
        if days.messages_days:
            before = iso(now - timedelta(days=days.messages_days))
            gone["results"] = results.prune(tx, before)
        return gone

    gone = await app.database.transact(delete)
    if any(gone.values()):
        log.info("pruned", **gone)
