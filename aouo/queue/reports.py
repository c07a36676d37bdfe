"""Files the results of triggered turns into the lanes of their conversations.

A result waits for the turn that runs there; but a turn that waits for a person may wait for a
day, so results bypass it.
"""

from __future__ import annotations

from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.events import Inbound
from aouo.store import gates, jobs, moves
from aouo.store.database import Tx


def file(tx: Tx, report: Inbound, now: str) -> Lane:
    """Store a report as a job, where its chat is now; return the lane that has work."""
    address = moves.where_it_is(tx, report.address)
    lane = address.lane.bypass if gates.asks_in(tx, address) else address.lane
    jobs.add(tx, lane, report, now)
    return lane


def hurry(tx: Tx, address: ConversationAddress) -> None:
    """Let the reports that wait in a conversation bypass its lane: its turn waits for a person."""
    jobs.move_reports(tx, address.lane, address.lane.bypass)
