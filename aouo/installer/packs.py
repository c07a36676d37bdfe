"""Installing, upgrading and removing packs, while the runtime goes on or without one.

A change is a row before it is made, and each of its steps may be done twice: a process that is
killed in the middle leaves the old pack or the new one, and the next start ends what was begun.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from aouo.facts.errors import PackError
from aouo.facts.ids import ulid
from aouo.facts.installs import Change
from aouo.facts.ports import stamp
from aouo.flow.handlers.installing import Offer
from aouo.installer.changes import PackChanges
from aouo.installer.installed import changed
from aouo.installer.kit import PackKit
from aouo.installer.offers import PackOffers, settled
from aouo.installer.restoring import PackRestoring
from aouo.installer.unfinished import AGAIN, UNDONE, Takeover, doing, said
from aouo.packs.format.problems import did_you_mean
from aouo.packs.library import Library
from aouo.packs.shipping import restoring
from aouo.packs.shipping.place import leftovers
from aouo.plumbing import failpoint
from aouo.plumbing.shield import finish
from aouo.plumbing.trees import remove
from aouo.store import installs
from aouo.triggers import scheduling
from aouo.triggers.scheduling import Place

log = structlog.get_logger()


class Packs:
    """Changes what is installed, one change at a time."""

    def __init__(self, kit: PackKit) -> None:
        self._kit = kit
        self.stores = kit.stores
        self.refresh = kit.refresh
        self._offers = PackOffers(kit)
        self._changes = PackChanges(kit)
        self._restoring = PackRestoring(kit)
        self._one_by_one = asyncio.Lock()

    async def offer(
        self, source: str, person: str, *, upgrade: str = "", lasting: bool = True
    ) -> Offer:
        """See `PackOffers.offer`, as the next two."""
        return await self._offers.offer(source, person, upgrade=upgrade, lasting=lasting)

    async def look(self, change_id: str) -> Change | None:
        return await self._offers.look(change_id)

    async def decline(self, change_id: str) -> Change:
        return await self._offers.decline(change_id)

    async def accept(self, change_id: str, person: str) -> Change:
        """Carry out what was offered.

        Raises:
            PackError: it failed, and what was installed before is as it was.
        """
        change = await self._offers.agreed(change_id, person)
        async with self._one_by_one:
            await self._end_begun(change.pack)
            begun = await self._kit.database.transact(
                lambda tx: installs.begin(tx, change_id, person), durable=True
            )
            if not begun:
                raise settled()
            failpoint.reached("after a change of packs has begun")
            async with self._kit.alone(change.pack):
                await finish(self._changes.carry_out(change))
        log.info("pack_installed", pack=change.pack, version=change.version, kind=change.kind)
        return change

    async def propose(self, pack: str, place: Place) -> None:
        """Store what a pack wants to do by itself, for the conversation it was installed in."""
        found = self._kit.library().get(pack)
        if found is None:
            return
        now = self._kit.clock.now()
        await self._kit.database.transact(
            lambda tx: scheduling.propose(
                tx, found.manifest, place, now, self._kit.zone_of, consent=True
            )
        )

    async def remove(self, name: str, person: str, *, purge: bool) -> Change:
        """Take a pack away; its data stays unless it is to be purged.

        Raises:
            PackError: there is no such pack in the home.
        """
        target = self._kit.home.packs / name
        named = 0 < len(name) < 128 and not name.startswith(".") and not set(name) & set("/\0")
        if not named or not (target.is_symlink() or target.exists()):
            hint = did_you_mean(name, self._kit.library().names)
            raise PackError(f"There is no pack {name!r} in {self._kit.home.packs}{hint or '.'}")
        found = self._kit.library().get(name)
        self._refuse_needed(name)
        version = found.manifest.version if found else ""
        now = stamp(self._kit.clock)
        change = Change(
            ulid().lower(), name, "remove", "begun", version, "", "", "", person, now, "", purge
        )
        async with self._one_by_one:
            await self._end_begun(name)
            await self._kit.database.transact(lambda tx: installs.offer(tx, change), durable=True)
            failpoint.reached("after a change of packs has begun")
            async with self._kit.alone(name):
                await finish(self._changes.carry_out(change))
        log.info("pack_removed", pack=name, purged=purge)
        return change

    def _refuse_needed(self, name: str) -> None:
        """Raises: PackError: packs that are installed depend on this one."""
        packs = self._kit.library().packs.values()
        needing = [p.name for p in packs if any(d.name == name for d in p.manifest.depends_on)]
        if needing:
            raise PackError(
                f"{', '.join(needing)} cannot do without {name}.", fix="Remove it first."
            )

    async def restore(self, name: str, file: Path, passphrase: str) -> tuple[Path | None, str]:
        """Make what a pack keeps what a backup holds; see `PackRestoring.put_back`.

        Raises:
            PackError: it cannot be; what the pack keeps is as it was.
        """
        unpacked = await asyncio.to_thread(
            restoring.unpack, file, self._kit.home, name, passphrase=passphrase
        )
        try:
            async with self._one_by_one:
                await asyncio.to_thread(self._restoring.check, unpacked)
                async with self._kit.alone(name):
                    return await finish(self._restoring.put_back(unpacked))
        finally:
            await asyncio.to_thread(remove, unpacked.folder)

    async def unread(self) -> dict[str, str]:
        """What the folders of packs hold that is not what is loaded: why, by pack."""
        then = self._kit.library()
        now = await self._kit.scan({})
        return {name: _unread(name, then, now) for name in changed(then, now)}

    async def recover(self, takeover: Takeover) -> None:
        """End what a former process had begun, and forget what was not answered for a day.

        What cannot be ended stays begun, for the next start or the next change of its pack.
        """
        async with takeover.of("Restoring backups"):
            await self._restoring.recover(takeover)
        for change in await self._kit.database.read(installs.unsettled):
            if change.state == "begun":
                try:
                    await self._end(change)
                except Exception as error:
                    log.exception("pack_change_failed", pack=change.pack, error=repr(error))
                    over = await self._kit.database.read(
                        lambda tx, one=change: installs.get(tx, one.id)
                    )
                    stays = over is not None and over.state == "begun"
                    takeover.add(doing(change), error, fix=AGAIN if stays else UNDONE)
            elif self._offers.is_stale(change):
                async with takeover.of(f"Forgetting the question about {change.pack}"):
                    await self.decline(change.id)
        # Where an undoing failed too, the old pack lies in such a folder.
        kept = {change.id for change in await self._kit.database.read(installs.unsettled)}
        for folder in leftovers(self._kit.home.packs, frozenset(kept)):
            async with takeover.of(f"Removing {folder}"):
                await asyncio.to_thread(remove, folder)

    async def _end_begun(self, pack: str) -> None:
        """End what hindered an earlier change of this pack; nothing else is done with it before.

        Raises:
            PackError: it still does.
        """
        for change in await self._kit.database.read(lambda tx: installs.begun(tx, pack)):
            try:
                async with self._kit.alone(pack):
                    await finish(self._end(change))
            except (PackError, OSError) as error:
                raise PackError(
                    f"{doing(change)} was begun and is not over: {said(error)}.",
                    fix="That has to end first: mend what it says and try again.",
                ) from error

    async def _end(self, change: Change) -> None:
        """Carry out what was begun; the reason why not is kept with it."""
        try:
            await self._changes.carry_out(change)
        except Exception as error:
            why = said(error)
            await self._kit.database.transact(lambda tx: installs.hindered(tx, change.id, why))
            raise


def _unread(name: str, then: Library, now: Library) -> str:
    if name in now.broken:
        return "broken"
    if now.get(name) is None:
        return "gone"
    return "changed" if then.get(name) else "new"
