"""Changes packs' schedules for upgrades, backups and the owner's verbs, in transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from aouo.facts.ports import Clock
from aouo.facts.work import Scheduled
from aouo.packs.format.manifest import Manifest
from aouo.store import schedules
from aouo.store.database import Database, Tx
from aouo.triggers import scheduling
from aouo.triggers.scheduling import Place, Reconciled, ZoneOf

T = TypeVar("T")


class Schedules:
    """Reads and changes schedules; each method is one transaction."""

    def __init__(self, *, database: Database, clock: Clock, zone_of: ZoneOf) -> None:
        self._database = database
        self._clock = clock
        self._zone_of = zone_of

    async def propose(self, manifest: Manifest, place: Place, *, consent: bool) -> list[Scheduled]:
        """Store a pack's defaults after its installation: see `triggers.scheduling.propose`."""
        return await self._change(
            lambda tx, now: scheduling.propose(
                tx, manifest, place, now, self._zone_of, consent=consent
            )
        )

    async def reconcile(
        self, manifest: Manifest, *, consent: bool, also: Sequence[Place] = ()
    ) -> Reconciled:
        """Follow a pack's defaults after its upgrade: see `triggers.scheduling.reconcile`."""
        return await self._change(
            lambda tx, now: scheduling.reconcile(
                tx, manifest, now, self._zone_of, consent=consent, also=also
            )
        )

    async def forget(self, pack: str) -> int:
        """Delete a removed pack's schedules; return how many there were."""
        return await self._database.transact(lambda tx: schedules.remove_of_pack(tx, pack))

    async def everything(self) -> list[Scheduled]:
        return await self._database.read(schedules.everything)

    async def of_pack(self, pack: str) -> list[Scheduled]:
        return await self._database.read(lambda tx: schedules.of_pack(tx, pack))

    async def pause(self, schedule_id: str) -> Scheduled | None:
        """Switch one off; None = there is none of this id."""
        return await self._change(
            lambda tx, now: scheduling.switch(tx, schedule_id, now, self._zone_of, on=False)
        )

    async def resume(self, schedule_id: str) -> Scheduled | None:
        """Switch one on; None = there is none of this id."""
        return await self._change(
            lambda tx, now: scheduling.switch(tx, schedule_id, now, self._zone_of, on=True)
        )

    async def remove(self, schedule_id: str) -> bool:
        return await self._database.transact(lambda tx: schedules.remove(tx, schedule_id))

    async def exported(self, pack: str) -> list[dict[str, Any]]:
        return await self._database.read(lambda tx: scheduling.exported(tx, pack))

    async def restore(self, pack: str, kept: list[dict[str, Any]]) -> int:
        """Replace the pack's schedules by those of a backup; return how many they are.

        Raises:
            ValueError: the backup holds something else; nothing was changed.
        """
        return await self._change(
            lambda tx, now: scheduling.restored(tx, pack, kept, now, self._zone_of)
        )

    async def _change(self, work: Callable[[Tx, datetime], T]) -> T:
        return await self._database.transact(lambda tx: work(tx, self._clock.now()))
