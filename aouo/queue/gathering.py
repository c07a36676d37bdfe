"""Files a message into its lane: at once, or as a job in state `gathering` that more may join.

It carries out what `bursts` and `albums` decide, in the transaction that stores the message.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TypeAlias

from aouo.facts.address import Lane
from aouo.facts.events import Album, Inbound
from aouo.facts.ports import iso
from aouo.queue import albums, bursts
from aouo.store import jobs
from aouo.store.database import Tx

_Opened: TypeAlias = tuple[int, Inbound] | None


def file(tx: Tx, lane: Lane, inbound: Inbound, now: datetime, burst_s: float) -> list[Lane]:
    """File a message at the end of its lane; close an open burst or album that it does not join.

    `burst_s` is a burst's window in seconds, 0 = no bursts. Returns the lanes with work now.
    """
    opened = jobs.gathering(tx, lane, inbound.person.id)
    if albums.gathers(inbound):
        return _file_album(tx, lane, inbound, opened, now)
    both = opened and bursts.gathers(opened[1]) and bursts.gathers(inbound)
    if opened and not (both and burst_s and bursts.follows(opened[1], inbound, burst_s)):
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
    if not bursts.gathers(inbound) or not burst_s:
        jobs.add(tx, lane, inbound, iso(now))
        return [lane]
    due_at = iso(now + timedelta(seconds=burst_s))
    ends = bursts.closes(inbound)
    if opened:
        jobs.extend(tx, opened[0], bursts.join(opened[1], inbound), due_at)
        if ends:
            jobs.flush(tx, opened[0])
    else:
        jobs.add(tx, lane, inbound, iso(now), due_at="" if ends else due_at)
    return [lane] if ends else []


def _file_album(tx: Tx, lane: Lane, inbound: Inbound, opened: _Opened, now: datetime) -> list[Lane]:
    due_at = iso(now + timedelta(seconds=albums.COMPLETE_AFTER_S))
    if opened and albums.joins(opened[1], inbound):
        jobs.extend(tx, opened[0], albums.join(opened[1], inbound), due_at)
        return []
    if opened:
        jobs.flush(tx, opened[0])
    inbound = albums.late(inbound) if is_more(tx, inbound) else inbound
    jobs.add(tx, lane, inbound, iso(now), due_at=due_at)
    return [lane] if opened else []
