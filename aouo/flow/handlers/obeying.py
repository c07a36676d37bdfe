"""Carries out the commands that one transaction or one look can, and refuses the unknown ones."""

from __future__ import annotations

import structlog

from aouo.commands.registry import CommandCall, Commands, Look, Result
from aouo.facts import notices
from aouo.facts.commands import STOP
from aouo.facts.errors import DraftOver, TooMuchToRead
from aouo.facts.ids import draft_id
from aouo.facts.notices import Notice
from aouo.facts.ports import Clock, stamp
from aouo.facts.work import Job
from aouo.flow.replies import Replies
from aouo.routing.decisions import ObeyCommand, RefuseCommand, StopDraft
from aouo.store import routes, turns
from aouo.store.database import Database, Tx

log = structlog.get_logger()


class Obeying:
    """Obeys commands by their handlers in `commands`."""

    def __init__(
        self, *, database: Database, clock: Clock, replies: Replies, commands: Commands
    ) -> None:
        self._database = database
        self._clock = clock
        self._replies = replies
        self._commands = commands

    async def obey(self, job: Job, said: ObeyCommand) -> None:
        """Carry out a command in the transaction that settles it, or look up what it asks for."""
        if look := self._commands.lookups.get(said.name):
            await self._replies.answer(job, await self._looked_up(job, look, said.rest))
            return
        handler, library = self._commands.handlers[said.name], self._replies.library
        await self._replies.command(job, lambda tx, call: handler(tx, call, library), said.rest)

    async def refuse(self, job: Job, why: RefuseCommand) -> None:
        """Say that nobody knows the command, or which pack's it is."""
        unknown = notices.UnknownCommand(why.name)
        notice = notices.SkillOfOtherPack(why.name, why.pack) if why.pack else unknown
        await self._replies.answer(job, notice)

    async def stop_draft(self, job: Job, stopped: StopDraft) -> None:
        """Do as /stop does, if the answer that was growing as this draft still is; one that is
        over says enough by being there, and what is at work since is another one."""
        stop = self._commands.handlers[STOP.name]

        def handler(tx: Tx, call: CommandCall) -> Result:
            if stopped.draft_id not in map(draft_id, turns.open_in(tx, call.inbound.address.lane)):
                raise DraftOver(f"draft {stopped.draft_id}")
            return stop(tx, call, self._replies.library)

        try:
            await self._replies.command(job, handler)
        except DraftOver:
            await self._replies.done(job, "the draft is over")

    async def _looked_up(self, job: Job, look: Look, rest: str) -> Notice:
        call = CommandCall(job.inbound, rest, stamp(self._clock), job.id)
        route = await self._database.read(lambda tx: routes.find(tx, job.inbound.address))
        try:
            async with self._database.snapshot() as snapshot:
                return await look(snapshot, call, route)
        except TooMuchToRead as error:
            log.warning("too_much_to_read", error=str(error))
            return notices.Plain.TOO_MUCH_TO_READ
