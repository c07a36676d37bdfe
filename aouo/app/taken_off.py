"""Who was taken off the list is answered no more: what was left of theirs ends at the start."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import structlog

from aouo.facts.ports import stamp
from aouo.flow import ending
from aouo.store import deliveries, jobs
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()
_WHY = "its person is not on the list any more"


async def end_what_is_theirs(app: App) -> None:
    """Drop their jobs, end their turns and send nothing of it; before anything is claimed or sent.

    The list is read at start, so there is no other moment. What is in the chats stays as it is.
    """
    telegram, now = app.settings.telegram, stamp(app.clock)
    listed = frozenset(map(str, (*telegram.allowed_user_ids, telegram.owner)))

    def end(tx: Tx) -> Counter[str]:
        found: Counter[str] = Counter()
        for job_id, inbound in jobs.of_others(tx, listed):
            jobs.drop(tx, job_id, _WHY, now)
            ending.end_turn(tx, job_id, inbound.address, _WHY, now)
            found[inbound.person.id] += 1
        for person in deliveries.drop_of_others(tx, listed, now):
            found[person] += 0
        return found

    for person, dropped in (await app.database.transact(end, durable=True)).items():
        log.warning("person_taken_off", person=person, jobs=dropped)
