"""Runs turns for programs that wait for them: a whole answer, or its events as they come.

It is the same door as everybody's: what is asked becomes a job, so it is durable, takes its lane
and its place; only who waits is lost with the process. They wait for the end of that job, which
its row tells, whatever else is said in the conversation meanwhile.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field

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
    TurnStarted,
)
from aouo.facts.ids import SessionId
from aouo.facts.people import AT_HOME, Owner
from aouo.facts.work import Route
from aouo.plumbing.parts import Bus
from aouo.plumbing.waiting import first
from aouo.queue import lexer
from aouo.queue.inbox import Inbox
from aouo.queue.running import Running
from aouo.store import deliveries, jobs, routes, turns
from aouo.store.database import Database, Tx

_NOT_NOW = "the runtime ended before the turn did; it goes on after the next start"
_WAITS = "it waits in its conversation, and is answered there later"


def _of_the_turn(filed: Sequence[int]) -> Callable[[Event], bool]:
    """Return what knows the events of the turn of the `filed` job among all events."""
    turn_id = session_id = ""

    def concerns(event: Event) -> bool:
        nonlocal turn_id, session_id
        if isinstance(event, TurnStarted) and event.job_id in filed:
            turn_id, session_id = event.turn_id, event.session_id
        if not turn_id or event.session_id != session_id:
            return False
        return getattr(event, "turn_id", turn_id) == turn_id

    return concerns


@dataclass(slots=True, eq=False, kw_only=True)
class Asking:
    """Runs turns for whoever waits for their text, or shows their events; both as the owner.

    A session of kind `isolated` is made by its one turn, which stands beside the conversation of
    the id: nothing of it enters there. One of kind `chat` has to be that conversation's now; if
    the conversation has begun another one when the turn's place comes, the turn is in that one.
    In the place of a session's id stands a conversation's, for whatever is said there: what needs
    no turn, a command for one, is answered by what it says.
    """

    database: Database
    inbox: Inbox
    bus: Bus
    running: Running
    owner: Callable[[], Owner]
    _ended: asyncio.Event = field(init=False, default_factory=asyncio.Event)

    def __post_init__(self) -> None:
        self.database.listen(jobs.ENDED, self._tell)

    async def run_turn(self, prompt: str, session_id: str) -> str:
        """Run a turn and return its answer.

        Raises:
            TurnFailed: it has none; says why.
            ValueError: the session cannot have a turn.
        """
        async with aclosing(self.run_stream(prompt, session_id)) as events:
            async for event in events:
                match event:
                    case ResponseComplete(text=text):
                        return text
                    case TurnSettled(turn_id, _, status) if status != "ack":
                        _, why = await self.database.read(
                            lambda tx, turn_id=turn_id: turns.outcome(tx, turn_id)
                        )
                        raise TurnFailed(why or f"the turn ended without an answer ({status})")
                    case _:
                        pass
        raise TurnFailed(_NOT_NOW)

    async def run_stream(self, prompt: str, session_id: str) -> AsyncGenerator[Event]:
        """Run a turn and yield its events, to its end; whoever leaves earlier does not end it.

        Raises:
            TurnFailed: there is no turn; says why.
            ValueError: as in `run_turn`.
        """
        asked, filed = await self._asked(prompt, session_id), list[int]()
        events, leave = self.bus.subscribe(concern=_of_the_turn(filed))
        try:
            await self.inbox.ask(asked, filed.append)
            settled = False
            while True:
                ended = self._ended  # taken before the look, so that no end is missed
                while not events.empty():
                    event = events.get_nowait()
                    yield event
                    if isinstance(event, ResponseComplete) or (
                        isinstance(event, TurnSettled) and event.status != "ack"
                    ):
                        return
                if settled or events.is_closed:
                    break
                settled = await self.database.read(lambda tx: jobs.is_settled(tx, filed[0]))
                if settled:  # what its handling still tells comes first
                    await first(self.running.over(filed[0]), events.closed())
                else:
                    await first(ended.wait(), events.wait())
        finally:
            leave()
        spoken = "/" not in session_id
        yield await self.database.read(lambda tx: _end_of(tx, filed[0], spoken=spoken))

    async def outcome(self, inbound: Inbound) -> str:
        """Store an inbound that needs no turn as a job, and return what that ended with."""
        filed: list[int] = []
        await self.inbox.ask(inbound, filed.append)
        while True:
            ended = self._ended  # taken before the look, so that no end is missed
            if await self.database.read(lambda tx: jobs.is_settled(tx, filed[0])):
                return (await self.database.read(lambda tx: jobs.outcome(tx, filed[0])))[1]
            await ended.wait()

    def _tell(self) -> None:
        self._ended.set()
        self._ended = asyncio.Event()

    async def _asked(self, prompt: str, session_id: str) -> Inbound:
        if "/" not in session_id:
            here = ConversationAddress.parse(session_id)
            said = lexer.command(prompt) or Text(prompt)
            return Inbound(here, self._person(here.platform), said, origin="cli")
        session = SessionId.parse(session_id)
        address = ConversationAddress.parse(session.conversation)
        route = await self.database.read(lambda tx: routes.find(tx, address))
        person = self._person(address.platform)
        if session.kind == "isolated":
            run = Triggered(session.token, "", prompt, _pack(route), session=session_id)
            return Inbound(address, person, run, origin="api")
        if not (session.is_current and route and route.session_id == session_id):
            raise ValueError(f"{session_id} is not a session that goes on")
        origin = "web" if address.platform == "web" else "cli"
        return Inbound(address, person, Text(prompt), origin=origin)

    def _person(self, platform: str) -> Person:
        match platform:
            case "tg":
                return Person(self.owner().id)
            case "web":
                return self.owner().person
            case _:
                return Person(AT_HOME)


def _end_of(tx: Tx, job_id: int, *, spoken: bool) -> ResponseComplete | TurnSettled:
    """Return the end of the job's turn, which nobody told; `spoken`: without one, what was said.

    Raises:
        TurnFailed: there is no turn, or it has not ended.
    """
    if not jobs.is_settled(tx, job_id):
        raise TurnFailed(_NOT_NOW)
    state, outcome = jobs.outcome(tx, job_id)
    said = "\n".join(deliveries.replies_to(tx, job_id)) or outcome
    if state == "parked":
        raise TurnFailed(f"{_WAITS}: {said}")
    turn = turns.ended(tx, job_id)
    if turn is None and spoken and said:
        return ResponseComplete("", "", said, ())
    if turn is None:
        raise TurnFailed(said or "there was no turn")
    turn_id, session_id, status = turn
    if status == "ack":
        return ResponseComplete(turn_id, session_id, turns.outcome(tx, turn_id)[0], ())
    return TurnSettled(turn_id, session_id, status)


def _pack(route: Route | None) -> str:
    return route.active_pack if route else ""
