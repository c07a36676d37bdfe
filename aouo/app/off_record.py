"""What a former process left unanswered off the record is erased, and its person is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from aouo import notices
from aouo.flow import media_files, outcomes
from aouo.outbound import wording
from aouo.ports import stamp
from aouo.store import audit, deliveries, jobs, off_record, turns
from aouo.store.database import Tx
from aouo.store.deliveries import Delivery

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()


async def erase_unanswered(app: App) -> None:
    """Erase it, and say so once in each conversation; before anything is claimed."""
    now = stamp(app.clock)

    def erase(tx: Tx) -> list[Delivery]:
        told: list[Delivery] = []
        for job_id, inbound, turn_id in off_record.unanswered(tx):
            jobs.drop(tx, job_id, "erased", now)
            if turn_id:
                turns.close_erased(tx, turn_id, now)
                deliveries.end_live(tx, turn_id, now)
                told += outcomes.close(tx, turn_id, now)
                audit.close_of_turn(tx, turn_id, now)
            off_record.wipe(tx, job_id, inbound)
            said = wording.word(notices.Erased())
            key = f"erased:{job_id}"
            told.append(deliveries.add(tx, inbound.address, "notice", said, now, key=key))
        return told

    if not await app.database.read(off_record.unanswered):
        return
    for job_id, _, _ in await app.database.read(off_record.unanswered):
        media_files.remove(app.home.media, job_id)
    rows = await app.database.transact(erase, durable=True)
    log.info("off_record_erased", jobs=len(rows))
    app.outbox.put(*rows)
