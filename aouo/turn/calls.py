"""The tool calls of one answer: written down, made in order, their results written down."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby

from aouo.facts.accounts import AuditEntry, Spent
from aouo.facts.errors import OutcomeUnknown
from aouo.facts.events import ActionCompleted, Thought
from aouo.facts.transcript import AssistantSaid, ToolCall, ToolReturned
from aouo.turn.context import Result, TurnContext
from aouo.turn.journal import Journal

SUMMARY_CHARS = 80
TOLD_AT, REFUSED_AT = 2, 3
_CUT_OFF = OutcomeUnknown("the process was restarted while this ran.")
_TOLD = "\n[You made exactly this call before in this turn. Go on with what you have.]"
_REFUSED = (
    "This is the same call for the {} time in this turn, so it was not made. "
    "Use the results above, try something else, or answer."
)


@dataclass(frozen=True, slots=True)
class _Made:
    """One call with its outcome and what it took."""

    call: ToolCall
    outcome: Result
    ms: int


class Calls:
    """Makes the calls of one turn. Those that only look may run beside each other."""

    def __init__(self, *, journal: Journal) -> None:
        self._journal = journal
        self._proposed: dict[str, AuditEntry] = {}

    async def make(self, turn: TurnContext, said: AssistantSaid) -> None:
        """Record what was said with its calls, then carry them out; results keep their order."""
        for call in said.calls:
            await turn.toolbox.find(call.name)
        again = [turn.toolbox.may_run_again(call.name) for call in said.calls]
        self._proposed = {call.id: turn.propose(call) for call in said.calls}
        try:
            await self._journal.calls(turn, said, again, tuple(self._proposed.values()))
            for together in _batches(turn, said.calls):
                await self._make(turn, together)
        finally:
            for entry in self._proposed.values():  # the turn ends, and these never began
                turn.publish(_unmade(turn, entry))

    async def take_up(self, turn: TurnContext) -> None:
        """Finish the calls that a crash cut off: at most once, unless the tool allows more."""
        open_calls = await self._journal.intents(turn.facts.turn.id)
        if not open_calls:
            return
        for call in _calls_of(turn):
            if call.id not in open_calls:
                continue
            await turn.toolbox.find(call.name)
            if open_calls[call.id]:
                await self._make(turn, [call])
            else:
                result = ToolReturned(call.id, call.name, _CUT_OFF.told, failed=True)
                await self._journal.result(turn, result, state="unknown", effect=True)

    async def _make(self, turn: TurnContext, calls: Sequence[ToolCall]) -> None:
        for call in calls:
            await turn.view.show_tool_call(call.name, call.arguments)
        if len(calls) == 1:
            made = [await self._one(turn, calls[0])]
        else:
            async with asyncio.TaskGroup() as group:
                tasks = [group.create_task(self._one(turn, call)) for call in calls]
            made = [task.result() for task in tasks]
        for item in made:
            await self._record(turn, item)
        await turn.view.show_tool_result()

    async def _one(self, turn: TurnContext, call: ToolCall) -> _Made:
        times = _times_made(turn, call)
        objection = _REFUSED.format(_ordinal(times)) if times >= REFUSED_AT else ""
        changes = turn.toolbox.changes(call)
        begun_s = time.perf_counter()
        self._proposed.pop(call.id, None)
        if changes:
            turn.at_work.append(call)
        outcome = await turn.call_tool(call, objection)
        if changes:
            turn.at_work.remove(call)
        return _Made(call, outcome, round((time.perf_counter() - begun_s) * 1000))

    async def _record(self, turn: TurnContext, made: _Made) -> None:
        call, outcome = made.call, made.outcome
        turn.tool_calls += 1
        known = call.name if call.name in turn.toolbox.names else "unknown"
        turn.spent.append(replace(spent_by(turn, f"tool:{known}"), duration_ms=made.ms))
        turn.thoughts.append(
            Thought(
                "tool_call",
                f"{call.name} -> {outcome.text[:SUMMARY_CHARS]}",
                {"tool_name": call.name, "success": not outcome.failed},
            )
        )
        told = _TOLD if _times_made(turn, call) == TOLD_AT else ""
        result = ToolReturned(call.id, call.name, outcome.text + told, outcome.failed)
        state = "unknown" if outcome.unknown else "failed" if outcome.failed else "done"
        await self._journal.result(turn, result, state=state, effect=outcome.effect)


def spent_by(turn: TurnContext, scope: str) -> Spent:
    """An empty usage row of this turn."""
    facts = turn.facts
    return Spent(
        scope,
        turn.day,
        pack=facts.pack.name,
        session_id=facts.turn.session_id,
        person=facts.person.id,
        turn_id=facts.turn.id,
    )


def _unmade(turn: TurnContext, entry: AuditEntry) -> ActionCompleted:
    session = turn.facts.turn.session_id
    return ActionCompleted(entry.turn_id, session, entry.call_id, entry.tool, success=False)


def _batches(turn: TurnContext, calls: Sequence[ToolCall]) -> Iterator[list[ToolCall]]:
    """Neighbours that only look together, every other call alone."""
    for looks, group in groupby(calls, key=lambda call: turn.toolbox.only_looks(call)):
        if looks:
            yield list(group)
        else:
            yield from ([call] for call in group)


def _times_made(turn: TurnContext, call: ToolCall) -> int:
    """How often this turn has asked for exactly this, the call itself counted."""
    wanted = _key(call)
    times = 0
    for other in _calls_of(turn):
        times += _key(other) == wanted
        if other.id == call.id:
            break
    return times


def _key(call: ToolCall) -> tuple[str, str]:
    """The same for the same arguments, however they were spelled."""
    try:
        return call.name, json.dumps(json.loads(call.arguments or "{}"), sort_keys=True)
    except (ValueError, RecursionError):
        return call.name, call.arguments


def _calls_of(turn: TurnContext) -> Iterator[ToolCall]:
    for entry in turn.said:
        if isinstance(entry, AssistantSaid):
            yield from entry.calls


def _ordinal(times: int) -> str:
    return {3: "third", 4: "fourth", 5: "fifth"}.get(times, f"{times}th")
