"""Carries out what a command returns: its answer, or what it leaves to a turn."""

from __future__ import annotations

from dataclasses import dataclass, replace

from aouo.facts.address import Lane
from aouo.facts.commands import Carried
from aouo.facts.errors import RouteRequiredError
from aouo.facts.events import Triggered
from aouo.facts.ports import Rendered
from aouo.facts.work import Job
from aouo.flow.commands.builtin import pack_here, unchosen
from aouo.flow.commands.registry import Answered, CommandCall, PostActions, Result
from aouo.packs.library import Library
from aouo.queue.decide import lane_of
from aouo.store import jobs, routes
from aouo.store.database import Tx
from aouo.words.catalogue import say


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command came to: `said` None = its job was given back, to be answered by a turn, or
    `waits` for a pack.

    `wakes` are lanes that have work then.
    """

    said: list[Rendered] | None
    wakes: tuple[Lane, ...] = ()
    waits: RouteRequiredError | None = None


def carry_out(
    tx: Tx, job: Job, call: CommandCall, result: Result, library: Library, actions: PostActions
) -> Outcome:
    """Answer with the output and do the post-action, or leave both hints and post-action to a turn,
    in the transaction of the command.

    Raises:
        PostActionFailed: nothing of it may be kept.
    """
    if result.output is not None:
        return Outcome([result.output, *_also(tx, job, result, call.now, actions)])
    actions.check(result.post_action)
    hints = replace(result.hints, said=result.hints.said or call.rest)
    carried = Carried(hints, result.post_action)
    if hints.isolated:
        return _apart(tx, job, call, carried, library)
    jobs.carry(tx, job, carried)
    return Outcome(None, (job.inbound.address.lane,))


def _apart(tx: Tx, job: Job, call: CommandCall, carried: Carried, library: Library) -> Outcome:
    """File the turn as a job of its own beside the conversation. Without a pack what the
    command left waits with its job: it ran, and must not run again."""
    hints = carried.hints
    if refusal := _refusal(job, hints.said):
        return Outcome([refusal])
    pack = pack_here(tx, call, library)
    if pack is None:
        jobs.keep(tx, job, carried)
        return Outcome(None, waits=unchosen(tx, call, library))
    run = Triggered(str(job.id), f"/{call.name}", hints.said, pack, hints.skill)
    inbound = replace(job.inbound, content=run, origin="command")
    lane = lane_of(inbound)
    jobs.add(tx, lane, inbound, call.now, carried=carried)
    jobs.keep(tx, job, None)
    return Outcome([say("commands.runs-apart", name=call.name)], (lane,))


def _also(tx: Tx, job: Job, result: Result, now: str, actions: PostActions) -> list[Rendered]:
    """Do what a command wants done with its own answer, and tell of it."""
    if result.post_action is None:
        return []
    if job.off_record:
        return [say("commands.not-done-off-record")]
    inbound, route = job.inbound, routes.find(tx, job.inbound.address)
    answered = Answered(
        inbound.address,
        inbound.chat_kind,
        inbound.person,
        session_id=route.session_id if route else "",
        pack=route.active_pack if route else "",
        skill=route.active_skill if route else "",
        text="",
        now=now,
    )
    said = actions.do(tx, result.post_action, answered)
    return [said] if said else []


def _refusal(job: Job, said: str) -> Rendered | None:
    """Why no turn may run beside the conversation, None = one may."""
    if job.off_record:
        return say("commands.not-apart-off-record")
    return None if said.strip() else say("turns.empty-message")
