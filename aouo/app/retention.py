"""Forgets what has been kept long enough, once at start and then daily."""

from __future__ import annotations

import asyncio
from datetime import timedelta
from typing import TYPE_CHECKING

import structlog

from aouo.facts.ports import iso
from aouo.flow.files import media_files
from aouo.store import (
    asked,
    deliveries,
    edits,
    forgetting,
    media,
    memory_versions,
    reactions,
    results,
    updates,
)
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()
_DAY_S = 24 * 3600.0


async def keep_tidy(app: App) -> None:
    """Prune for ever; 0 days keeps everything of a kind."""
    while True:
        await app.clock.sleep(60.0)  # not while everybody waits for the start
        try:
            await prune(app)
        except Exception as error:  # what cannot be pruned today stays until tomorrow
            log.exception("not_pruned", error=repr(error))
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
            gone["memory_versions"] = memory_versions.prune(tx, before)
        return gone

    gone = await app.database.transact(delete)
    if days.messages_days:
        gone["turns"] = await _forget(app, iso(now - timedelta(days=days.messages_days)))
    gone["media"] = await _prune_media(app, days.media_days)
    if any(gone.values()):
        log.info("pruned", **gone)


async def _forget(app: App, before: str) -> int:
    """The words of turns that are over, some at a time, then what stood for them."""
    turns = 0
    while some := await app.database.transact(lambda tx: forgetting.forget_turns(tx, before)):
        turns += some
    await app.database.transact(lambda tx: forgetting.forget_summaries(tx, before))
    return turns


async def _prune_media(app: App, days: int) -> int:
    """By age and by size together; 0 days keeps what fits."""
    before_s = (app.clock.now() - timedelta(days=days)).timestamp() if days else 0.0
    try:
        paths = await asyncio.to_thread(media_files.prune, app.home.media, before_s)
    except OSError as error:
        log.warning("media_not_pruned", error=str(error))
        return 0

    def forget(tx: Tx) -> None:
        for path in paths:
            media.forget(tx, path)

    if paths:
        await app.database.transact(forget)
    return len(paths)
