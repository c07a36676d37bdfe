"""Joins what begins by itself besides schedules: the heartbeat, watches, and digests."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

from aouo.app.shared import Shared
from aouo.flow.chores.digests import Digests
from aouo.flow.generations import Generations, WakingClock
from aouo.outbound.outbox import Outbox
from aouo.outbound.owner_notices import OwnerNotices
from aouo.plumbing.parts import Work
from aouo.queue.inbox import Inbox
from aouo.store import watches
from aouo.store.database import Tx
from aouo.triggers.heartbeat import Heartbeat
from aouo.triggers.scheduling import ZoneOf
from aouo.triggers.watching import FAILURES, Watching
from aouo.words import sentences


class Unasked:
    """What speaks first; `background` runs for as long as the process, by name."""

    def __init__(
        self,
        shared: Shared,
        generations: Generations,
        *,
        inbox: Inbox,
        outbox: Outbox,
        owner_notices: OwnerNotices,
        zone_of: ZoneOf,
    ) -> None:
        database, clock = shared.database, shared.clock
        zone = partial(zone_of, "")

        def longest_s() -> float:
            return generations.now.cron.tick_seconds

        def listed(person: str) -> bool:
            now = generations.now
            return now.admission.lists(person, now.owner.id)

        async def capped(most: int) -> None:
            await owner_notices.tell(sentences.heartbeat_capped(most))

        async def gave_up(pack: str, watch: str, why: str) -> None:
            await owner_notices.tell(sentences.watch_fails(pack, watch, FAILURES, why, is_off=True))

        self._heartbeat = Heartbeat(
            database=database,
            clock=WakingClock(clock, generations),
            trigger=inbox.trigger,
            file=shared.home.heartbeat,
            settings=lambda: generations.now.heartbeat,
            zone=zone,
            owner=lambda: generations.now.owner,
            telegram=shared.telegram is not None,
            longest_s=longest_s,
            capped=capped,
        )
        watching = Watching(
            database=database,
            clock=WakingClock(clock, generations),
            trigger=inbox.trigger,
            looking=lambda: generations.now.looking,
            library=lambda: generations.library,
            databases_of=shared.stores.databases_of,
            enabled=lambda: generations.now.cron.enabled,
            longest_s=longest_s,
            owner=lambda: generations.now.owner.id,
            listed=listed,
            gave_up=gave_up,
        )
        digests = Digests(
            database=database,
            clock=WakingClock(clock, generations),
            outbox=outbox,
            rules=lambda: generations.now.attention,
            zone=zone,
            listed=listed,
            longest_s=longest_s,
        )
        self.background: Mapping[str, Work] = {
            "heartbeat": self._heartbeat.run,
            "watches": watching.run,
            "digests": digests.run,
        }

    @property
    def state(self) -> Mapping[str, str]:
        """What `aouo status` says of it."""
        return {"heartbeat": self._heartbeat.state}


def failing_watches(tx: Tx) -> list[str]:
    """Return a sentence for the owner about each watch that failed the last time."""
    return [
        sentences.watch_fails(
            one.key.pack, one.key.id, one.failures, one.why, is_off=one.failures >= FAILURES
        )
        for one in watches.failing(tx)
    ]
