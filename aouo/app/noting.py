"""Joins what notes of conversations and memory by itself: the journal, and its consolidation."""

from __future__ import annotations

from functools import partial

from aouo.app.shared import Shared
from aouo.facts.events import Inbound, Origin
from aouo.flow.generations import Generations, WakingClock
from aouo.plumbing.parts import Work
from aouo.queue.inbox import Inbox
from aouo.store import usage
from aouo.store.database import Tx
from aouo.triggers.consolidating import Consolidating
from aouo.triggers.journaling import Journaling


def noting(shared: Shared, generations: Generations, inbox: Inbox) -> dict[str, Work]:
    """Return what runs in the background, by name."""

    def may(pack: str, inbound: Inbound) -> bool:
        now, found = generations.now, generations.library.get(pack)
        if now.model.brief or (pack and not found):
            return False
        person, platform = inbound.person.id, inbound.address.platform
        listed = platform != "tg" or now.admission.lists(person, now.owner.id)
        return listed and (not found or found.manifest.context.memory_policy == "full")

    def left(origin: Origin, tx: Tx) -> int:
        cap = generations.now.memory.daily_tokens_max
        return usage.left_of_origin(tx, generations.now.quota.day(), origin, cap)

    journaling = Journaling(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        may=may,
        left=partial(left, "journal"),
        enabled=lambda: generations.now.memory.journal,
    )
    consolidating = Consolidating(
        database=shared.database,
        clock=WakingClock(shared.clock, generations),
        trigger=inbox.trigger,
        keeping=shared.keeping,
        may=may,
        left=partial(left, "consolidate"),
        enabled=lambda: generations.now.memory.consolidate.enabled,
        every_s=lambda: generations.now.memory.consolidate.every_s,
    )
    return {"journal": journaling.run, "consolidation": consolidating.run}
