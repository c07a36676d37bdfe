"""Handles who may talk where: strangers, chats that put us out, and groups that move.

That the jobs of a chat wait, and go on once we are back, is decided where the news is stored.
"""

from __future__ import annotations

from collections.abc import Callable

import structlog

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import RecipientGone
from aouo.facts.events import Intruder, Migrated, Standing
from aouo.facts.work import Job
from aouo.flow.replies import Replies, Said
from aouo.outbound.outbox import Outbox
from aouo.store import chats, gone
from aouo.store.database import Database, Tx
from aouo.words.catalogue import say
from aouo.words.conversations import own_id

log = structlog.get_logger()


async def leave_chat(
    database: Database, outbox: Outbox, replies: Replies, job: Job, standing: Standing
) -> None:
    """Stop the chat's turns and forget what waits to be sent, unless we are back already."""
    address = job.inbound.address
    if await database.read(lambda tx: gone.is_closed(tx, address)):
        await outbox.lose(address, RecipientGone(standing.gone, muted=standing.muted))
    await replies.done(job, standing.gone)


async def refuse(replies: Replies, let_in: Callable[[str], str], job: Job, who: Intruder) -> None:
    """Send this hour's one refusal to a stranger; if it gets lost, nobody is told.

    `let_in` says what the owner runs to let that person in; it goes to the log.
    """
    person = job.inbound.person.id
    cure = {} if who.as_chat else {"let_in": let_in(person)}
    log.info("tg_auth_denied", person=person, **cure)
    if who.as_chat:
        said = say(f"conversations.wrote-as-{who.as_chat}")
    else:
        said = own_id(person) if who.asked_id else say("conversations.not-authorized")
    await replies.settle(job, lambda tx, now: [said], outcome="refused", kind="aside")


async def move_chat(
    replies: Replies, moved: Callable[[ConversationAddress, str], None], job: Job, to: Migrated
) -> None:
    """Let everything stored follow a group that became a supergroup, in one transaction; `moved`
    is told the new id once its jobs have changed lanes."""
    address = job.inbound.address

    def work(tx: Tx, now: str) -> Said:
        chats.rename_chat(tx, address.platform, address.chat_id, to.new_chat_id)
        return []

    await replies.settle(job, work, outcome="moved")
    if address.chat_id != to.new_chat_id:  # both chats are told, and the other one came first
        log.info("chat_moved", to=to.new_chat_id)
        moved(address, to.new_chat_id)
