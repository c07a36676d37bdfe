"""Stores reactions with their message, for the next turn of its session."""

from __future__ import annotations

import structlog

from aouo.facts.events import Inbound, Reacted
from aouo.facts.ids import SessionId
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Job
from aouo.queue import edited
from aouo.store import asked, deliveries, jobs, reactions, sessions, turns
from aouo.store.database import Database, Tx
from aouo.turn import heard

log = structlog.get_logger()


async def note_reaction(database: Database, clock: Clock, job: Job) -> None:
    """Keep it; nothing answers to a reaction by itself."""
    inbound, now = job.inbound, stamp(clock)
    reacted = inbound.content
    assert isinstance(reacted, Reacted)

    def write(tx: Tx) -> bool:
        jobs.check_claim(tx, job)
        known, session_id = _session_of(tx, inbound, now)
        if known:
            reactions.put(
                tx,
                inbound.address,
                inbound.message_id,
                inbound.person,
                reacted.emoji,
                session_id,
                now,
            )
        jobs.settle(tx, job, "done", "kept" if known else "on a message we do not have", now)
        return known

    kept = await database.transact(write)
    log.info("reacted", emoji=reacted.emoji, message_id=inbound.message_id, kept=kept)


def _session_of(tx: Tx, inbound: Inbound, now: str) -> tuple[bool, str]:
    """Whether we have the message, and the session it was said in, "" = in none. A result may be
    shown before it is history: it counts as said where it is going to be."""
    if delivery := deliveries.of_message(tx, inbound.address, inbound.message_id):
        session_id = turns.shown_in(tx, delivery.turn_id)
        if delivery.turn_id and not (session_id and SessionId.parse(session_id).is_current):
            pack = turns.pack_of(tx, delivery.turn_id)
            here = (delivery.address, inbound.chat_kind)
            session_id = sessions.of_result(tx, *here, pack, now)
        return True, session_id
    if found := asked.of(tx, inbound.address, inbound.message_id):
        return True, turns.session_of_job(tx, found.job_id)
    return False, ""


def untold(tx: Tx, inbound: Inbound, session_id: str) -> list[str]:
    """What the session's model does not know yet, a line each."""
    return [
        heard.reacted(
            "" if inbound.chat_kind == "private" else name, emoji, _text_of(tx, inbound, message_id)
        )
        for message_id, name, emoji in reactions.tell(tx, session_id)
    ]


def _text_of(tx: Tx, inbound: Inbound, message_id: int) -> str:
    if delivery := deliveries.of_message(tx, inbound.address, message_id):
        return delivery.message.text
    found = asked.of(tx, inbound.address, message_id)
    return edited.words_of(found.inbound, message_id) if found else ""
