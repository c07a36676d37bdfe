"""The order in which a proposed tool call is checked, carried out and written down.

    parse → schema → allowed? → build the action and hash it → protection → audit PROPOSED
    → judges → verdict → audit EVALUATED → re-hash → execute → redact → audit → completed

It fails closed: what a stage cannot decide is blocked, and every way out writes exactly one
terminal audit row and tells one `ActionCompleted`. Further judges (policy, heuristics, a model,
a human) are entries of `judges`, not changes here.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, TypeAlias, cast

import structlog

from aouo.errors import ToolFailed
from aouo.events import ActionCompleted, ActionStarted, Event, Origin, ShieldVerdict
from aouo.guard.action import Action, Allowed, Blocked, Verdict, digest
from aouo.ids import ulid
from aouo.ports import Clock, stamp
from aouo.shield import finish
from aouo.store import audit
from aouo.store.audit import Entry, Stage
from aouo.store.database import Database
from aouo.transcript import ToolCall

log = structlog.get_logger()
Judge: TypeAlias = Callable[[Action], Verdict]
MAX_RESULT_CHARS = 16_000


class Runner(Protocol):
    """What carries a call out once it is allowed; holds the handler so that nobody else has to."""

    @property
    def timeout_s(self) -> float | None: ...
    def effect(self, payload: Mapping[str, Any]) -> bool: ...
    def reads(self, payload: Mapping[str, Any]) -> bool: ...
    def check(self, payload: Mapping[str, Any]) -> None:
        """Raises: ToolFailed: says which argument is wrong and how."""
        ...

    async def run(self, payload: Mapping[str, Any], call_id: str) -> str:
        """Raises: ToolFailed."""
        ...


@dataclass(frozen=True, slots=True)
class Proposal:
    """One call of one turn."""

    call: ToolCall
    origin: Origin
    pack: str
    turn_id: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What the model reads, whether it worked, and whether something changed."""

    text: str
    failed: bool
    effect: bool = False


class Guard:
    """The one door to a tool. Stateless: one serves all turns."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        judges: Sequence[Judge],
        redact: Callable[[str], str],
        publish: Callable[[Event], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._judges = tuple(judges)
        self._redact = redact
        self._publish = publish

    async def call(
        self, proposal: Proposal, runner: Runner | None, allowed: Sequence[str]
    ) -> Outcome:
        """Judge one call and, if nothing speaks against it, carry it out.

        `runner` is None for a tool that does not exist; `allowed` are the names this turn may
        use. Never raises but for cancellation: a refusal is a result that the model reads.
        """
        call = proposal.call
        problem, payload = _parse(call)
        if runner is None or call.name not in allowed:
            problem = f"There is no tool {call.name!r} here. Tools: {', '.join(allowed)}."
        elif not problem:
            problem = _checked(runner, payload)
        action = self._action(proposal, payload)
        self._publish(ActionStarted(action.turn_id, action.call_id, action.tool))
        verdict: Verdict = Blocked(problem) if problem else self._judge(action)
        blocked = isinstance(verdict, Blocked)
        self._publish(ShieldVerdict(action.turn_id, action.call_id, not blocked, verdict.reason))
        if isinstance(verdict, Blocked) or runner is None:
            await self._write(
                _entry(action, "PROPOSED"),
                _entry(action, "EVALUATED", verdict.reason),
                _entry(action, "BLOCKED", verdict.reason),
            )
            return self._completed(action, Outcome(verdict.reason, failed=True))
        await self._write(_entry(action, "PROPOSED"), _entry(action, "EVALUATED", verdict.reason))
        try:
            outcome = await self._execute(action, runner)
        except asyncio.CancelledError:
            await finish(self._write(_entry(action, "FAILED", "stopped while it ran")))
            self._publish(ActionCompleted(action.turn_id, action.call_id, action.tool, False))
            raise
        stage: Stage = "FAILED" if outcome.failed else "EXECUTED"
        await self._write(_entry(action, stage))
        return self._completed(action, outcome)

    def _action(self, proposal: Proposal, payload: Mapping[str, Any]) -> Action:
        name = proposal.call.name
        return Action(
            id=ulid(),
            tool=name,
            payload=payload,
            origin=proposal.origin,
            pack=proposal.pack,
            turn_id=proposal.turn_id,
            call_id=proposal.call.id,
            at=stamp(self._clock),
            digest=digest(name, payload),
        )

    def _judge(self, action: Action) -> Verdict:
        for judge in self._judges:
            try:
                verdict = judge(action)
            except Exception as error:
                log.exception("judge_failed", tool=action.tool, error=repr(error))
                return Blocked("This could not be checked, so it is refused.")
            if isinstance(verdict, Blocked):
                return verdict
        return Allowed("nothing speaks against it")

    async def _execute(self, action: Action, runner: Runner) -> Outcome:
        if digest(action.tool, action.payload) != action.digest:
            return Outcome("The call changed after it was checked, so it was not made.", True)
        effect = runner.effect(action.payload)
        try:
            async with asyncio.timeout(runner.timeout_s):
                text = await runner.run(action.payload, action.call_id)
        except ToolFailed as error:
            return Outcome(self._shorten(str(error)), failed=True)
        except TimeoutError:
            return Outcome(f"{action.tool} took longer than {runner.timeout_s:g} s.", True, effect)
        except Exception as error:
            log.exception("tool_error", tool=action.tool, call=action.call_id, error=repr(error))
            return Outcome(f"{action.tool} broke ({type(error).__name__}).", True, effect)
        return Outcome(self._shorten(text), failed=False, effect=effect)

    def _shorten(self, text: str) -> str:
        text = self._redact(text)
        if len(text) <= MAX_RESULT_CHARS:
            return text
        return f"{text[:MAX_RESULT_CHARS]}\n[cut: {len(text):,} characters in all]"

    def _completed(self, action: Action, outcome: Outcome) -> Outcome:
        if outcome.failed:
            log.info("tool_error", tool=action.tool, call=action.call_id, pack=action.pack)
        self._publish(
            ActionCompleted(action.turn_id, action.call_id, action.tool, not outcome.failed)
        )
        return outcome

    async def _write(self, *entries: Entry) -> None:
        now = stamp(self._clock)
        await self._database.transact(
            lambda tx: [audit.append(tx, entry, now) for entry in entries]
        )


def _parse(call: ToolCall) -> tuple[str, Mapping[str, Any]]:
    """The arguments as an object; the problem with them, "" = none."""
    try:
        payload = json.loads(call.arguments or "{}")
    except ValueError as error:
        return f"The arguments are not complete JSON ({error}). Send the whole call again.", {}
    if not isinstance(payload, dict):
        return "The arguments have to be one JSON object.", {}
    return "", cast("dict[str, Any]", payload)


def _checked(runner: Runner, payload: Mapping[str, Any]) -> str:
    try:
        runner.check(payload)
    except ToolFailed as error:
        return str(error)
    return ""


def _entry(action: Action, stage: Stage, reason: str = "") -> Entry:
    return Entry(
        stage,
        action.turn_id,
        action.call_id,
        action.id,
        action.tool,
        action.pack,
        action.origin,
        action.digest,
        reason,
    )


Publish: TypeAlias = Callable[[Event], None]
Call: TypeAlias = Callable[[ToolCall], Awaitable[Outcome]]
