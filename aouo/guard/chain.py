"""The order in which a proposed tool call is checked, carried out and written down.

    build the action and hash it → started → audit PROPOSED, in the commit of the call's intent →
    schema → allowed? → bind its paths → judges (protection first) → audit EVALUATED → the owner,
    where a judge asks for one → the hash and the paths once more → execute → redact, hide where
    the home lies → audit → completed

It fails closed: what a stage cannot decide is blocked, and every way out writes exactly one
terminal audit row and tells one `ActionCompleted`. Only a call that is cancelled leaves its
terminal row to whoever ends its turn, for the next process may take it up and end it otherwise.
Further judges (policy, heuristics, a model) are entries of `judges`, not changes here.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TypeAlias

import structlog

from aouo.facts.accounts import AuditEntry, Stage
from aouo.facts.errors import OutcomeUnknown, ToolFailed
from aouo.facts.events import ActionCompleted, ActionStarted, Event, ShieldVerdict
from aouo.facts.ports import Clock, stamp
from aouo.guard.action import Action, Allowed, Ask, Blocked, Verdict, digest, parse
from aouo.guard.approval import Approver, Nobody
from aouo.guard.proposal import Outcome, Proposal, Runner, Shelf
from aouo.guard.record import entry, legible, said, too_long
from aouo.store import audit
from aouo.store.database import Database

log = structlog.get_logger()
Judge: TypeAlias = Callable[[Action], Verdict]
Bind: TypeAlias = Callable[[Action], Action]

RESULT_CHARS = 4_000
"""A longer result is kept elsewhere, and the model reads a handle."""
INSTRUCTION_CHARS = 16_000
"""What the model has asked for in order to follow it comes whole up to this length."""
CEILING_CHARS = 2_000_000
"""Nothing keeps more than this of one result."""
_MARGIN_CHARS = 10_000
MAX_NAME_CHARS = 64
"""What is kept of the name that a model gives a tool; every service's limit."""
_UNCHECKED = "This could not be checked, so it is refused."
_INSTRUCTIONS = frozenset({"skill_view", "load_skills"})
_NO_TOOL = "unknown"
"""What is written down of a name that a model made up off the record."""


class Guard:
    """The one door to a tool. Stateless: one serves all turns."""

    def __init__(
        self,
        *,
        database: Database,
        clock: Clock,
        bind: Bind,
        judges: Sequence[Judge],
        shelf: Shelf,
        redact: Callable[[str], str],
        hidden: Callable[[Action, str], str],
        publish: Callable[[Event], None],
    ) -> None:
        self._database = database
        self._clock = clock
        self._bind = bind
        self._judges = tuple(judges)
        self._shelf = shelf
        self._redact = redact
        self._hidden = hidden
        self._publish = publish

    def propose(self, proposal: Proposal, *, known: bool) -> AuditEntry:
        """Tell that a call is proposed; returns what the audit keeps of that, to be written before
        anything else of it. `known`: there is such a tool."""
        action = self._action(proposal, known=known)
        self._publish(ActionStarted(action.turn_id, action.session_id, action.call_id, action.tool))
        return entry(action, "PROPOSED")

    async def call(
        self,
        proposal: Proposal,
        runner: Runner | None,
        allowed: Sequence[str],
        approver: Approver | None = None,
    ) -> Outcome:
        """Judge one call and, if nothing speaks against it, carry it out.

        `runner` is None for a tool that does not exist; `allowed` are the names this turn may
        use; without an `approver` a question to the owner is a no. Never raises but for
        cancellation: a refusal is a result that the model reads.
        """
        known = runner is not None
        proposed = () if proposal.recorded else (self.propose(proposal, known=known),)
        action = self._action(proposal, known=known)
        try:
            await self._write(*proposed)
            action, verdict = self._evaluate(action, proposal, runner, allowed)
            outcome = await self._carry_out(action, verdict, runner, approver or Nobody())
        except asyncio.CancelledError:
            self._publish(_completed(action, success=False))
            raise
        if outcome.failed:
            log.info("tool_error", tool=action.tool, call=action.call_id, pack=action.pack)
        self._publish(_completed(action, success=not outcome.failed))
        return outcome

    def _evaluate(
        self, action: Action, proposal: Proposal, runner: Runner | None, allowed: Sequence[str]
    ) -> tuple[Action, Verdict]:
        """Everything that is decided without waiting for anybody."""
        name = proposal.call.name
        problem, _ = parse(proposal.call)
        if runner is None and proposal.problem:
            return action, Blocked(f"{proposal.problem} Go on without it.", rule="not there now")
        if runner is None or name not in allowed:
            problem = f"There is no tool {name[:MAX_NAME_CHARS]!r} here."
            return action, Blocked(f"{problem} Tools: {', '.join(allowed)}.", rule="no such tool")
        if problem := problem or _checked(runner, action):
            return action, Blocked(problem, rule="wrong arguments")
        try:
            action = self._bind(action)
        except ToolFailed as error:
            return action, Blocked(str(error), rule="no path")
        except Exception as error:
            log.exception("judge_failed", tool=action.tool, error=repr(error))
            return action, Blocked(_UNCHECKED)
        return action, self._judge(action)

    def _action(self, proposal: Proposal, *, known: bool) -> Action:
        """The call as a value; its id is the call's own, so that all rows of the audit have it."""
        _, payload = parse(proposal.call)
        named = known or not proposal.off_record
        name = proposal.call.name[:MAX_NAME_CHARS] if named else _NO_TOOL
        return Action(
            id=proposal.call.id,
            tool=name,
            payload=payload,
            origin=proposal.origin,
            pack=proposal.pack,
            turn_id=proposal.turn_id,
            call_id=proposal.call.id,
            at=stamp(self._clock),
            digest=digest(name, payload),
            owner=proposal.owner,
            session_id=proposal.session_id,
            off_record=proposal.off_record,
            media=proposal.media,
        )

    def _judge(self, action: Action) -> Verdict:
        """The strictest verdict: a no ends it, a question stands unless somebody says no."""
        question: Ask | None = None
        for judge in self._judges:
            try:
                verdict = judge(action)
            except Exception as error:
                log.exception("judge_failed", tool=action.tool, error=repr(error))
                return Blocked(_UNCHECKED)
            match verdict:
                case Blocked():
                    return verdict
                case Ask():
                    question = question or verdict
                case Allowed():
                    pass
        return question or Allowed("nothing speaks against it")

    async def _carry_out(
        self, action: Action, verdict: Verdict, runner: Runner | None, approver: Approver
    ) -> Outcome:
        begun = (entry(action, "EVALUATED", said(verdict)),)
        if isinstance(verdict, Ask):
            await self._write(*begun)
            begun = ()
            verdict = await approver.approve(
                action, replace(verdict, subject=self._redact(legible(verdict.subject)))
            )
        allowed = isinstance(verdict, Allowed)
        self._publish(
            ShieldVerdict(
                action.turn_id, action.session_id, action.call_id, allowed, verdict.reason
            )
        )
        if isinstance(verdict, Blocked) or runner is None:
            await self._write(*begun, entry(action, "BLOCKED", said(verdict)))
            return Outcome(self._hidden(action, legible(verdict.reason)), failed=True)
        await self._write(*begun)
        outcome = await self._execute(action, runner)
        stage: Stage = "FAILED" if outcome.failed else "EXECUTED"
        await self._write(entry(action, stage, verdict.reason))
        return outcome

    async def _execute(self, action: Action, runner: Runner) -> Outcome:
        if not self._still_the_same(action):
            why = "The call, or where its path leads, changed after it was checked: it was not made"
            return Outcome(f"{why}. Look at what is there now and call again.", failed=True)
        effect = runner.effect(action.payload)
        try:
            async with asyncio.timeout(runner.timeout_s):
                text = await runner.run(action.bound, action.call_id)
        except OutcomeUnknown as error:
            cut_off = error
        except ToolFailed as error:
            return await self._outcome(action, str(error), failed=True)
        except TimeoutError:
            cut_off = OutcomeUnknown(too_long(action.tool, runner.timeout_s))
        except Exception as error:
            log.exception("tool_error", tool=action.tool, call=action.call_id, error=repr(error))
            cut_off = OutcomeUnknown(f"{action.tool} broke ({type(error).__name__}).")
        else:
            return await self._outcome(action, text, failed=False, effect=effect)
        text = cut_off.told if effect else str(cut_off)
        outcome = await self._outcome(action, text, failed=True, effect=effect)
        return replace(outcome, unknown=effect)

    def _still_the_same(self, action: Action) -> bool:
        try:
            now = self._bind(action)
        except ToolFailed:
            return False
        except Exception as error:
            log.exception("judge_failed", tool=action.tool, error=repr(error))
            return False
        return digest(action.tool, action.payload) == action.digest and now.paths == action.paths

    async def _outcome(
        self, action: Action, text: str, *, failed: bool, effect: bool = False
    ) -> Outcome:
        length = len(text)
        # Cut before it is looked through, with a margin for a secret that stands at the cut.
        text = self._redact(legible(text[: CEILING_CHARS + _MARGIN_CHARS]))
        if failed or effect:  # our words; what only looked returns what stands somewhere
            text = self._hidden(action, text)
        limit = INSTRUCTION_CHARS if action.tool in _INSTRUCTIONS else RESULT_CHARS
        if len(text) <= limit:
            return Outcome(text, failed, effect)
        if length > CEILING_CHARS:
            text = f"{text[:CEILING_CHARS]}\n[cut: {length:,} characters in all]"
        return Outcome(await self._shelf.keep(action, text), failed, effect, kept=True)

    async def _write(self, *entries: AuditEntry) -> None:
        if not entries:
            return
        now = stamp(self._clock)
        await self._database.transact(
            lambda tx: [audit.append(tx, entry, now) for entry in entries]
        )


def _checked(runner: Runner, action: Action) -> str:
    """What is wrong with the arguments, "" = nothing; a schema from elsewhere may break here."""
    try:
        runner.check(action.payload)
    except ToolFailed as error:
        return str(error)
    except Exception as error:
        log.exception("judge_failed", tool=action.tool, error=repr(error))
        return _UNCHECKED
    return ""


def _completed(action: Action, *, success: bool) -> ActionCompleted:
    return ActionCompleted(action.turn_id, action.session_id, action.call_id, action.tool, success)
