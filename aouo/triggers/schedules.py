"""Changes packs' schedules for upgrades, backups and the owner's verbs, in transactions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Clock
from aouo.facts.work import Scheduled
from aouo.packs.format.manifest import Manifest
from aouo.packs.library import Library
from aouo.store import routes, schedules, topics
from aouo.store.database import Database, Tx
from aouo.triggers import changing, scheduling
from aouo.triggers.changing import ScheduleRefused, Wish
from aouo.triggers.scheduling import Place, Reconciled, ZoneOf
from aouo.triggers.ticking import May

T = TypeVar("T")
_TOPICS_SHOWN = 20


class Schedules:
    """Reads and changes schedules; each method is one transaction."""

    def __init__(self, *, database: Database, clock: Clock, zone_of: ZoneOf, may: May) -> None:
        self._database = database
        self._clock = clock
        self._zone_of = zone_of
        self._may = may

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

    async def check_topic(self, address: ConversationAddress) -> None:
        """Check that the topic of a conversation is there, as far as we have seen.

        Raises:
            ScheduleRefused: it is not; names those that are.
        """
        known = dict(await self._database.read(lambda tx: topics.of_chat(tx, address)))
        if not address.thread_id or address.thread_id in known:
            return
        named = [f"{one} “{title}”" if title else one for one, title in known.items()]
        shown = named[:_TOPICS_SHOWN]
        more = f" and {len(named) - len(shown)} more" if len(named) > len(shown) else ""
        there = f"I know {', '.join(shown)}{more}" if known else "I know none there"
        raise ScheduleRefused(
            f"I know no topic {address.thread_id!r} in the chat {address.chat_id}. {there}; "
            "I know one once somebody has written to me in it."
        )

    async def pack_of(self, address: ConversationAddress, library: Library) -> str:
        """Return the pack that answers in a conversation, "" = none is installed.

        Raises:
            ScheduleRefused: one has to be named.
        """
        if address.pack:
            return address.pack
        route = await self._database.read(lambda tx: routes.find(tx, address))
        if route and route.active_pack:
            return route.active_pack
        if len(library.names) > 1:
            names = ", ".join(library.names)
            raise ScheduleRefused(f"No pack was chosen there: name one of {names}.")
        return "".join(library.names)

    async def create(self, wish: Wish, place: Place, pack: str, library: Library) -> Scheduled:
        """Make one: see `triggers.changing.create`.

        Raises:
            ScheduleRefused: nothing was made.
        """
        changing.check_pack(pack, library)
        return await self._change(
            lambda tx, now: changing.create(
                tx, wish, place, now, self._zone_of, pack=pack, origin="person"
            )
        )

    async def pause(self, schedule_id: str) -> Scheduled | None:
        """Switch one off; None = there is none of this id."""
        return await self._with(
            schedule_id, lambda tx, row, now: changing.pause(tx, row, now, self._zone_of)
        )

    async def resume(self, schedule_id: str, library: Library) -> Scheduled | None:
        """Switch one on; None = there is none of this id.

        Raises:
            ScheduleRefused: it stays off.
        """
        return await self._with(
            schedule_id,
            lambda tx, row, now: changing.resume(tx, row, library, now, self._zone_of, self._may),
        )

    async def run_now(self, schedule_id: str) -> Scheduled | None:
        """Have one run at once; None = there is none of this id.

        Raises:
            ScheduleRefused: it runs already, or may not.
        """

        def run(tx: Tx, row: Scheduled, now: datetime) -> Scheduled:
            changing.run_now(tx, row, now, self._may)
            return row

        return await self._with(schedule_id, run)

    async def remove(self, schedule_id: str) -> Scheduled | None:
        """Delete one; returns what it was, None = there is none of this id.

        Raises:
            ScheduleRefused: it comes with its pack.
        """

        def remove(tx: Tx, row: Scheduled, now: datetime) -> Scheduled:
            del now
            changing.remove(tx, row)
            return row

        return await self._with(schedule_id, remove)

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

    async def _with(
        self, schedule_id: str, work: Callable[[Tx, Scheduled, datetime], Scheduled]
    ) -> Scheduled | None:
        def write(tx: Tx, now: datetime) -> Scheduled | None:
            row = schedules.get(tx, schedule_id)
            return work(tx, row, now) if row else None

        return await self._change(write)

    async def _change(self, work: Callable[[Tx, datetime], T]) -> T:
        return await self._database.transact(lambda tx: work(tx, self._clock.now()))
