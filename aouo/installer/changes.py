"""Carries out one change of a pack: its folder, its databases and its record, or none.

Each step is idempotent, so a change that is half done after a kill is carried out again.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import PackError
from aouo.facts.people import Owner
from aouo.facts.ports import Clock, iso, stamp
from aouo.facts.records import Change, Install
from aouo.facts.schedule import ZoneOf
from aouo.packs.format.problems import errors
from aouo.packs.library import Library
from aouo.packs.load import Pack, load_pack
from aouo.packs.shipping.archive import Places, content_hash
from aouo.packs.stores import PackStores
from aouo.plumbing import failpoint
from aouo.plumbing.home import Home
from aouo.plumbing.logs import log
from aouo.plumbing.trees import remove
from aouo.schedules import proposals
from aouo.schedules.proposals import Place
from aouo.store import (
    contents,
    installs,
    journal,
    kept_changes,
    memory_versions,
    routes,
    schedules,
    web_messages,
)
from aouo.store.database import Database, Tx


@dataclass(frozen=True, slots=True, kw_only=True)
class PackKit:
    """What every change of packs needs.

    `library` gives the packs as turns see them. Within `alone` no turn uses the pack. `scan` loads
    the packs as if they were pinned to these digests; `refresh` loads them as they are, for new
    turns. The `owner`'s chat gets the schedules of packs that are installed at a terminal.
    """

    home: Home
    clock: Clock
    database: Database
    stores: PackStores
    library: Callable[[], Library]
    alone: Callable[[str], AbstractAsyncContextManager[None]]
    scan: Callable[[Mapping[str, str]], Awaitable[Library]]
    refresh: Callable[[], Awaitable[None]]
    trusted_keys: Callable[[], Mapping[str, str]]
    zone_of: ZoneOf
    owner: Callable[[], Owner]


TERMINAL = "terminal"
"""The name, as a person, of changes made at a terminal of this machine."""


async def carry_out(kit: PackKit, change: Change) -> None:
    """Carry out a begun change, or what is left of it after a kill; the caller holds `alone`.

    Raises:
        PackError: it failed, and what was installed before is as it was.
    """
    if change.kind == "remove":
        await _take_away(kit, change)
    else:
        await _put(kit, change)


async def _put(kit: PackKit, change: Change) -> None:
    """Migrate the pack's databases, put its folder in place, and check that it loads."""
    places = Places.of(kit.home.packs, change.id, change.pack)
    before = await kit.database.read(lambda tx: installs.of(tx, change.pack))
    await asyncio.to_thread(kit.stores.release, change.pack)

    try:
        pack = await asyncio.to_thread(_unchanged, places, change)
        await asyncio.to_thread(kit.stores.migrate_all, pack, places.note)
        failpoint.reached("after a pack's databases are migrated")
        await asyncio.to_thread(places.put)
        failpoint.reached("after a pack took its place")
        found = await kit.scan({change.pack: change.digest})
        if found.get(change.pack) is None:
            raise PackError(_why_not(found, change.pack))
        await _record(kit, change, pack)
    except Exception as error:  # cancelled is not failed: the next start ends what was begun
        await _undo(kit, change, places, before, error)
        await kit.refresh()
        raise
    failpoint.reached("after a pack is recorded")
    await kit.refresh()
    await asyncio.to_thread(places.clear)


async def _record(kit: PackKit, change: Change, pack: Pack) -> None:
    moment = kit.clock.now()
    now = iso(moment)
    owner, new_here = kit.owner(), change.kind == "install" and change.person == TERMINAL
    also = [Place(owner.chat, "private", owner.id)] if new_here and owner.chat else []

    def write(tx: Tx) -> tuple[str, ...]:
        installs.record(tx, change, now)
        zones = kit.zone_of
        proposals.reconcile(tx, pack.manifest, moment, zones, consent=True, also=also)
        installs.settle(tx, change.id, now)
        return installs.close_asked(tx, change.pack, now)

    closed = await kit.database.transact(write, durable=True)
    await clear(kit.home, change.pack, closed)


async def _undo(
    kit: PackKit, change: Change, places: Places, before: Install | None, error: BaseException
) -> None:
    now, why = stamp(kit.clock), str(error) or repr(error)
    await asyncio.to_thread(kit.stores.release, change.pack)
    await asyncio.to_thread(places.put_back)
    await asyncio.to_thread(kit.stores.restore, places.noted())

    def write(tx: Tx) -> None:
        installs.restore(tx, change, before, why, now)

    await kit.database.transact(write, durable=True)
    await asyncio.to_thread(places.clear)
    log.error("pack_change_failed", pack=change.pack, error=why)


async def _take_away(kit: PackKit, change: Change) -> None:
    places = Places.of(kit.home.packs, change.id, change.pack)
    await asyncio.to_thread(kit.stores.release, change.pack)
    await asyncio.to_thread(places.take_away)
    failpoint.reached("after a pack was taken away")
    files = _files_of_chat(change.pack)
    if change.purge:
        await asyncio.to_thread(kit.stores.purge, change.pack)
        if files:
            await asyncio.to_thread(remove, kit.home.media / files)
        failpoint.reached("after a pack's data is purged")
    now = stamp(kit.clock)

    def write(tx: Tx) -> tuple[str, ...]:
        if change.purge:
            memory_versions.forget(tx, change.pack)
            journal.forget(tx, change.pack)
            routes.forget_onboarding(tx, change.pack)
            contents.erase_prompts_of_pack(tx, change.pack)
            kept_changes.forget_pack(tx, change.pack)
            if files:
                web_messages.forget(tx, change.pack)
                contents.forget_folder(tx, files)
        installs.forget(tx, change.pack)
        schedules.remove_of_pack(tx, change.pack)
        installs.settle(tx, change.id, now)
        return installs.close_asked(tx, change.pack, now)

    closed = await kit.database.transact(write, durable=True)
    failpoint.reached("after a pack is forgotten")
    await clear(kit.home, change.pack, closed)
    await kit.refresh()
    await asyncio.to_thread(places.clear)


async def clear(home: Home, pack: str, closed: Iterable[str]) -> None:
    """Remove the fetched folders of changes whose offers are closed."""
    for change_id in closed:
        await asyncio.to_thread(Places.of(home.packs, change_id, pack).clear)


def _files_of_chat(pack: str) -> str:
    """Return the folder of the pack's chat on the page among the media, "" = it has no chat: what
    never loaded may be called as no pack can be, and then like another chat's folder."""
    folder = ConversationAddress("web", pack).folder
    return folder if folder == f"web_{pack}" else ""


def _unchanged(places: Places, change: Change) -> Pack:
    """Load the offered pack, from where it waits or from its place if it is there already.

    Raises:
        PackError: it is gone, or its files are not those that were offered.
    """
    folder = places.app if places.app.is_dir() else places.installed
    if not folder.is_dir() or content_hash(folder) != change.digest:
        raise PackError(f"The files of {change.pack} are not those you were asked about.")
    loaded = load_pack(folder)
    if loaded.pack is None:
        raise PackError(f"{change.pack} does not load: {errors(loaded.problems)[0]}.")
    return loaded.pack


def _why_not(library: Library, name: str) -> str:
    """Say why a pack that was put in place does not load."""
    found = library.broken.get(name)
    return f"{name} does not load: {found[0]}." if found else f"packs.enabled leaves {name} out."
