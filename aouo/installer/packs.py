"""Does the installing, upgrading and removing of packs, with a runtime or without.

The caller holds `PackKit.alone`.

A change is a row before it is made, and each of its steps is idempotent: a process that is killed
in the middle leaves the old pack or the new one, and the next start finishes the change.
"""

from __future__ import annotations

import asyncio

from aouo.facts.errors import PackError
from aouo.facts.ids import ulid
from aouo.facts.ports import stamp
from aouo.facts.records import Change
from aouo.installer import offers
from aouo.installer.changes import PackKit, carry_out
from aouo.installer.installed import changed
from aouo.installer.offers import settled
from aouo.installer.unfinished import AGAIN, UNDONE, Takeover, doing, said
from aouo.packs.format.problems import did_you_mean
from aouo.packs.library import Library
from aouo.packs.shipping.archive import leftovers
from aouo.plumbing import failpoint
from aouo.plumbing.logs import log
from aouo.plumbing.trees import remove
from aouo.plumbing.waiting import finish
from aouo.schedules import proposals
from aouo.schedules.proposals import Place
from aouo.store import installs


class Packs:
    """Changes what is installed, one change at a time; `offers` asks, from the same `kit`."""

    def __init__(self, kit: PackKit) -> None:
        self.kit = kit
        self.stores = kit.stores
        self.refresh = kit.refresh
        self._one_by_one = asyncio.Lock()

    async def accept(self, change_id: str, person: str) -> Change:
        """Carry out an offered change.

        Raises:
            PackError: it failed, and what was installed before is as it was.
        """
        change = await offers.agreed(self.kit, change_id, person)
        async with self._one_by_one:
            await self._end_begun(change.pack)
            begun = await self.kit.database.transact(
                lambda tx: installs.begin(tx, change_id, person), durable=True
            )
            if not begun:
                raise settled()
            failpoint.reached("after a change of packs has begun")
            async with self.kit.alone(change.pack):
                await finish(carry_out(self.kit, change))
        log.info("pack_installed", pack=change.pack, version=change.version, kind=change.kind)
        return change

    async def propose(self, pack: str, place: Place) -> None:
        """Store a pack's default schedules for the conversation that it was installed in."""
        found = self.kit.library().get(pack)
        if found is None:
            return
        now = self.kit.clock.now()
        await self.kit.database.transact(
            lambda tx: proposals.propose(
                tx, found.manifest, place, now, self.kit.zone_of, consent=True
            )
        )

    async def remove(self, name: str, person: str, *, purge: bool) -> Change:
        """Remove a pack; its data stays unless `purge`.

        Raises:
            PackError: there is no such pack in the home.
        """
        target = self.kit.home.packs / name
        named = 0 < len(name) < 128 and not name.startswith(".") and not set(name) & set("/\0")
        if not named or not (target.is_symlink() or target.exists()):
            hint = did_you_mean(name, self.kit.library().names)
            raise PackError(f"There is no pack {name!r} in {self.kit.home.packs}{hint or '.'}")
        found = self.kit.library().get(name)
        self._refuse_needed(name)
        version = found.manifest.version if found else ""
        now = stamp(self.kit.clock)
        change = Change(
            ulid().lower(), name, "remove", "begun", version, "", "", "", person, now, "", purge
        )
        async with self._one_by_one:
            await self._end_begun(name)
            await self.kit.database.transact(lambda tx: installs.offer(tx, change), durable=True)
            failpoint.reached("after a change of packs has begun")
            async with self.kit.alone(name):
                await finish(carry_out(self.kit, change))
        log.info("pack_removed", pack=name, purged=purge)
        return change

    def _refuse_needed(self, name: str) -> None:
        """Check that no installed pack depends on this one. Raises `PackError` if one does."""
        packs = self.kit.library().packs.values()
        needing = [p.name for p in packs if any(d.name == name for d in p.manifest.depends_on)]
        if needing:
            raise PackError(
                f"{', '.join(needing)} cannot do without {name}.", fix="Remove it first."
            )

    async def unread(self) -> dict[str, str]:
        """Return the packs whose folder differs from what is loaded: pack → how it differs."""
        then = self.kit.library()
        now = await self.kit.scan({})
        return {name: _unread(name, then, now) for name in changed(then, now)}

    async def recover(self, takeover: Takeover) -> None:
        """Finish the changes that an earlier process began, and decline offers older than a day.

        A change that cannot be finished stays begun, for the next start or its pack's next change.
        """
        for change in await self.kit.database.read(installs.unsettled):
            if change.state == "begun":
                try:
                    await self._end(change)
                except Exception as error:
                    log.exception("pack_change_failed", pack=change.pack, error=repr(error))
                    over = await self.kit.database.read(
                        lambda tx, one=change: installs.get(tx, one.id)
                    )
                    stays = over is not None and over.state == "begun"
                    takeover.add(doing(change), error, fix=AGAIN if stays else UNDONE)
            elif offers.is_stale(self.kit, change):
                async with takeover.of(f"Forgetting the question about {change.pack}"):
                    await offers.decline(self.kit, change.id)
        # Where an undoing failed too, the old pack lies in such a folder.
        kept = {change.id for change in await self.kit.database.read(installs.unsettled)}
        for folder in leftovers(self.kit.home.packs, frozenset(kept)):
            async with takeover.of(f"Removing {folder}"):
                await asyncio.to_thread(remove, folder)

    async def _end_begun(self, pack: str) -> None:
        """Finish earlier changes of this pack that were hindered, before a new one begins.

        Raises:
            PackError: one still cannot be finished.
        """
        for change in await self.kit.database.read(lambda tx: installs.begun(tx, pack)):
            try:
                async with self.kit.alone(pack):
                    await finish(self._end(change))
            except (PackError, OSError) as error:
                raise PackError(
                    f"{doing(change)} was begun and is not over: {said(error)}.",
                    fix="That has to end first: mend what it says and try again.",
                ) from error

    async def _end(self, change: Change) -> None:
        """Carry out a begun change; if it fails, store the reason with it."""
        try:
            await carry_out(self.kit, change)
        except Exception as error:
            why = said(error)
            await self.kit.database.transact(lambda tx: installs.hindered(tx, change.id, why))
            raise


def _unread(name: str, then: Library, now: Library) -> str:
    if name in now.broken:
        return "broken"
    if now.get(name) is None:
        return "gone"
    return "changed" if then.get(name) else "new"
