"""Judges a proposed tool call, carries it out and records it, in this order:

    a prepared action (`tools.prepare`) → started → audit PROPOSED, in the commit of the call's
    intent → refused already? → bind its paths → judges (protection first) → audit EVALUATED → the
    owner, where a judge asks for one → the hashes and the paths once more → execute → redact, hide
    where the home lies → audit → completed

All calls of one response are judged before the first runs, and the owner is asked about all at
once.

It fails closed: a call that a stage cannot decide on is blocked, and every way out writes exactly
one terminal audit row and publishes one `ActionCompleted`. Only a cancelled call leaves its
terminal row to the end of its turn, because the next process may resume and end it otherwise.
Further judges (policy, heuristics, a model) are entries of `judges`, not changes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeAlias

from pydantic import BaseModel

from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.facts.events import ActionCompleted, ActionStarted, Event, ShieldVerdict
from aouo.facts.ports import Clock, stamp
from aouo.facts.records import AuditEntry, Stage
from aouo.guard.flow import leads_to
from aouo.guard.prepared import (
    UNASKED,
    UNATTENDED,
    UNCHECKED,
    Allowed,
    Approve,
    Ask,
    Blocked,
    JudgeName,
    Outcome,
    PreparedCall,
    Verdict,
    by_nobody,
    tier_of,
)
from aouo.plumbing.logs import log
from aouo.store import audit
from aouo.store.database import Database

NO_MORE = "nothing but looks after a no"
Judge: TypeAlias = Callable[[PreparedCall], Verdict]
_Bind: TypeAlias = Callable[[PreparedCall], PreparedCall]
Run: TypeAlias = Callable[[BaseModel, str], Awaitable[str]]
"""Carries out a call with these arguments and this id. Raises `ToolFailed`."""

_Keep: TypeAlias = Callable[[PreparedCall, str], Awaitable[str]]
"""Keeps a redacted text that is too long for a prompt; returns the handle that the model reads
instead."""

_RESULT_CHARS = 4_000
"""A longer result is kept elsewhere, and the model reads a handle."""
_INSTRUCTION_CHARS = 16_000
"""Skills, which the model reads in order to follow them, come whole up to this length."""
CEILING_CHARS = 2_000_000
"""More than this of one result is never kept."""
_MARGIN_CHARS = 10_000
_CARD_CHARS = 20_000
"""Of a call's arguments that a card may shorten."""
_INSTRUCTIONS = frozenset({"skill_view", "load_skills"})


@dataclass(frozen=True, slots=True)
class Judged:
    """A call and what was decided about it; `written`: the audit says what the owner was asked."""

    action: PreparedCall
    verdict: Verdict
    written: bool = False

    @property
    def has_a_yes(self) -> bool:
        """Whether the owner said yes to this very call."""
        return self.written and self.verdict.judge == "owner"

    @property
    def is_a_no(self) -> bool:
        """Whether the owner was asked and did not say yes."""
        verdict = self.verdict
        return self.written and isinstance(verdict, Blocked) and verdict.reason != UNATTENDED


@dataclass(slots=True, eq=False, kw_only=True)
class Guard:
    """The only way to a tool. Stateless: one serves all turns."""

    database: Database
    clock: Clock
    bind: _Bind
    judges: Sequence[Judge]
    keep: _Keep
    redact: Callable[[str], str]
    hidden: Callable[[PreparedCall, str], str]
    publish: Callable[[Event], None]

    def propose(self, action: PreparedCall) -> AuditEntry:
        """Publish that a call is proposed; return its first audit row, which the caller writes
        before any other."""
        self.publish(
            ActionStarted(action.facts.id, action.facts.session_id, action.call_id, action.tool)
        )
        return _entry(action, "PROPOSED")

    async def judged(
        self, actions: Sequence[PreparedCall], approve: Approve = by_nobody
    ) -> list[Judged]:
        """Judge the calls of one response; the owner is asked about them together, and after a no
        none of them but looks is made. Without an `approve` a question blocks its call."""
        found = [Judged(*self._evaluate(action)) for action in actions]
        asked = [(one.action, one.verdict) for one in found if isinstance(one.verdict, Ask)]
        if not asked:
            return found
        await self._write(
            *(_entry(action, "EVALUATED", _said(ask), ask.judge) for action, ask in asked)
        )
        shown = [
            (
                action,
                replace(
                    ask,
                    subject=self.redact(_legible(leads_to(action, ask))),
                    arguments=self.redact(_legible(action.call.arguments[:_CARD_CHARS])),
                ),
            )
            for action, ask in asked
        ]
        told = iter(await approve(shown))
        found = [
            replace(one, verdict=next(told), written=True) if isinstance(one.verdict, Ask) else one
            for one in found
        ]
        return [_only_looks(one) for one in found] if any(one.is_a_no for one in found) else found

    async def call(self, judged: Judged, run: Run | None) -> Outcome:
        """Carry out a judged call, if it is allowed.

        `run` is None for a tool that does not exist. Raises nothing but cancellation: a refusal is
        a result that the model reads.
        """
        action = judged.action
        try:
            outcome = await self._carry_out(judged, run)
        except asyncio.CancelledError:
            self.publish(_completed(action, success=False))
            raise
        if outcome.failed:
            log.info("tool_error", tool=action.tool, call=action.call_id, pack=action.facts.pack)
        self.publish(_completed(action, success=not outcome.failed))
        return outcome

    def _evaluate(self, action: PreparedCall) -> tuple[PreparedCall, Verdict]:
        """Bind the call's paths and judge it, without asking the owner."""
        if action.refusal:
            return action, action.refusal
        try:
            action = self.bind(action)
        except ToolFailed as error:
            return action, Blocked(str(error), "no path", "arguments")
        except Exception as error:
            log.exception("judge_failed", tool=action.tool, error=repr(error))
            return action, Blocked(UNCHECKED)
        return action, self._judge(action)

    def _judge(self, action: PreparedCall) -> Verdict:
        """Return the strictest verdict: `Blocked` before the first `Ask` before `Allowed`."""
        question: Ask | None = None
        for judge in self.judges:
            try:
                verdict = judge(action)
            except Exception as error:
                log.exception("judge_failed", tool=action.tool, error=repr(error))
                return Blocked(UNCHECKED)
            match verdict:
                case Blocked():
                    return verdict
                case Ask():
                    question = question.joined(verdict) if question else verdict
                case Allowed():
                    pass
        return question or Allowed("nothing speaks against it")

    async def _carry_out(self, judged: Judged, run: Run | None) -> Outcome:
        action, verdict = judged.action, judged.verdict
        begun = (_entry(action, "EVALUATED", _said(verdict), verdict.judge),)
        if judged.written:
            begun = ()
        allowed = isinstance(verdict, Allowed)
        self.publish(
            ShieldVerdict(
                action.facts.id,
                action.facts.session_id,
                action.call_id,
                allowed,
                verdict.reason,
                tier_of(verdict.judge),
            )
        )
        if not allowed or run is None:
            await self._write(*begun, _entry(action, "BLOCKED", _said(verdict), verdict.judge))
            return Outcome(self.hidden(action, _legible(verdict.reason)), failed=True)
        await self._write(*begun)
        outcome = await self._execute(action, run)
        stage: Stage = "FAILED" if outcome.failed else "EXECUTED"
        await self._write(_entry(action, stage, verdict.reason, verdict.judge))
        return outcome

    async def _execute(self, action: PreparedCall, run: Run) -> Outcome:
        if action.arguments is None or not self._still_the_same(action):
            why = "The call, or where its path leads, changed after it was checked: it was not made"
            return Outcome(f"{why}. Look at what is there now and call again.", failed=True)
        try:
            async with asyncio.timeout(action.timeout_s):
                text = await run(action.bound(action.arguments), action.call_id)
        except OutcomeUnknown as error:
            cut_off = error
        except ToolFailed as error:
            return await self._outcome(action, str(error), failed=True)
        except TimeoutError:
            cut_off = OutcomeUnknown(_too_long(action.tool, action.timeout_s))
        except Exception as error:
            log.exception("tool_error", tool=action.tool, call=action.call_id, error=repr(error))
            cut_off = OutcomeUnknown(f"{action.tool} broke ({type(error).__name__}).")
        else:
            return await self._outcome(action, text, failed=False, effect=action.mutates)
        text = cut_off.told if action.mutates else str(cut_off)
        outcome = await self._outcome(action, text, failed=True, effect=action.mutates)
        return replace(outcome, unknown=action.mutates)

    def _still_the_same(self, action: PreparedCall) -> bool:
        """Whether the call's digests and paths are still those that were judged."""
        try:
            return action.is_intact and self.bind(action).paths == action.paths
        except ToolFailed:
            return False
        except Exception as error:
            log.exception("judge_failed", tool=action.tool, error=repr(error))
            return False

    async def _outcome(
        self, action: PreparedCall, text: str, *, failed: bool, effect: bool = False
    ) -> Outcome:
        length = len(text)
        # Cut before it is looked through, with a margin for a secret that stands at the cut.
        text = self.redact(_legible(text[: CEILING_CHARS + _MARGIN_CHARS]))
        if failed or effect:  # our words; a read-only result is the content of something
            text = self.hidden(action, text)
        limit = _INSTRUCTION_CHARS if action.tool in _INSTRUCTIONS else _RESULT_CHARS
        if len(text) <= limit:
            return Outcome(text, failed, effect)
        if length > CEILING_CHARS:
            text = f"{text[:CEILING_CHARS]}\n[cut: {length:,} characters in all]"
        return Outcome(await self.keep(action, text), failed, effect, kept=True)

    async def _write(self, *entries: AuditEntry) -> None:
        if not entries:
            return
        now = stamp(self.clock)
        await self.database.transact(lambda tx: [audit.append(tx, entry, now) for entry in entries])


def _only_looks(judged: Judged) -> Judged:
    """Block what is no look and has no yes of its own, after the owner said no to another call of
    its response."""
    verdict = judged.verdict
    if judged.action.sink == "look" or not isinstance(verdict, Allowed) or judged.has_a_yes:
        return judged
    return replace(judged, verdict=Blocked(UNASKED, NO_MORE, "flow"))


def _completed(action: PreparedCall, *, success: bool) -> ActionCompleted:
    return ActionCompleted(
        action.facts.id, action.facts.session_id, action.call_id, action.tool, success
    )


def _entry(
    action: PreparedCall, stage: Stage, reason: str = "", judge: JudgeName | Literal[""] = ""
) -> AuditEntry:
    """One row; of what is off the record it keeps that there was a call, and nothing of it."""
    facts = action.facts
    entry = AuditEntry(
        stage, facts.id, action.call_id, action.call_id, action.tool, facts.pack, facts.origin, ""
    )
    if facts.off_record:
        return entry
    return replace(
        entry,
        digest=action.digest,
        reason=reason,
        judge=judge,
        sink=action.sink,
        labels=", ".join(action.labels),
        tier=tier_of(judge) if judge else 0,
    )


def _said(verdict: Verdict) -> str:
    """What the audit keeps of a verdict."""
    match verdict:
        case Ask(reason):
            return f"the owner is asked: {reason}"
        case Blocked(reason, rule):
            return rule or reason
        case Allowed(reason):
            return reason


def _legible(text: str) -> str:
    """`text` as UTF-8 can hold it: half characters, as in names of files, are written out."""
    return text if text.isascii() else text.encode("utf-8", "backslashreplace").decode()


def _too_long(tool: str, limit_s: float | None) -> str:
    return f"{tool} took longer than {limit_s:g} s." if limit_s else f"{tool} took too long."
