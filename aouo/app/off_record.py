"""What a former process left unanswered off the record is erased, and its person is told."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog

from aouo.facts import notices
from aouo.facts.ports import stamp
from aouo.facts.work import Delivery
from aouo.flow import ending
from aouo.flow.files import media_files
from aouo.installer.unfinished import Takeover
from aouo.outbound.wording import sentences
from aouo.store import deliveries, jobs, off_record
from aouo.store.database import Tx

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()


async def erase_unanswered(app: App, takeover: Takeover) -> None:
    """Erase it, and say so once in each conversation; before anything is claimed."""
    now = stamp(app.clock)

    def erase(tx: Tx) -> list[Delivery]:
        told: list[Delivery] = []
        for found in off_record.unanswered(tx):
            jobs.drop(tx, found.job_id, "erased", now)
            address = found.inbound.address
            told += ending.end_turn(tx, found.job_id, address, "erased", now)
            off_record.wipe(tx, found.job_id, found.inbound)
            if not found.stopped:  # else its person was told, and wants no more of it
                said, key = sentences.word(notices.Erased()), f"erased:{found.job_id}"
                told.append(deliveries.add(tx, address, "notice", said, now, key=key))
        return told

    unanswered = await app.database.read(off_record.unanswered)
    if not unanswered:
        return
    for found in unanswered:
        async with takeover.of("Removing files that were sent off the record"):
            media_files.remove(app.home.media, found.job_id)
    rows = await app.database.transact(erase, durable=True)
    log.info("off_record_erased", jobs=len(rows))
    app.outbox.put(*rows)
