"""Does the installing, upgrading, restoring and removing of packs, with a runtime or without.

The caller holds `PackKit.alone`.

A change is a row before it is made, and each of its steps is idempotent: a process that is killed
in the middle leaves the old pack or the new one, and the next start finishes the change.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from aouo.facts.errors import PackError
from aouo.facts.ids import ulid
from aouo.facts.ports import stamp
from aouo.facts.records import Change
from aouo.installer import offers
from aouo.installer.changes import PackKit, carry_out
from aouo.installer.installed import changed
from aouo.installer.offers import settled
from aouo.installer.unfinished import AGAIN, UNDONE, Takeover, doing, putting_back, said
from aouo.packs.data.storage import rehearse
from aouo.packs.format.problems import did_you_mean
from aouo.packs.library import Library
from aouo.packs.shipping import restoring
from aouo.packs.shipping.archive import leftovers
from aouo.packs.shipping.export import Introduction, Known
from aouo.packs.shipping.restoring import Plan, Unpacked, unpack
from aouo.plumbing import failpoint
from aouo.plumbing.logs import log
from aouo.plumbing.trees import remove
from aouo.plumbing.waiting import finish
from aouo.schedules import proposals
from aouo.schedules.proposals import Place
from aouo.store import installs, routes
from aouo.store.database import Tx


def known(tx: Tx, pack: str) -> Known:
    """Return what a backup holds besides files and databases."""
    begun = [Introduction.model_validate(row) for row in routes.onboardings(tx, pack)]
    return Known(schedules=proposals.exported(tx, pack), onboarding=begun)


def check(kit: PackKit, unpacked: Unpacked) -> None:
    """Check on copies that the installed pack can use the databases of this backup.

    Raises:
        PackError: it cannot.
    """
    facts = unpacked.facts
    pack = kit.library().get(facts.pack)
    if pack is None:
        return
    for file in unpacked.databases:
        try:
            rehearse(file, pack.manifest, pack.schema_sql, pack.migrations)
        except PackError as error:
            ours = pack.manifest.version
            other = f"Install {facts.version} or a later one first. "
            raise PackError(
                f"{facts.pack} {ours} cannot use what {facts.version} kept: {error}",
                fix=f"{other if facts.version != ours else ''}Nothing has changed.",
            ) from error


async def _put_back(kit: PackKit, unpacked: Unpacked) -> tuple[Path | None, str]:
    """Replace the pack's data; return the backup of the old data, as `restoring.begin` does,
    and why the schedules were not restored, "" = they were.

    Raises:
        PackError: the data cannot be replaced; nothing was changed.
    """
    name, home = unpacked.facts.pack, kit.home
    if name in await asyncio.to_thread(restoring.begun, home):
        await _carry_on(kit, name)  # what a process before this one could not end
    there = await kit.database.read(lambda tx: known(tx, name))
    now = kit.clock.now()
    before = await asyncio.to_thread(restoring.begin, unpacked, home, now=now, known=there)
    try:
        return before, await _carry_on(kit, name)
    except PackError:
        await asyncio.to_thread(restoring.forsake, home, name)
        raise


async def _recover_restoring(kit: PackKit, takeover: Takeover) -> None:
    """Finish what an earlier process began; remove what it had only unpacked."""
    await asyncio.to_thread(restoring.sweep, kit.home)
    for name in await asyncio.to_thread(restoring.begun, kit.home):
        async with takeover.of(putting_back(name)):
            await _carry_on(kit, name)


async def _carry_on(kit: PackKit, name: str) -> str:
    """Finish a begun restoration, or what is left of it after a kill; see `_put_back`.

    Raises:
        PackError: files cannot be exchanged; what this call did is undone.
    """
    plan = await asyncio.to_thread(_exchange, kit, name)
    failpoint.reached("after a pack's data is exchanged")
    problem = await kit.database.transact(
        lambda tx: _know_again(kit, tx, name, plan.known), durable=True
    )
    failpoint.reached("after what is known of a pack's data came back")
    await asyncio.to_thread(restoring.conclude, kit.home, name, plan)
    log.info("pack_restored", pack=name, schedules=problem or "restored")
    return problem


def _exchange(kit: PackKit, name: str) -> Plan:
    with kit.stores.closed(name):
        return restoring.exchange(kit.home, name)


def _know_again(kit: PackKit, tx: Tx, name: str, kept: Known) -> str:
    """Restore the rows about a pack, its schedules updated to the installed version.

    Returns why the schedules were not restored, "" = they were.
    """
    if kept.onboarding is not None:
        rows = [introduction.model_dump() for introduction in kept.onboarding]
        routes.put_back_onboarding(tx, name, rows)
    now = kit.clock.now()
    try:
        proposals.restored(tx, name, kept.schedules, now, kit.zone_of)
    except ValueError as error:
        return str(error)
    if pack := kit.library().get(name):
        proposals.reconcile(tx, pack.manifest, now, kit.zone_of, consent=False)
    return ""


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

    async def restore(self, name: str, file: Path, passphrase: str) -> tuple[Path | None, str]:
        """Replace a pack's data by that of a backup; see `restoring.put_back`.

        Raises:
            PackError: it cannot be restored; the pack's data is as it was.
        """
        unpacked = await asyncio.to_thread(unpack, file, self.kit.home, name, passphrase=passphrase)
        try:
            async with self._one_by_one:
                await asyncio.to_thread(check, self.kit, unpacked)
                async with self.kit.alone(name):
                    return await finish(_put_back(self.kit, unpacked))
        finally:
            await asyncio.to_thread(remove, unpacked.folder)

    async def unread(self) -> dict[str, str]:
        """Return the packs whose folder differs from what is loaded: pack → how it differs."""
        then = self.kit.library()
        now = await self.kit.scan({})
        return {name: _unread(name, then, now) for name in changed(then, now)}

    async def recover(self, takeover: Takeover) -> None:
        """Finish the changes that an earlier process began, and decline offers older than a day.

        A change that cannot be finished stays begun, for the next start or its pack's next change.
        """
        async with takeover.of("Restoring backups"):
            await _recover_restoring(self.kit, takeover)
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
