"""Finds out what a turn is to answer, before it begins: its words, and what its files say."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, replace

from aouo.facts.ports import ChatModel, Rendered
from aouo.facts.work import Job
from aouo.flow.answering.bringing import Bringing
from aouo.flow.files.intake import Audience, Intake, has_files
from aouo.flow.files.media_reach import openers_of
from aouo.flow.generation import Generation
from aouo.flow.replies import Replies
from aouo.queue.running import Running, StopReason
from aouo.routing.decisions import RunTurn
from aouo.words.catalogue import say

_MISSED = "a file could not be taken in"
_READS_NO_SKILLS = "the model reads no skills"


@dataclass(slots=True, eq=False, kw_only=True)
class Words:
    """Takes in what turns are to answer."""

    replies: Replies
    running: Running
    intake: Intake
    bringing: Bringing

    async def taken_in(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> RunTurn | None:
        """What the turn is to answer; None = there will be no turn, and the job is settled or
        given back."""
        if wanted.skill and model.brief:
            said = say("messages.no-skills", skill=wanted.skill.rpartition(":")[2])
            return await self._give_up(job, said, _READS_NO_SKILLS)
        if has_files(job) and not wanted.again:
            return await self._with_files(job, wanted, model, generation)
        if not wanted.said.strip() and not wanted.again:
            if job.isolated:
                return await self._give_up(job, say("turns.empty-message"), "")
            await self.replies.answer(job, say("turns.empty-message"))
            return None
        return wanted

    async def _with_files(
        self, job: Job, wanted: RunTurn, model: ChatModel, generation: Generation
    ) -> RunTurn | None:
        permitted = generation.permitted(wanted.pack)
        allowed = generation.registry.allowed(permitted, generation.enabled, wanted.pack)
        openers = openers_of(allowed, off_record=job.off_record or wanted.off_record)
        audience = Audience(model, wanted.pack, openers, generation)
        limit_s = generation.advanced.turn_timeout_s
        try:
            taken = await self.running.run(
                job.id, limit_s, lambda: self.intake.take_in(job, wanted.said, audience)
            )
        except asyncio.CancelledError:
            await self.replies.give_back(job)
            raise
        match taken:
            case str():
                return replace(wanted, said=taken)
            case StopReason.TIMEOUT:
                return await self._give_up(job, say("media.took-too-long"), _MISSED)
            case StopReason():
                await self.replies.end_early(job, taken)
                if taken is not StopReason.SHUTDOWN:
                    self.intake.forget(job)
                return None
            case said:
                return await self._give_up(job, said, _MISSED)

    async def _give_up(self, job: Job, said: Rendered, why: str) -> None:
        if job.isolated:
            await self.bringing.give_up(job, said.text)
            return
        await self.replies.give_up(job, said, state="done", why=why)
        self.intake.forget(job)
