"""Carries out the commands, ours and the owner's, and tells what one waits for."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from aouo.facts.address import Lane
from aouo.facts.commands import STOP, check_handled
from aouo.facts.errors import PostActionFailed, TooLate, TooMuchToRead
from aouo.facts.events import Album, Attached, Command, Content, DraftStopped, Person, Text
from aouo.facts.ids import draft_id
from aouo.facts.people import PEOPLE
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Delivery, Job, Route
from aouo.flow.commands.registry import AddedCommand, CommandCall, Commands, Handler, Look, Result
from aouo.flow.intake import typing
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.plumbing.logs import log
from aouo.queue.decide import ObeyCommand, RefuseCommand
from aouo.queue.running import Running, StopReason
from aouo.store import deliveries, gates, jobs, routes, turns
from aouo.store.database import Database, Tx
from aouo.words import conversations
from aouo.words.catalogue import say, speaking

_TOLD_AFTER_S = 0.7
"""What has begun by then needs no words; people are told within a second."""


@dataclass(slots=True, eq=False, kw_only=True)
class WaitingNotice:
    """Looks at a lane a moment after something came that its person does not expect to wait."""

    database: Database
    clock: Clock
    outbox: Outbox
    language: Callable[[Person], str]
    _lanes: asyncio.Queue[tuple[Lane, float]] = field(
        init=False, default_factory=asyncio.Queue[tuple[Lane, float]]
    )

    def look(self, lane: Lane) -> None:
        """Something was filed there that may have to wait."""
        self._lanes.put_nowait((lane, self.clock.monotonic_s() + _TOLD_AFTER_S))

    async def run(self) -> None:
        """Look and tell, for ever."""
        while True:
            lane, due_s = await self._lanes.get()
            if (left_s := due_s - self.clock.monotonic_s()) > 0:
                await self.clock.sleep(left_s)
            now = stamp(self.clock)
            self.outbox.put(
                *await self.database.transact(
                    lambda tx, lane=lane, now=now: self._told(tx, lane, now)
                )
            )

    def _told(self, tx: Tx, lane: Lane, now: str) -> list[Delivery]:
        """The lines for what waits there and was not told of yet."""
        at_work, waiting = jobs.behind(tx, lane)
        rows: list[Delivery] = []
        for job_id, inbound in waiting:
            if at_work is None or inbound.origin not in PEOPLE:
                continue
            asked = gates.open_for(tx, inbound.address, inbound.person.id) is not None
            name, key = _command_in(inbound.content), f"behind:{job_id}"
            needless = isinstance(inbound.content, Text) or deliveries.has_key(tx, key)
            if needless or not (name or asked):
                continue
            own = at_work.person.id == inbound.person.id
            with speaking(self.language(inbound.person)):
                said = conversations.waits(name, question=asked, stops=own)
            rows.append(deliveries.add(tx, inbound.address, "aside", said, now, key=key))
        return rows


def _command_in(content: Content) -> str:
    match content:
        case Command(name) | Attached(command=Command(name)) | Album(command=Command(name)):
            return name
        case _:
            return ""


def _first_two(said: ObeyCommand) -> str:
    return " ".join((said.name, *said.rest.split()[:1]))


_Obeys: TypeAlias = Callable[[Job, ObeyCommand], Awaitable[None]]
"""Carries out a command with calls of its own, and settles its job itself."""


@dataclass(slots=True, eq=False, kw_only=True)
class Obeying:
    """Obeys commands by their handlers in `commands`, or by `calling`, where a name may have the
    first word after it; `limit_s` is how long the owner's own may take.

    Raises:
        ValueError: a command has no handler, or a handler no command; raised at start.
    """

    replies: Replies
    running: Running
    commands: Commands
    calling: Mapping[str, _Obeys]
    limit_s: Callable[[], float]

    def __post_init__(self) -> None:
        calling = {name.partition(" ")[0] for name in self.calling}
        check_handled({*self.commands.handlers, *self.commands.lookups, *calling})

    async def obey(self, job: Job, said: ObeyCommand) -> None:
        """Carry out a command in the transaction that settles it, or run before that what looks
        something up or is the owner's; of one that ran already, what it left."""
        if job.carried:
            left = Result(hints=job.carried.hints, post_action=job.carried.post_action)
            await self._carry_out(job, said, left)
        elif obeys := self.calling.get(_first_two(said)) or self.calling.get(said.name):
            await obeys(job, said)
        elif handler := self._handler(said):
            library = self.replies.shown_to(job.inbound.person.id)
            await self.replies.command(job, lambda tx, call: handler(tx, call, library), said)
        elif look := self.commands.lookups.get(said.name):
            result = await self._looked_up(job, look, said)
            await self.replies.command(job, lambda tx, call: result, said)
        elif added := self.commands.added().get(said.name):
            await self._obey_added(job, said, added)
        else:  # its file was taken away a moment ago
            await self.replies.answer(job, say("commands.unknown", name=said.name))

    def _handler(self, said: ObeyCommand) -> Handler | None:
        """Return what obeys a command in one transaction, None = it is another kind."""
        if said.name in self.commands.lookups and not said.rest.strip():
            return None
        return self.commands.handlers.get(said.name)

    async def _obey_added(self, job: Job, said: ObeyCommand, added: AddedCommand) -> None:
        call, _ = await self._called(job, said)
        try:
            async with typing(self.replies.outbox.action, self.replies.clock, job.inbound.address):
                ended = await self.running.run(
                    job.id, self.limit_s(), lambda: _guarded(said.name, added, call)
                )
        except asyncio.CancelledError:
            await self.replies.give_back(job)
            raise
        if isinstance(ended, Result):
            await self._carry_out(job, said, ended)
        elif isinstance(ended, Exception):
            await self._failed(job, said, ended)
        elif ended is StopReason.TIMEOUT:
            await self.replies.answer(job, say("commands.took-too-long", name=said.name))
        else:
            await self.replies.end_early(job, ended)

    async def _carry_out(self, job: Job, said: ObeyCommand, result: Result) -> None:
        try:
            await self.replies.command(job, lambda tx, call: result, said)
        except (PostActionFailed, TypeError, ValueError) as error:
            await self._failed(job, said, error)

    async def _failed(self, job: Job, said: ObeyCommand, error: Exception) -> None:
        log.error("command_failed", command=said.name, error=repr(error))
        failed = say("commands.failed", name=said.name, reference=f"job {job.id}")
        await self.replies.answer(job, failed)

    async def refuse(self, job: Job, why: RefuseCommand) -> None:
        """Say that nobody knows the command, or which pack's it is, or what is wrong with it."""
        if why.why:
            said = say("commands.not-split", name=why.name)
        elif why.pack:
            said = say("commands.of-other-pack", name=why.name, pack=why.pack)
        else:
            said = say("commands.unknown", name=why.name)
        await self.replies.answer(job, said)

    async def stop_draft(self, job: Job, stopped: DraftStopped) -> None:
        """Do as /stop does, if the answer that was growing as this draft still is; one that is
        over says enough by being there, and what is at work since is another one."""
        stop = self.commands.handlers[STOP.name]

        def handler(tx: Tx, call: CommandCall) -> Result:
            if stopped.draft_id not in map(draft_id, turns.open_in(tx, call.inbound.address.lane)):
                raise TooLate(f"draft {stopped.draft_id}")
            return stop(tx, call, self.replies.library())

        try:
            await self.replies.command(job, handler)
        except TooLate:
            await self.replies.done(job, "the draft is over")

    async def _looked_up(self, job: Job, look: Look, said: ObeyCommand) -> Result:
        call, route = await self._called(job, said)
        try:
            async with self.replies.database.snapshot() as snapshot:
                return await look(snapshot, call, route)
        except TooMuchToRead as error:
            log.warning("too_much_to_read", error=str(error))
            return Result(say("commands.too-much-to-read"))

    async def _called(self, job: Job, said: ObeyCommand) -> tuple[CommandCall, Route | None]:
        """The call of a command that runs before its transaction, and where it was sent."""
        route = await self.replies.database.read(lambda tx: routes.find(tx, job.inbound.address))
        session_id = route.session_id if route else ""
        now = stamp(self.replies.clock)
        call = CommandCall(job.inbound, said.rest, now, job.id, said.words, session_id, said.name)
        return call, route


async def _guarded(name: str, added: AddedCommand, call: CommandCall) -> Result | Exception:
    """Run a command of the owner's; what it raises is a value, since it is not our failure."""
    try:
        result = cast("object", await added.run(call))  # a package may return anything
    except Exception as error:
        log.exception("command_raised", command=name, error=repr(error))
        return error
    if not isinstance(result, Result):
        return TypeError(f"{result!r} is no Result")
    output = cast("object", result.output)
    return result if isinstance(output, Rendered | None) else TypeError(f"{output!r} is no message")
