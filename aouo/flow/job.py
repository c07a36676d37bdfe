"""One job from claim to settled: the path of a message on one screen."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import TypeAlias, assert_never

import structlog

from aouo.facts import notices
from aouo.facts.commands import COMMANDS, Bypass, Runs, check_handled
from aouo.facts.errors import ChosenBefore, LostClaim, NothingToRetry, RouteRequiredError, StopAsked
from aouo.facts.events import Standing
from aouo.facts.work import Job
from aouo.flow.answering.turns import Turns
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.taps import Taps
from aouo.flow.handlers.topics import TopicEvents
from aouo.flow.replies import Replies
from aouo.queue.lanes import Slot
from aouo.routing import decisions as to
from aouo.routing.decide import decide
from aouo.store.off_record import is_once

log = structlog.get_logger()
STARTS_MAX = 3
Obeys: TypeAlias = Callable[[Job, str, Slot], Awaitable[None]]
"""Carries out a command with the words after it, and settles its job."""


class Flow:
    """Handles one job at a time per lane; never raises but for cancellation."""

    def __init__(
        self,
        *,
        replies: Replies,
        turns: Turns,
        taps: Taps,
        commands: Mapping[str, Obeys],
        editing: Editing,
        topics: TopicEvents,
        reacting: Callable[[Job], Awaitable[None]],
        standing: Callable[[Job, Standing], Awaitable[None]],
    ) -> None:
        self._replies = replies
        self._turns = turns
        self._taps = taps
        check_handled(commands, Runs.FLOW)
        self._commands = commands
        self._editing = editing
        self._topics = topics
        self._reacting = reacting
        self._standing = standing

    async def handle(self, job: Job, slot: Slot) -> None:
        """Decide what the job asks for, do it, settle it."""
        inbound = job.inbound
        fields: dict[str, object] = {"job": job.id, "conversation": str(inbound.address)}
        if job.off_record or is_once(inbound):
            fields["off_record"] = True
        with structlog.contextvars.bound_contextvars(**fields), self._turns.beginning(job):
            try:
                await self._unless_stopped(job, lambda: self._handle(job, slot))
            except LostClaim as error:
                log.warning("claim_lost", error=str(error))
            except Exception as error:
                log.exception("job_failed", error=repr(error))
                await self._break(job)

    async def _unless_stopped(self, job: Job, work: Callable[[], Awaitable[None]]) -> None:
        try:
            await work()
        except StopAsked:
            await self._turns.end_stopped(job)

    async def _handle(self, job: Job, slot: Slot) -> None:
        if job.stopped:
            raise StopAsked(f"job {job.id}")
        if job.starts > STARTS_MAX:
            log.error("job_set_aside", starts=job.starts)
            why = "the process broke down on it three times"
            await self._replies.set_aside(job, notices.Plain.SET_ASIDE, why)
            return
        job = await self._topics.first_message(job)
        installed = self._replies.installed(job.active_pack)
        # Words in the lane itself were said before the question: a turn that is taken up again
        # must not answer its own.
        answers = job.asked and job.lane.bypasses
        decision = decide(job.inbound, job.active_pack, installed, answers_gate=answers)
        await self._carry_out(job, decision, slot)

    async def _break(self, job: Job) -> None:
        """Something of ours failed; say so, unless the job was settled before that.

        Where even that fails its rows are broken: it is put aside without touching them, at last
        without a word, or it would end every process that takes it up.
        """
        notice, why = notices.Broken(f"job {job.id}"), "something broke"
        replies = self._replies
        ways: tuple[Callable[[], Awaitable[None]], ...] = (
            lambda: self._unless_stopped(
                job, lambda: replies.give_up(job, notice, state="done", why=why)
            ),
            lambda: replies.set_aside(job, notice, why, broken=True),
            lambda: replies.put_aside(job),
        )
        for way in ways:
            try:
                await way()
            except LostClaim:
                return
            except Exception as error:
                log.exception("job_set_aside", error=repr(error))
            else:
                return

    async def _carry_out(self, job: Job, decision: to.Decision, slot: Slot) -> None:
        replies, taps = self._replies, self._taps
        match decision:
            case to.RunTurn(again=True) if job.lane.bypasses:
                await replies.leave_question(job)
            case to.ObeyCommand(name) if job.lane.bypasses and _leaves_question(name):
                await replies.leave_question(job)
            case to.RunTurn() | to.PickPack() if job.lane.bypasses:
                await replies.defer(job)  # the question it was to answer is closed by now
            case to.RunTurn():
                try:
                    await self._turns.run(job, decision, slot)
                except RouteRequiredError as error:  # taken up, and its pack is gone meanwhile
                    await replies.park(job, error.requested)
                except NothingToRetry:
                    await replies.answer(job, notices.Plain.NOTHING_TO_RETRY)
                except ChosenBefore:
                    await replies.done(job, "chosen before")
            case to.PickPack(_, gone):
                await replies.park(job, gone)
            case to.ObeyCommand(name, rest) if name in self._commands:
                await self._commands[name](job, rest, slot)
            case to.ObeyCommand(name, rest):
                await replies.obey(job, name, rest)
            case to.RefuseCommand(name, ""):
                await replies.answer(job, notices.UnknownCommand(name))
            case to.RefuseCommand(name, pack):
                await replies.answer(job, notices.SkillOfOtherPack(name, pack))
            case to.NameTopic():
                await self._topics.name(job, decision)
            case to.ShutTopic(closed):
                await self._topics.shut(job, closed=closed)
            case to.AnswerGate():
                await taps.answer_gate(job, decision)
            case to.ObeyTap(tap):
                await taps.obey(job, tap)
            case to.Refuse():
                await replies.refuse(job, decision)
            case to.MoveChat(new_chat_id):
                await replies.move_chat(job, new_chat_id)
            case to.ApplyEdit():
                await self._editing.apply(job)
            case to.NoteReaction():
                await self._reacting(job)
            case to.StopDraft(draft_id):
                await replies.stop_draft(job, draft_id)
            case to.NoteStanding(standing):
                await self._standing(job, standing)
            case to.Explain(what):
                await replies.answer(job, notices.CannotTake(what))
            case to.PutAside():
                log.error("job_unreadable")
                why = "what came cannot be read"
                await replies.set_aside(job, notices.Plain.CANNOT_READ, why)
            case to.Ignore(reason):
                await replies.done(job, reason)
            case _:
                assert_never(decision)


def _leaves_question(command: str) -> bool:
    return COMMANDS[command].bypass is Bypass.LEAVING
