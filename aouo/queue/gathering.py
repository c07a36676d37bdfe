"""Files messages and results of triggered turns into lanes, alone or as a job that grows.

It carries out what `bursts` and `albums` decide, in the transaction that stores the message.

A result waits for the turn that runs there; but a turn that waits for a person may wait for a
day, so results bypass it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Album, Button, Command, Inbound
from aouo.facts.ports import iso
from aouo.queue import joining
from aouo.store import gates, gone, jobs
from aouo.store.database import Tx

_Opened: TypeAlias = tuple[int, Inbound] | None


def file(tx: Tx, lane: Lane, inbound: Inbound, now: datetime, burst_s: float) -> list[Lane]:
    """File a message at the end of its lane; close an open burst or album that it does not join.

    `burst_s` is a burst's window in seconds, 0 = no bursts. Returns the lanes with work now.
    """
    opened = jobs.gathering(tx, lane, inbound.person.id)
    if joining.gathers_album(inbound):
        return _file_album(tx, lane, inbound, opened, now)
    both = opened and joining.gathers_burst(opened[1]) and joining.gathers_burst(inbound)
    if opened and not (both and burst_s and joining.follows_burst(opened[1], inbound, burst_s)):
        jobs.flush(tx, opened[0])
        return [lane, *_file_burst(tx, lane, inbound, None, now, burst_s)]
    return _file_burst(tx, lane, inbound, opened, now, burst_s)


def file_apart(tx: Tx, lane: Lane, inbound: Inbound, now: datetime) -> int:
    """File a job that nothing joins at the end of its lane, after what gathers there; return its
    id."""
    if opened := jobs.gathering(tx, lane, inbound.person.id):
        jobs.flush(tx, opened[0])
    return jobs.add(tx, lane, inbound, iso(now))


def is_more(tx: Tx, inbound: Inbound) -> bool:
    """Whether this is an item of an album that this lane has other items of."""
    content = inbound.content
    return isinstance(content, Album) and jobs.has_album(tx, inbound.address.lane, content.id)


def _file_burst(
    tx: Tx, lane: Lane, inbound: Inbound, opened: _Opened, now: datetime, burst_s: float
) -> list[Lane]:
    if not joining.gathers_burst(inbound) or not burst_s:
        jobs.add(tx, lane, inbound, iso(now))
        return [lane]
    due_at = iso(now + timedelta(seconds=burst_s))
    ends = joining.closes_burst(inbound)
    if opened:
        jobs.extend(tx, opened[0], joining.join_burst(opened[1], inbound), due_at)
        if ends:
            jobs.flush(tx, opened[0])
    else:
        jobs.add(tx, lane, inbound, iso(now), due_at="" if ends else due_at)
    return [lane] if ends else []


def _file_album(tx: Tx, lane: Lane, inbound: Inbound, opened: _Opened, now: datetime) -> list[Lane]:
    due_at = iso(now + timedelta(seconds=joining.COMPLETE_AFTER_S))
    if opened and joining.joins_album(opened[1], inbound):
        jobs.extend(tx, opened[0], joining.join_album(opened[1], inbound), due_at)
        return []
    if opened:
        jobs.flush(tx, opened[0])
    inbound = joining.is_late(inbound) if is_more(tx, inbound) else inbound
    jobs.add(tx, lane, inbound, iso(now), due_at=due_at)
    return [lane] if opened else []


def replay(tx: Tx, address: ConversationAddress) -> int:
    """Let what waited for a pack go on: of each person, texts in a row are one message, as if they
    had been written at once; a command or a tap between parts them. Returns how many go on."""
    before: tuple[int, Inbound] | None = None
    for job_id, inbound, waits in jobs.since_parked(tx, address):
        if not waits:
            before = None if isinstance(inbound.content, Command | Button) else before
        elif before and _go_together(before[1], inbound):
            before = before[0], joining.join_burst(before[1], inbound)
            jobs.join(tx, job_id, *before)
        else:
            before = job_id, inbound
    return jobs.replay_parked(tx, address)


def _go_together(one: Inbound, then: Inbound) -> bool:
    """Whether two messages that waited are answered together."""
    texts = joining.gathers_burst(one) and joining.gathers_burst(then)
    return texts and one.person.id == then.person.id and one.chat_kind == "private"


def file_report(tx: Tx, report: Inbound, now: str) -> Lane:
    """Store a report as a job, where its chat is now; return the lane that has work."""
    address = gone.where_it_is(tx, report.address)
    lane = address.lane.bypass if gates.asks_in(tx, address) else address.lane
    jobs.add(tx, lane, report, now)
    return lane


def hurry(tx: Tx, address: ConversationAddress) -> None:
    """Let the reports that wait in a conversation bypass its lane: its turn waits for a person."""
    jobs.move_reports(tx, address.lane, address.lane.bypass)
