"""Opens the page: of a running bot, or of what is stored while none runs."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from datetime import tzinfo

from aouo.app.wiring import App
from aouo.config.file import Loaded
from aouo.config.sections import Dashboard
from aouo.dashboard.listening import Listening
from aouo.dashboard.reads import Reads
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.verbs import Facts
from aouo.store.snapshots import Snapshots


def page(app: App, loaded: Loaded, status: Callable[[], Awaitable[Facts]]) -> Listening:
    """Make the page of a running bot."""
    shared = app.shared
    reads = Reads(
        snapshot=shared.database.snapshot,
        day=lambda: app.generations.now.quota.day(),
        health=app.health.facts,
        status=status,
    )
    return Listening(shared.home, loaded.settings.dashboard, reads)


async def show_at_rest(
    home: Home, settings: Dashboard, zone: tzinfo | None, opened: Callable[[str], None]
) -> None:
    """Serve what is stored while no bot runs, for ever; `opened` is told where, or why not."""
    snapshots = Snapshots(home.database)

    async def health() -> Facts:
        return {"ok": False, "reasons": ["No bot runs; this is what is stored."]}

    async def status() -> Facts:
        return {"running": False}

    reads = Reads(
        snapshot=snapshots.open,
        day=lambda: SystemClock().now().astimezone(zone).date().isoformat(),
        health=health,
        status=status,
    )
    listening = Listening(home, settings, reads)
    try:
        serving = asyncio.ensure_future(listening.run())
        await asyncio.sleep(0)
        opened(listening.state)
        await serving
    finally:
        await snapshots.close()
