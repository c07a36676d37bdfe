"""Gives sessions titles: wanted when a turn is committed, given when nobody waits for anything."""

from __future__ import annotations

from dataclasses import dataclass

import structlog

from aouo.facts.accounts import Spent
from aouo.facts.errors import ProviderError, Refused
from aouo.facts.events import TurnSettled
from aouo.facts.ports import Clock, stamp
from aouo.facts.transcript import AssistantSaid, Message, UserSaid
from aouo.flow.generations import Generations
from aouo.plumbing.bus import Bus
from aouo.store import sessions, turns, usage
from aouo.store.database import Database, Tx
from aouo.store.sessions import Wanting
from aouo.turn.side_calls import SideCalls

log = structlog.get_logger()
QUIET_S = 20.0
"""Between a turn's end and the chore: the person's next message comes first."""
_MESSAGES, _MESSAGE_CHARS = 8, 300


@dataclass(slots=True, eq=False, kw_only=True)
class Titles:
    """Gives each session that wants one a title, once, with at most three tries.

    What is wanted is a column of the session, so a restart loses nothing. A model that asks for
    brief prompts cannot name anything; the first words stay the title then.
    """

    database: Database
    clock: Clock
    bus: Bus
    generations: Generations

    async def run(self) -> None:
        """For ever: what a former process left, then after each turn what it left."""
        while True:
            await self.clock.sleep(QUIET_S)
            events, leave = self.bus.subscribe(TurnSettled)
            try:
                if not self.generations.now.model.brief:
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
            asking = SideCalls(now.quota, now.model, row, spent.append)
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
