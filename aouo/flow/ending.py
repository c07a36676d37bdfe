"""Ends turns that no task is running, and jobs that are dropped: removes live messages, closes open
questions, erases what was off the record."""

from __future__ import annotations

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.work import Delivery
from aouo.flow.questions import settled_cards
from aouo.outbound.pages import taken_away
from aouo.store import audit, deliveries, off_record, turns
from aouo.store.database import Tx
from aouo.words import sentences


def end_turn(
    tx: Tx, job_id: int, address: ConversationAddress, why: str, now: str
) -> list[Delivery]:
    """End the job's open turn, which no task is running; return the rows that show it."""
    turn = turns.open_of(tx, job_id)
    if turn is None:
        return []
    live = [row.message_id for row in deliveries.live_of(tx, turn.id)]
    rows = taken_away(tx, address, turn.id, live, now)
    if turn.off_record:
        turns.close_erased(tx, turn.id, now)
    else:
        line = sentences.stopped_in_history(why, turns.effects(tx, turn.id))
        turns.close_without_answer(tx, turn, "aborted", line, now)
    rows += settled_cards.close(tx, turn.id, now)
    audit.close_of_turn(tx, turn.id, now)
    deliveries.end_live(tx, turn.id, now)
    return rows


def end_dropped(tx: Tx, job_id: int, inbound: Inbound, why: str, now: str) -> list[Delivery]:
    """End what a dropped job had begun, and erase it if it was off the record; its files are the
    caller's. Returns the rows that show it."""
    hidden = off_record.hides(tx, job_id, inbound)
    rows = end_turn(tx, job_id, inbound.address, why, now)
    if hidden:
        off_record.wipe(tx, job_id, inbound)
    return rows
