"""Indexes what was said for search and gives sessions titles, beside all turns."""

from __future__ import annotations

from dataclasses import dataclass

from aouo.agent.side_calls import SideCalls
from aouo.facts.errors import ProviderError, Refused
from aouo.facts.events import TurnSettled
from aouo.facts.ports import NO_MODEL, Clock, stamp
from aouo.facts.records import Spent
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.flow.generations import Generations
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Bus
from aouo.plumbing.waiting import first
from aouo.store import search, sessions, turns, usage
from aouo.store.database import Database, Tx
from aouo.store.sessions import Wanting

_QUIET_S = 5.0
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
            await first(clock.sleep(_QUIET_S), events.closed())
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


_TITLES_QUIET_S = 20.0
"""Between a turn's end and the chore: the person's next message comes first."""
_MESSAGES, _MESSAGE_CHARS = 8, 300


@dataclass(slots=True, eq=False, kw_only=True)
class Titles:
    """Gives each session that wants one a title, once, with at most three tries.

    What is wanted is a column of the session, so a restart loses nothing. Without a model
    the first words stay the title.
    """

    database: Database
    clock: Clock
    bus: Bus
    generations: Generations

    async def run(self) -> None:
        """For ever: what a former process left, then after each turn what it left."""
        while True:
            await self.clock.sleep(_TITLES_QUIET_S)
            events, leave = self.bus.subscribe(TurnSettled)
            try:
                if self.generations.now.model.provider != NO_MODEL:
                    await self.give()
                async for _ in events:
                    break
            finally:
                leave()

    async def give(self) -> None:
        """Give all titles that are wanted now."""
        for wanting in await self.database.read(sessions.wanting_titles):
            try:
                await self._give(wanting)
            except Exception as error:  # a session that cannot be read does without
                log.exception("title_failed", session=wanting.session_id, error=repr(error))
                await self.database.transact(
                    lambda tx, one=wanting: sessions.settle_title(tx, one.session_id, "")
                )

    async def _give(self, wanting: Wanting) -> None:
        said = await self.database.transact(lambda tx: _begin(tx, wanting))
        spent: list[Spent] = []
        pack, person, turn_id = wanting.pack, wanting.person, wanting.turn_id
        title = ""
        async with self.generations.using() as now:
            row = Spent("title", now.quota.day(), pack=pack, person=person, turn_id=turn_id)
            model = await now.model_of(pack, "title")
            asking = SideCalls(now.quota, model, row, spent.append)
            try:
                title = await asking.title(_lines(said))
            except (ProviderError, Refused, TimeoutError) as error:
                log.warning("title_failed", session=wanting.session_id, error=repr(error))

        def end(tx: Tx) -> None:
            at = stamp(self.clock)
            for item in spent:
                usage.record(tx, item, at)
            sessions.settle_title(tx, wanting.session_id, title)

        await self.database.transact(end)


def _begin(tx: Tx, wanting: Wanting) -> list[Message]:
    sessions.try_title(tx, wanting.session_id)
    return turns.history(tx, wanting.session_id, 200)


def _lines(said: list[Message]) -> str:
    spoken = [item for item in said if isinstance(item, UserSaid | AssistantSaid) and item.text]
    return "\n".join(
        f"{'Person' if isinstance(item, UserSaid) else 'Assistant'}: {item.text[:_MESSAGE_CHARS]}"
        for item in spoken[:_MESSAGES]
    )
