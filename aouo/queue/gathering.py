"""Files messages and results of triggered turns into lanes, alone or as a job that grows.

It carries out what `bursts` and `albums` decide, in the transaction that stores the message.

A result waits for the turn that runs there; but a turn that waits for a person may wait for a
day, so results bypass it.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Album, Button, Command, Inbound
from aouo.facts.ports import iso
from aouo.queue import joining
from aouo.store import gates, gone, jobs
from aouo.store.database import Tx


def file(tx: Tx, lane: Lane, inbound: Inbound, now: datetime, burst_s: float) -> list[Lane]:
    """File a message at the end of its lane; close an open burst or album that it does not join.

    `burst_s` is a burst's window in seconds, 0 = no bursts. Returns the lanes with work now.
    """
    opened = jobs.gathering(tx, lane, inbound.person.id)
    if joining.gathers_album(inbound) and opened and joining.joins_album(opened[1], inbound):
        due_at = iso(now + timedelta(seconds=joining.COMPLETE_AFTER_S))
        jobs.extend(tx, opened[0], joining.join_album(opened[1], inbound), due_at)
        return []
    if burst_s and not opened and joining.belongs_to_last(inbound):
        opened = jobs.waiting(tx, lane, inbound.person.id)
    if opened and burst_s and _is_one(opened[1], inbound, burst_s):
        return _extend(tx, lane, opened, inbound, now, burst_s)
    if opened:
        jobs.flush(tx, opened[0])
    return list(dict.fromkeys([lane] * bool(opened) + _begin(tx, lane, inbound, now, burst_s)))


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


def _is_one(first: Inbound, then: Inbound, burst_s: float) -> bool:
    """Whether two messages within the window are one."""
    return joining.joins_burst(first, then) and joining.follows_burst(first, then, burst_s)


def _extend(
    tx: Tx, lane: Lane, opened: tuple[int, Inbound], then: Inbound, now: datetime, burst_s: float
) -> list[Lane]:
    ends = joining.closes_burst(then)
    album = joining.gathers_album(then) and not is_more(tx, then)
    window_s = max(burst_s, joining.COMPLETE_AFTER_S if album else 0)
    due_at = iso(now + timedelta(seconds=window_s))
    jobs.extend(tx, opened[0], joining.join_burst(opened[1], then), due_at)
    if ends:
        jobs.flush(tx, opened[0])
    return [lane] if ends else []


def _begin(tx: Tx, lane: Lane, inbound: Inbound, now: datetime, burst_s: float) -> list[Lane]:
    """Store a message that joins nothing; it gathers if more of it may come."""
    window_s = 0.0
    if joining.gathers_album(inbound):
        inbound = joining.is_late(inbound) if is_more(tx, inbound) else inbound
        window_s = joining.COMPLETE_AFTER_S
    elif joining.gathers_burst(inbound) and not joining.closes_burst(inbound):
        window_s = burst_s
    due_at = iso(now + timedelta(seconds=window_s)) if window_s else ""
    jobs.add(tx, lane, inbound, iso(now), due_at=due_at)
    return [] if window_s else [lane]


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
