"""We were blocked, put out or muted in a chat: what is at work for it ends.

That its jobs wait, and go on once we are back, is decided where the news is stored.
"""

from __future__ import annotations

import structlog

from aouo.facts.errors import MayNotWrite, RecipientGone
from aouo.facts.events import Standing
from aouo.facts.work import Job
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.store import gone
from aouo.store.database import Database

log = structlog.get_logger()


async def leave_chat(
    database: Database, outbox: Outbox, replies: Replies, job: Job, standing: Standing
) -> None:
    """Stop the chat's turns and forget what waits to be sent, unless we are back already."""
    address = job.inbound.address
    if await database.read(lambda tx: gone.is_closed(tx, address)):
        error = MayNotWrite if standing.muted else RecipientGone
        await outbox.lose(address, error(standing.gone))
    await replies.done(job, standing.gone)
