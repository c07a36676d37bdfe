"""Indexes what was said for search, soon after the turn that said it and beside all turns."""

from __future__ import annotations

import structlog

from aouo.facts.events import TurnSettled
from aouo.facts.ports import Clock
from aouo.plumbing.bus import Bus
from aouo.plumbing.first import first
from aouo.store import search, sessions
from aouo.store.database import Database

log = structlog.get_logger()
QUIET_S = 5.0
"""Between a turn's end and the chore, which takes the turns of that time together."""


async def keep_indexed(database: Database, clock: Clock, bus: Bus) -> None:
    """For ever: wait for a turn's end, then bring the index up to date for the conversations that
    had one.

    What is missing is a column of each session, so that a kill loses nothing: the conversation's
    next turn has it indexed.
    """
    events, leave = bus.subscribe(TurnSettled)
    try:
        async for event in events:
            said_in = {event.session_id}
            await first(clock.sleep(QUIET_S), events.closed())
            if events.is_closed:  # the next turn there has it indexed
                return
            while not events.empty():
                said_in.add(events.get_nowait().session_id)
            try:
                await _index(database, said_in)
            except Exception as error:  # the next turn there tries again
                log.exception("not_indexed", error=repr(error))
    finally:
        leave()


async def _index(database: Database, session_ids: set[str]) -> None:
    """Index what is new in the conversations that these sessions are of."""
    keys = {
        await database.read(lambda tx, one=one: sessions.key_of(tx, one)) for one in session_ids
    }
    for key in keys - session_ids - {""}:  # a triggered turn's key is its session's id
        while await database.transact(lambda tx, key=key: search.catch_up(tx, key)):
            pass
