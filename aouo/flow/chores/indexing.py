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


class Indexing:
    """Brings the index up to date for the conversations that had a turn.

    What is missing is a column of each session, so that a kill loses nothing: the conversation's
    next turn has it indexed.
    """

    def __init__(self, *, database: Database, clock: Clock, bus: Bus) -> None:
        self._database = database
        self._clock = clock
        self._bus = bus

    async def run(self) -> None:
        """For ever: wait for a turn's end, then index."""
        events, leave = self._bus.subscribe(TurnSettled)
        try:
            async for event in events:
                said_in = {event.session_id}
                await first(self._clock.sleep(QUIET_S), events.closed())
                if events.is_closed:  # the next turn there has it indexed
                    return
                while not events.empty():
                    said_in.add(events.get_nowait().session_id)
                try:
                    await self.index(said_in)
                except Exception as error:  # the next turn there tries again
                    log.exception("not_indexed", error=repr(error))
        finally:
            leave()

    async def index(self, session_ids: set[str]) -> None:
        """Index what is new in the conversations that these sessions are of."""
        keys = {
            await self._database.read(lambda tx, one=one: sessions.key_of(tx, one))
            for one in session_ids
        }
        for key in keys - session_ids - {""}:  # a triggered turn's key is its session's id
            while await self._database.transact(lambda tx, key=key: search.catch_up(tx, key)):
                pass
