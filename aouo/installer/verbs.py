"""What a terminal may ask of packs: the same words for the running bot and for a home at rest."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any

from aouo.config.settings import Settings
from aouo.facts.people import Owner
from aouo.facts.ports import stamp
from aouo.installer.changes import TERMINAL
from aouo.installer.installed import as_if, changed, scanned
from aouo.installer.packs import Packs
from aouo.installer.samples import sample_packs
from aouo.installer.unfinished import Takeover
from aouo.outbound.wording.packs import install_card
from aouo.packs.library import Library
from aouo.packs.stores import PackStores
from aouo.plumbing.clock import SystemClock
from aouo.plumbing.control import Request, Verb
from aouo.plumbing.home import Home
from aouo.plumbing.zones import zone_of
from aouo.store.database import Database
from aouo.store.migrate import migrate


def pack_verbs(packs: Packs, library: Callable[[], Library]) -> Mapping[str, Verb]:
    """The verbs; each raises `PackError`s."""

    async def offer(request: Request) -> dict[str, Any]:
        name = str(request.get("upgrade", ""))
        ours = str(request.get("source", "")) in map(str, sample_packs())
        made = await packs.offer(str(request.get("source", "")), TERMINAL, upgrade=name)
        change = made.change
        return {
            "id": change.id,
            "pack": change.pack,
            "version": change.version,
            "kind": change.kind,
            "card": install_card(made.summary, made.difference, ours=ours),
            "needs_consent": made.difference.needs_consent or made.difference.older,
            "same": made.same,
            "asks": [f"{one.topic}: {one.item or one.after}" for one in made.difference.asks],
        }

    async def accept(request: Request) -> dict[str, Any]:
        change = await packs.accept(str(request.get("id", "")), TERMINAL)
        return {"pack": change.pack, "version": change.version, "kind": change.kind}

    async def decline(request: Request) -> dict[str, Any]:
        change = await packs.decline(str(request.get("id", "")))
        return {"pack": change.pack}

    async def remove(request: Request) -> dict[str, Any]:
        purge = bool(request.get("purge", False))
        change = await packs.remove(str(request.get("pack", "")), TERMINAL, purge=purge)
        return {"pack": change.pack, "purged": purge}

    async def restore(request: Request) -> dict[str, Any]:
        before, problem = await packs.restore(
            str(request.get("pack", "")),
            Path(str(request.get("file", ""))),
            str(request.get("passphrase", "")),
        )
        return {"before": str(before) if before else "", "schedules_problem": problem}

    async def unread(request: Request) -> dict[str, Any]:
        del request
        return {"unread": await packs.unread()}

    async def refresh(request: Request) -> dict[str, Any]:
        del request
        before = library()
        await packs.refresh()
        found = library()
        broken = {name: list(map(str, problems)) for name, problems in found.broken.items()}
        return {
            "packs": list(found.names),
            "changed": list(changed(before, found)),
            "broken": broken,
        }

    return {
        "pack_offer": offer,
        "pack_accept": accept,
        "pack_decline": decline,
        "pack_remove": remove,
        "pack_restore": restore,
        "pack_unread": unread,
        "pack_refresh": refresh,
        "reload": refresh,
    }


@asynccontextmanager
async def at_rest(home: Home, settings: Settings) -> AsyncGenerator[Mapping[str, Verb]]:
    """The verbs on a home whose lock the caller holds, because no bot runs there.

    Raises:
        SetupError: the database cannot be used.
    """
    clock = SystemClock()
    database = Database(home.database)
    await database.open()
    try:
        await database.transact(lambda tx: migrate(tx, stamp(clock)), durable=True)
        shelf = [await scanned(home, settings, database)]

        def library() -> Library:
            return shelf[0]

        async def refresh() -> None:
            shelf[0] = await scanned(home, settings, database)

        owner = Owner.of(settings.telegram.owner)
        stores = PackStores(home, library, clock, bot_owner=owner.data_name)
        packs = Packs(
            home=home,
            clock=clock,
            database=database,
            stores=stores,
            library=library,
            alone=lambda pack: nullcontext(),
            scan=partial(as_if, home, settings, database),
            refresh=refresh,
            trusted_keys=lambda: settings.packs.trusted_keys,
            zone_of=partial(zone_of, default=settings.cron.timezone),
            owner=lambda: owner,
        )
        await packs.recover(Takeover())
        try:
            yield pack_verbs(packs, library)
        finally:
            stores.close()
    finally:
        await database.close()
