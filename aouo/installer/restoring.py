"""Restores a pack's backup: files and databases, then the runtime's rows about the pack.

The caller holds `PackKit.alone`.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

import structlog

from aouo.facts.errors import PackError
from aouo.installer.kit import PackKit
from aouo.installer.unfinished import Takeover, putting_back
from aouo.packs.data.storage import rehearse
from aouo.packs.shipping import restoring
from aouo.packs.shipping.backup_file import Introduction, Known
from aouo.packs.shipping.restoring import Plan, Unpacked
from aouo.plumbing import failpoint
from aouo.store import onboarding
from aouo.store.database import Tx
from aouo.triggers import scheduling

log = structlog.get_logger()


def known(tx: Tx, pack: str) -> Known:
    """Return what a backup holds besides files and databases."""
    begun = [Introduction.model_validate(row) for row in onboarding.all_of(tx, pack)]
    return Known(schedules=scheduling.exported(tx, pack), onboarding=begun)


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


async def put_back(kit: PackKit, unpacked: Unpacked) -> tuple[Path | None, str]:
    """Replace the pack's data; return the backup of the old data, as `restoring.begin` does,
    and why the schedules were not restored, "" = they were.

    Raises:
        PackError: the data cannot be replaced; nothing was changed.
    """
    name, home = unpacked.facts.pack, kit.home
    if name in await asyncio.to_thread(restoring.begun, home):
        await carry_on(kit, name)  # what a process before this one could not end
    there = await kit.database.read(lambda tx: known(tx, name))
    now = kit.clock.now()
    before = await asyncio.to_thread(restoring.begin, unpacked, home, now=now, known=there)
    try:
        return before, await carry_on(kit, name)
    except PackError:
        await asyncio.to_thread(restoring.forsake, home, name)
        raise


async def recover(kit: PackKit, takeover: Takeover) -> None:
    """Finish what an earlier process began; remove what it had only unpacked."""
    await asyncio.to_thread(restoring.sweep, kit.home)
    for name in await asyncio.to_thread(restoring.begun, kit.home):
        async with takeover.of(putting_back(name)):
            await carry_on(kit, name)


async def carry_on(kit: PackKit, name: str) -> str:
    """Finish a begun restoration, or what is left of it after a kill; see `put_back`.

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
        onboarding.put_back(tx, name, rows)
    now = kit.clock.now()
    try:
        scheduling.restored(tx, name, kept.schedules, now, kit.zone_of)
    except ValueError as error:
        return str(error)
    if pack := kit.library().get(name):
        scheduling.reconcile(tx, pack.manifest, now, kit.zone_of, consent=False)
    return ""
