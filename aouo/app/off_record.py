"""What a former process left unanswered off the record is erased, and its person is told."""

from __future__ import annotations

from pathlib import Path

import structlog

from aouo.facts import notices
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Delivery
from aouo.flow import ending
from aouo.flow.files import media_files
from aouo.installer.unfinished import Takeover
from aouo.outbound.outbox import Outbox
from aouo.outbound.wording import sentences
from aouo.store import deliveries, jobs, off_record
from aouo.store.database import Database, Tx

log = structlog.get_logger()


async def erase_unanswered(
    database: Database, clock: Clock, folder: Path, outbox: Outbox, takeover: Takeover
) -> None:
    """Erase it, files in the media `folder` too, and say so once in each conversation; before
    anything is claimed."""
    now = stamp(clock)

    def erase(tx: Tx) -> list[Delivery]:
        told: list[Delivery] = []
        for found in off_record.unanswered(tx):
            jobs.drop(tx, found.job_id, "erased", now)
            address = found.inbound.address
            told += ending.end_turn(tx, found.job_id, address, "erased", now)
            off_record.wipe(tx, found.job_id, found.inbound)
            if not found.stopped:  # else its person was told, and wants no more of it
                said, key = sentences.word(notices.Plain.ERASED), f"erased:{found.job_id}"
                told.append(deliveries.add(tx, address, "notice", said, now, key=key))
        return told

    unanswered = await database.read(off_record.unanswered)
    if not unanswered:
        return
    for found in unanswered:
        async with takeover.of("Removing files that were sent off the record"):
            media_files.remove(folder, found.job_id)
    rows = await database.transact(erase, durable=True)
    log.info("off_record_erased", jobs=len(rows))
    outbox.put(*rows)
