"""Makes the tool calls of one answer in order, and writes a turn down: intent before effect.

Every write first checks the job's claim, so a worker that lost it cannot write into a turn that
another one has resumed.
"""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import groupby

from aouo.agent.context import TurnContext
from aouo.facts.errors import GoingInCircles, OutcomeUnknown
from aouo.facts.events import ActionCompleted, Thought
from aouo.facts.ports import Clock, stamp
from aouo.facts.records import AuditEntry, Effect, Spent
from aouo.facts.transcript import AssistantSaid, Message, ToolCall, ToolReturned
from aouo.facts.work import Job
from aouo.guard.chain import Judged
from aouo.guard.prepared import Outcome, PreparedCall
from aouo.guard.targets import addresses
from aouo.plumbing.web.envelope import sources_in, unmarked
from aouo.store import audit, jobs, sessions, turns, usage
from aouo.store.database import Database, Tx


@dataclass(slots=True, eq=False)
class Journal:
    """Writes the rows of one turn."""

    database: Database
    clock: Clock
    job: Job

    async def calls(
        self,
        ctx: TurnContext,
        said: AssistantSaid,
        idempotent: Sequence[bool],
        proposed: Sequence[AuditEntry],
    ) -> None:
        """Write the model's words with its calls, each as an intent, and `proposed` to the audit;
        they are on disk before any call is judged."""

        def write(tx: Tx, now: str) -> None:
            turns.record_calls(tx, ctx.facts, said, idempotent, now)
            for entry in proposed:
                audit.append(tx, entry, now)

        await self._write(ctx, write, durable=True)
        ctx.said.append(said)

    async def proposed(self, ctx: TurnContext, entries: Sequence[AuditEntry]) -> None:
        """Write to the audit that calls are proposed again."""

        def write(tx: Tx, now: str) -> None:
            for entry in entries:
                audit.append(tx, entry, now)

        await self._write(ctx, write)

    async def result(
        self, ctx: TurnContext, result: ToolReturned, *, state: str, effect: bool, given: str = ""
    ) -> None:
        """Write the result of a call with the arguments `given`; wait for the disk if the call
        changed something. Whose words it holds, the session remembers with it."""
        new = ctx.reads(_words_of(result, given))

        def write(tx: Tx, now: str) -> None:
            turns.record_result(tx, ctx.facts, result, state, effect, now)
            if new and not ctx.facts.off_record:
                sessions.label(tx, ctx.facts.session_id, tuple(ctx.sources))

        await self._write(ctx, write, durable=effect)
        ctx.said.append(result)

    async def nudge(self, ctx: TurnContext, answer: str, reason: str) -> None:
        """Write an answer that was sent back, and why."""
        await self._write(
            ctx, lambda tx, now: turns.record_nudge(tx, ctx.facts, answer, reason, now)
        )

    async def said(self, turn_id: str) -> list[Message]:
        """Return what was said in the turn so far."""
        return await self.database.read(lambda tx: turns.said(tx, turn_id), once=True)

    async def intents(self, turn_id: str) -> dict[str, bool]:
        """Return the calls that a crash cut off: call id → whether it may run again."""
        return await self.database.read(lambda tx: turns.intents(tx, turn_id), once=True)

    async def _write(
        self, ctx: TurnContext, work: Callable[[Tx, str], None], *, durable: bool = False
    ) -> None:
        now = stamp(self.clock)
        spent, ctx.spent = ctx.spent, []

        def write(tx: Tx) -> None:
            jobs.check_claim(tx, self.job)
            record_all(tx, spent, now)
            work(tx, now)

        await self.database.transact(write, durable=durable, brief=True)


def _words_of(result: ToolReturned, given: str) -> Sequence[str]:
    """Return whose words a result brings: those between its marks, however short it is; a failure
    without marks is a sentence of ours, unless it names an address that its call did not."""
    if (marked := sources_in(result.text)) or not result.failed:
        return marked
    return (result.name,) if any(one not in given for one in addresses(result.text)) else ()


def record_all(tx: Tx, spent: Sequence[Spent], now: str) -> None:
    for row in spent:
        usage.record(tx, row, now)


_SUMMARY_CHARS = 80
_TOLD_AT, _REFUSED_AT, _ENDED_AT = 2, 3, 5
_CUT_OFF = OutcomeUnknown("the process was restarted while this ran.")
_TOLD = "\n[You made exactly this call before in this turn. Go on with what you have.]"
_REFUSED = (
    "This is the same call for the {} time in this turn, so it was not made. "
    "Use the results above, try something else, or answer."
)
_REFUSED_WRITE = (
    "This is the same call for the {} time in this turn, so it was not made: what it does was done "
    "before, as the results above say. If it is wanted once more, the person says so in a message."
)
_OPAQUE = frozenset({"shell"})
"""Equal arguments of these may do something else each time: their words run what is there then."""


@dataclass(slots=True, eq=False, kw_only=True)
class Calls:
    """Makes the calls of one turn; neighbours that are read-only run at the same time."""

    journal: Journal
    _proposed: dict[str, AuditEntry] = field(init=False, default_factory=dict[str, AuditEntry])
    _asked_for: Counter[tuple[str, str]] = field(
        init=False, default_factory=Counter[tuple[str, str]]
    )
    _times: dict[str, int] = field(init=False, default_factory=dict[str, int])
    """By call id: how often the turn had asked for the same, since anything changed."""
    _prepared_as: dict[str, PreparedCall] = field(
        init=False, default_factory=dict[str, PreparedCall]
    )
    _results: dict[tuple[str, str], str] = field(
        init=False, default_factory=dict[tuple[str, str], str]
    )
    """What each call brought last."""
    _writes: Counter[tuple[str, str]] = field(init=False, default_factory=Counter[tuple[str, str]])
    """How often each call changed something in this turn: these are never counted anew."""

    async def make(self, turn: TurnContext, said: AssistantSaid) -> None:
        """Record the model's words with their calls, then make these; results keep their order.

        Raises GoingInCircles: one was asked for too often.
        """
        for call in said.calls:
            await turn.toolbox.find(call.name)
        actions = [self._prepared(turn, call) for call in said.calls]
        idempotent = [action.idempotent for action in actions]
        await self._carry_out(
            turn, actions, lambda entries: self.journal.calls(turn, said, idempotent, entries)
        )
        if circling := [call for call in said.calls if self._times[call.id] >= _ENDED_AT]:
            raise GoingInCircles(circling[0].name)

    async def take_up(self, turn: TurnContext) -> None:
        """Finish the calls that a crash cut off; make again only what may run again."""
        open_calls = await self.journal.intents(turn.facts.id)
        again: list[PreparedCall] = []
        lost: list[ToolCall] = []
        for entry in turn.said:
            if isinstance(entry, AssistantSaid):
                for call in entry.calls:
                    if call.id in open_calls:
                        await turn.toolbox.find(call.name)
                    action = self._prepared(turn, call)
                    if call.id not in open_calls:
                        continue
                    if open_calls[call.id]:
                        again.append(action)
                    else:
                        lost.append(call)
            elif isinstance(entry, ToolReturned):
                self._note(entry.call_id, entry.text.removesuffix(_TOLD), failed=entry.failed)
        for call in lost:
            result = ToolReturned(call.id, call.name, _CUT_OFF.told, failed=True)
            await self.journal.result(turn, result, state="unknown", effect=True)
        if again:
            await self._carry_out(turn, again, lambda entries: self.journal.proposed(turn, entries))

    async def _carry_out(
        self,
        turn: TurnContext,
        actions: Sequence[PreparedCall],
        write: Callable[[Sequence[AuditEntry]], Awaitable[None]],
    ) -> None:
        """Write down that these calls are proposed, have them judged together, and make them."""
        self._proposed = {action.call_id: turn.propose(action) for action in actions}
        try:
            await write(tuple(self._proposed.values()))
            for together in _batches(await turn.judge(actions)):
                await self._make(turn, together)
        finally:
            for entry in self._proposed.values():  # the turn ends, and these never began
                turn.publish(_unmade(turn, entry))

    def _prepared(self, turn: TurnContext, call: ToolCall) -> PreparedCall:
        """Prepare a call; refuse it if the turn asks for exactly the same too often."""
        action = self._prepared_as[call.id] = turn.prepare(call)
        self._asked_for[action.key] += 1
        times = self._times[call.id] = self._asked_for[action.key]
        if times < _REFUSED_AT:
            return action
        why = _REFUSED_WRITE if self._writes[action.key] else _REFUSED
        return action.refused(why.format(_ordinal(times)), "the same call too often")

    def _note(self, call_id: str, brought: str, *, failed: bool) -> None:
        """Begin to count anew what may bring something else now: a look, if it brought other words
        than before, and all looks, if this changed something. Equal writes add up."""
        action = self._prepared_as[call_id]
        if self._times[call_id] >= _REFUSED_AT:
            return
        words, before = unmarked(brought), self._results.get(action.key)
        self._results[action.key] = words
        asked_for = self._asked_for[action.key]
        own = 1 if before not in (None, words) else asked_for
        if action.mutates and not failed:
            if action.tool not in _OPAQUE:
                self._writes[action.key] += 1
                own = self._writes[action.key]
            self._asked_for = Counter(self._writes)
        self._asked_for[action.key] = own

    async def _make(self, turn: TurnContext, calls: Sequence[Judged]) -> None:
        actions = [judged.action for judged in calls]
        for action in actions:
            await turn.view.show_tool_call(action.call.name, action.call.arguments)
        if len(calls) == 1:
            made = [await self._one(turn, calls[0])]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(turn, judged)) for judged in calls]
            made = [task.result() for task in tasks]
        for action, (outcome, ms) in zip(actions, made, strict=True):
            await self._record(turn, action.call, outcome, ms)
        await turn.view.show_tool_result()

    async def _one(self, turn: TurnContext, judged: Judged) -> tuple[Outcome, int]:
        """Return the call's outcome, and the milliseconds that it took."""
        begun_s, action = time.perf_counter(), judged.action
        self._proposed.pop(action.call_id, None)
        if action.mutates:
            turn.at_work.append(action.call)
        outcome = await turn.call_tool(judged)
        if action.mutates:
            turn.at_work.remove(action.call)
        return outcome, round((time.perf_counter() - begun_s) * 1000)

    async def _record(self, turn: TurnContext, call: ToolCall, outcome: Outcome, ms: int) -> None:
        turn.tool_calls += 1
        known = call.name if call.name in turn.toolbox.names else "unknown"
        usd = turn.paid_calls.pop(call.id, 0.0)
        row = replace(spent_by(turn, f"tool:{known}"), duration_ms=ms)
        turn.spend(replace(row, cost_usd=usd or 0.0, unpriced=usd is None))
        turn.thoughts.append(
            Thought(
                "tool_call",
                f"{call.name} -> {outcome.text[:_SUMMARY_CHARS]}",
                {"tool_name": call.name, "success": not outcome.failed},
            )
        )
        self._note(call.id, outcome.text, failed=outcome.failed)
        told = _TOLD if self._times[call.id] == _TOLD_AT else ""
        result = ToolReturned(call.id, call.name, outcome.text + told, outcome.failed)
        if outcome.effect:
            about = call.id, turn.facts.pack, call.name, self._prepared_as[call.id].payload
            turn.effects.append(Effect(*about, outcome.text, unknown=outcome.unknown))
        state = "unknown" if outcome.unknown else "failed" if outcome.failed else "done"
        await self.journal.result(
            turn, result, state=state, effect=outcome.effect, given=call.arguments
        )


def spent_by(turn: TurnContext, scope: str) -> Spent:
    """Return an empty usage row of this turn."""
    facts = turn.facts
    return Spent(
        scope,
        turn.day,
        pack=facts.pack,
        session_id=facts.session_id,
        person=facts.person.id,
        turn_id=facts.id,
    )


def _unmade(turn: TurnContext, entry: AuditEntry) -> ActionCompleted:
    session = turn.facts.session_id
    return ActionCompleted(entry.turn_id, session, entry.call_id, entry.tool, success=False)


def _batches(calls: Sequence[Judged]) -> Iterator[list[Judged]]:
    """Group read-only neighbours; every other call is alone in its batch."""
    for looks, group in groupby(calls, key=lambda judged: judged.action.read_only):
        if looks:
            yield list(group)
        else:
            yield from ([judged] for judged in group)


def _ordinal(times: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(times, f"{times}th")
