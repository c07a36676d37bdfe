"""Runs turns for programs that wait for them: a whole answer, or its events as they come.

It is the same door as everybody's: what is asked becomes a job, so it is durable, takes its lane
and its place; only who waits is lost with the process.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import aclosing

from aouo.facts.address import ConversationAddress
from aouo.facts.errors import TurnFailed
from aouo.facts.events import (
    Event,
    Inbound,
    Person,
    ResponseComplete,
    Text,
    Triggered,
    TurnSettled,
)
from aouo.facts.ids import SessionId
from aouo.facts.people import Owner
from aouo.facts.work import Route
from aouo.plumbing.bus import Bus
from aouo.queue.inbox import Inbox
from aouo.store import routes, turns
from aouo.store.database import Database


class Asking:
    """A `TurnExecutor` and a `StreamRunner` (facts/ports.py); both act as the owner.

    A session of kind `isolated` is made by its one turn, which stands beside the conversation of
    the id: nothing of it enters there. One of kind `chat` has to be that conversation's now.
    """

    def __init__(
        self, *, database: Database, inbox: Inbox, bus: Bus, owner: Callable[[], Owner]
    ) -> None:
        self._database = database
        self._inbox = inbox
        self._bus = bus
        self._owner = owner

    async def run_turn(self, prompt: str, session_id: str) -> str:
        """Run a turn and return its answer, as it was recorded.

        Raises:
            TurnFailed: it has none; says why.
            ValueError: the session cannot have a turn.
        """
        turn_id, status = "", ""
        async with aclosing(self.run_stream(prompt, session_id)) as events:
            async for event in events:
                if isinstance(event, TurnSettled):
                    turn_id, status = event.turn_id, event.status
        text, reason = await self._database.read(lambda tx: turns.outcome(tx, turn_id))
        if status != "ack":
            raise TurnFailed(reason or status)
        return text

    async def run_stream(self, prompt: str, session_id: str) -> AsyncGenerator[Event]:
        """Run a turn and yield its events, to its end; whoever leaves earlier does not end it.

        Raises:
            ValueError: as in `run_turn`.
        """
        asked = await self._asked(prompt, session_id)
        events, leave = self._bus.subscribe(session_id=session_id)
        try:
            await self._inbox.submit(asked)
            async for event in events:
                yield event
                if isinstance(event, TurnSettled) and event.status != "ack":
                    return
                if isinstance(event, ResponseComplete):
                    return
        finally:
            leave()
        raise TurnFailed("the runtime ended before the turn did")

    async def _asked(self, prompt: str, session_id: str) -> Inbound:
        session = SessionId.parse(session_id)
        address = ConversationAddress.parse(session.conversation)
        route = await self._database.read(lambda tx: routes.find(tx, address))
        person = Person(self._owner().id if address.platform == "tg" else "owner")
        if session.kind == "isolated":
            run = Triggered(session.token, "", prompt, _pack(route), session=session_id)
            return Inbound(address, person, run, origin="api")
        if not (session.is_current and route and route.session_id == session_id):
            raise ValueError(f"{session_id} is not a session that goes on")
        origin = "web" if address.platform == "web" else "cli"
        return Inbound(address, person, Text(prompt), origin=origin)


def _pack(route: Route | None) -> str:
    return route.active_pack if route else ""
