"""Carries out the commands: ours by their handlers, and the owner's own; refuses unknown ones."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

import structlog

from aouo.commands.registry import AddedCommand, CommandCall, Commands, Handler, Look, Result
from aouo.facts.commands import STOP, check_handled
from aouo.facts.errors import PostActionFailed, TooLate, TooMuchToRead
from aouo.facts.events import DraftStopped
from aouo.facts.ids import draft_id
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Job, Route
from aouo.flow.files.activity import typing
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.queue.running import Running, StopReason
from aouo.routing.decisions import ObeyCommand, RefuseCommand
from aouo.store import routes, turns
from aouo.store.database import Database, Tx
from aouo.words.catalogue import say

log = structlog.get_logger()


Obeys: TypeAlias = Callable[[Job, ObeyCommand], Awaitable[None]]
"""Carries out a command with calls of its own, and settles its job itself."""


@dataclass(slots=True, eq=False, kw_only=True)
class Obeying:
    """Obeys commands by their handlers in `commands`, or by `calling`; `limit_s` is how long the
    owner's own may take.

    Raises:
        ValueError: a command has no handler, or a handler no command; raised at start.
    """

    database: Database
    clock: Clock
    outbox: Outbox
    replies: Replies
    running: Running
    commands: Commands
    calling: Mapping[str, Obeys]
    limit_s: Callable[[], float]

    def __post_init__(self) -> None:
        check_handled({*self.commands.handlers, *self.commands.lookups, *self.calling})

    async def obey(self, job: Job, said: ObeyCommand) -> None:
        """Carry out a command in the transaction that settles it, or run before that what looks
        something up or is the owner's; of one that ran already, what it left."""
        if job.carried:
            left = Result(hints=job.carried.hints, post_action=job.carried.post_action)
            await self._carry_out(job, said, left)
        elif obeys := self.calling.get(said.name):
            await obeys(job, said)
        elif handler := self._handler(said):
            library = self.replies.library()
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
            async with typing(self.outbox.action, self.clock, job.inbound.address):
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
            said = say("commands.not-split", name=why.name, why=why.why)
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
            async with self.database.snapshot() as snapshot:
                return await look(snapshot, call, route)
        except TooMuchToRead as error:
            log.warning("too_much_to_read", error=str(error))
            return Result(say("commands.too-much-to-read"))

    async def _called(self, job: Job, said: ObeyCommand) -> tuple[CommandCall, Route | None]:
        """The call of a command that runs before its transaction, and where it was sent."""
        route = await self.database.read(lambda tx: routes.find(tx, job.inbound.address))
        session_id = route.session_id if route else ""
        now = stamp(self.clock)
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
