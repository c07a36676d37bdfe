"""Opens the page: of a running bot, or of what is stored while none runs."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial

from aouo.app.lifecycle import Runtime
from aouo.config.file import Loaded
from aouo.dashboard.listening import Listening
from aouo.dashboard.shown import Shown
from aouo.facts.people import Owner
from aouo.installer.installed import scan_at_rest
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.home import Home
from aouo.plumbing.redact import Redactor
from aouo.plumbing.verbs import Facts
from aouo.plumbing.zones import zone_of
from aouo.store.reading import read_beside
from aouo.store.snapshots import Snapshots
from aouo.web.session import secrets_of


def page(runtime: Runtime) -> Listening:
    """Make the page of a running bot."""
    app, loaded = runtime.app, runtime.loaded
    shared, generations = app.shared, app.generations
    shown = Shown(
        home=shared.home,
        environ=loaded.environ,
        clock=shared.clock,
        snapshot=shared.database.snapshot,
        zone=lambda: zone_of("", generations.now.cron.timezone),
        library=lambda: generations.library,
        settings=lambda: runtime.reloading.running,
        redactor=lambda: generations.redactor,
        owner=lambda: generations.now.owner,
        trusted_keys=lambda: generations.now.trusted_keys,
        health=app.health.facts,
        status=runtime.status,
        runtime=runtime,
    )
    return Listening(loaded.settings.dashboard, shown)


async def show_at_rest(home: Home, loaded: Loaded, opened: Callable[[str], None]) -> None:
    """Serve what is stored while no bot runs, for ever; `opened` is told where, or why not."""
    settings, snapshots = loaded.settings, Snapshots(home.database)
    look = partial(scan_at_rest, home, settings.packs, settings.tools.enabled)
    redactor = Redactor(secrets_of(settings.secrets(), loaded.environ))
    library = await asyncio.to_thread(look)

    async def health() -> Facts:
        return {"ok": False, "reasons": ["No bot runs; this is what is stored."]}

    async def status() -> Facts:
        return {"running": False}

    shown = Shown(
        home=home,
        environ=loaded.environ,
        clock=SystemClock(),
        snapshot=partial(read_beside, home.database, snapshots),
        zone=lambda: zone_of("", settings.cron.timezone),
        library=lambda: library,
        settings=lambda: settings,
        redactor=lambda: redactor,
        owner=lambda: Owner.of(settings.telegram.owner),
        trusted_keys=lambda: settings.packs.trusted_keys,
        health=health,
        status=status,
    )
    listening = Listening(settings.dashboard, shown)
    try:
        serving = asyncio.ensure_future(listening.run())
        await asyncio.sleep(0)
        opened(listening.state)
        await serving
    finally:
        await snapshots.close()
