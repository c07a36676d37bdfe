"""Who was taken off the list is answered no more: what was left of theirs ends at the start."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import structlog

from aouo.facts.ports import Clock, stamp
from aouo.flow import ending
from aouo.store import deliveries, jobs
from aouo.store.database import Database, Tx

log = structlog.get_logger()
_WHY = "its person is not on the list any more"


async def end_what_is_theirs(database: Database, clock: Clock, listed: Collection[str]) -> None:
    """Drop the jobs of all but the `listed`, end their turns and send nothing of it; before
    anything is claimed or sent. What is in the chats stays as it is."""
    now = stamp(clock)

    def end(tx: Tx) -> Counter[str]:
        found: Counter[str] = Counter()
        for job_id, inbound in jobs.of_others(tx, listed):
            jobs.drop(tx, job_id, _WHY, now)
            ending.end_turn(tx, job_id, inbound.address, _WHY, now)
            found[inbound.person.id] += 1
        for person in deliveries.drop_of_others(tx, listed, now):
            found[person] += 0
        return found

    for person, dropped in (await database.transact(end, durable=True)).items():
        log.warning("person_taken_off", person=person, jobs=dropped)
