"""Reports a turn's stream and end, and brings the results of triggered turns.

The transaction that ends such a turn settles its run and files the report as a job of the
conversation; the one that handles that job, between the conversation's turns, makes it history
and queues its messages.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo
from functools import partial
from typing import Literal

from aouo.agent.context import Abort, Ack, Ending, Nack, TurnContext
from aouo.agent.pipelines import failed_in
from aouo.facts import events
from aouo.facts.address import Lane
from aouo.facts.errors import BudgetExceeded, ProviderError, QuotaExceededError, Refused
from aouo.facts.ids import SessionId, ulid
from aouo.facts.people import PROFILES
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.transcript import UserSaid
from aouo.facts.work import Facts, Job
from aouo.flow import waiting
from aouo.flow.attention import holds
from aouo.flow.generations import Generation
from aouo.flow.replies import Replies
from aouo.outbound.clean import without_secrets
from aouo.outbound.payloads import is_among, messages_of_answer, with_tail
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Bus
from aouo.plumbing.web.envelope import of_others, sources_in, unmarked, untrusted
from aouo.queue import gathering
from aouo.queue.running import StopReason
from aouo.schedules.ticking import RunEnd, Settle
from aouo.store import jobs, rendered, schedules, sessions, turns
from aouo.store.database import Database, Tx
from aouo.words import receipts, sentences
from aouo.words.catalogue import text
from aouo.words.schedules import reminder

_REFUSED_MAX = 5
_LATE_S = 60.0
"""How long after its time the words of a schedule wait for a model's answer."""


@dataclass(slots=True, eq=False, kw_only=True)
class Bringing:
    """Settles runs and brings in reports; `settles` says how, by the origin of a run.

    `now` is the generation of now; `wake` is told the lane that a report waits in.
    """

    database: Database
    clock: Clock
    replies: Replies
    settles: Mapping[events.Origin, Settle]
    now: Callable[[], Generation]
    zone: Callable[[], tzinfo]

    def settle(self, tx: Tx, job: Job, end: RunEnd, now: str) -> Lane | None:
        """Settle the run of a turn that ends; return the lane where its report is filed, None =
        there is nothing to tell."""
        asked = job.inbound.content
        assert isinstance(asked, events.Triggered)
        origin = job.inbound.origin
        settle = self.settles.get(origin)
        report = settle(tx, job, asked, end, now) if settle else None
        if report is None or PROFILES[origin].goes == "nowhere":
            rendered.drop_parts(tx, end.turn_id)
            return None
        return gathering.file_report(tx, replace(job.inbound, content=report), now)

    async def tell_late(self, job: Job) -> None:
        """Once a schedule's model has had its time, send the schedule's words, and that it has not
        answered; returns when that is done, or not needed."""
        asked = job.inbound.content
        if not isinstance(asked, events.Triggered) or job.inbound.origin != "cron":
            return
        due = datetime.fromisoformat(asked.due_at) if asked.due_at else self.clock.now()
        since_s = (self.clock.now() - due).total_seconds()
        await self.clock.sleep(_LATE_S if since_s > _LATE_S else _LATE_S - since_s)
        now = stamp(self.clock)

        def write(tx: Tx) -> Lane | None:
            row = schedules.get(tx, asked.trigger)
            if row is None or not schedules.is_late(tx, row.id, asked.due_at, now):
                return None
            said = text("runs.no-answer-yet", said=row.prompt or row.title)
            report = events.Report(ulid(), asked.name, asked.prompt, said, asked.pack, row.id)
            report = replace(report, source=row.source)
            return gathering.file_report(tx, replace(job.inbound, content=report), now)

        self.wake(await self.database.transact(write))

    def wake(self, lane: Lane | None) -> None:
        """Have a filed report handled, once its transaction is committed."""
        if lane:
            self.replies.wake(lane)

    async def give_up(
        self, job: Job, said: str, status: Literal["failed", "stopped"] = "failed"
    ) -> None:
        """End a run whose turn cannot be had, or go on; `said` is the sentence that says why."""
        now = stamp(self.clock)

        def write(tx: Tx) -> Lane | None:
            jobs.check_claim(tx, job)
            turn = turns.open_of(tx, job.id)
            waiting.end_turn(tx, job.id, job.inbound.address, said, now)
            end = RunEnd(turn.id if turn else ulid(), status, said)
            lane = self.settle(tx, job, end, now)
            jobs.settle(tx, job, "done", said, now)
            return lane

        self.wake(await self.database.transact(write))

    async def bring_in(self, job: Job, report: events.Report) -> None:
        """Make a report history and send it, in one transaction, or only send it now, when the
        conversation's turn waits for a person; then it becomes history after that turn."""
        generation = self.now()
        job = replace(job, off_record=False)  # what runs by itself is on the record

        def work(tx: Tx, now: str) -> list[Rendered]:
            said = [] if report.sent else self._messages(tx, job.inbound, report, generation)
            rules, library = generation.attention, generation.library
            if holds(
                tx, job.inbound, report, said, now, rules=rules, zone=self.zone(), library=library
            ):
                said = []
            if job.lane.bypasses:
                later = replace(job.inbound, content=replace(report, sent=True))
                jobs.add(tx, job.lane.bypassed, later, now)
            else:
                self._remember(tx, job.inbound, report, now)
            # The words are kept there, and nowhere else.
            jobs.rewrite(tx, job.id, replace(job.inbound, content=report.wordless))
            return said

        await self.replies.settle(
            job,
            work,
            outcome="brought in",
            key="report",
            turn_id=report.turn_id,
            unless_stopped=False,
        )
        if job.lane.bypasses:
            self.replies.wake(job.lane.bypassed)

    def _messages(
        self, tx: Tx, inbound: events.Inbound, report: events.Report, generation: Generation
    ) -> list[Rendered]:
        previews = not self._source(tx, report)
        redact = generation.redactor.text
        if report.due_at:
            said = reminder(report.text, report.trigger, report.due_at)
            return [without_secrets(said, generation.redactor, previews=previews)]
        several = len(generation.library.names) > 1
        by_command = inbound.origin == "command"
        effects = [  # an action's answer is its own receipt
            one
            for one in turns.effects_in(tx, report.turn_id)
            if unmarked(one.result).strip() != report.text.strip()
        ]
        receipt = redact(receipts.line(effects, generation.library, inbound.person.language))
        tail = f"\n\n{receipt}" if receipt else ""
        tail += sentences.run_badge(
            report.name, report.pack if several else "", by_command=by_command
        )
        words = sentences.run_failed(report.text) if report.failed else report.text
        max_parts = generation.telegram.max_parts if inbound.address.platform == "tg" else 0
        parts = rendered.take_parts(tx, report.turn_id)
        refused = turns.refused_calls(tx, report.turn_id)[:_REFUSED_MAX]
        last: list[Rendered] = []
        if refused:
            shown = [(one.id, one.name, redact(one.arguments)) for one in refused]
            last.append(sentences.run_refused(shown))
        if not words or _is_said(words, parts):
            return [*with_tail(parts, tail), *last]
        answer = [*messages_of_answer(words, tail=tail, max_parts=max_parts)]
        if receipt:
            answer[-1] = replace(answer[-1], buttons=receipts.all_of_them())
        clean = partial(without_secrets, redactor=generation.redactor, previews=previews)
        return [*parts, *map(clean, answer), *last]

    def _remember(self, tx: Tx, inbound: events.Inbound, report: events.Report, now: str) -> None:
        here = (inbound.address, inbound.chat_kind)
        session_id = sessions.of_result(tx, *here, report.pack, now)
        by_command = inbound.origin == "command"
        about = sentences.run_in_history(report.name, report.prompt, by_command=by_command)
        told = report.text or sentences.run_sent_in_history()
        if source := self._source(tx, report):
            about, told = of_others(about, (source,)), untrusted(told, source)
            sessions.read(tx, sessions.named(tx, session_id), sources_in(told))
        turns.append_report(tx, session_id, report.turn_id, about, told, now)
        sessions.touch(tx, session_id, now)

    def _source(self, tx: Tx, report: events.Report) -> str:
        """Whose words, besides the person's own, a report may repeat."""
        return report.source or ", ".join(sessions.of_turn(tx, report.turn_id).sources)


def _is_said(text: str, parts: Sequence[Rendered]) -> bool:
    """Whether the messages that a run has sent say its answer, so that it is not said twice."""
    texts = [part.text for part in parts]
    return is_among(text, [*texts, " ".join(texts)])


async def streamed(
    bus: Bus, facts: Facts, hints: events.Hints, work: Awaitable[Ending | StopReason]
) -> Ending | StopReason:
    """Await the work of a turn whose words the chat sees come; publish where they begin to come,
    and where they end, however that is."""
    bus.publish(events.StreamBegin(facts.id, facts.session_id, hints))
    ended: Ending | StopReason = StopReason.SHUTDOWN
    failed: Exception | None = None
    try:
        ended = await work
        failed = ended.error if isinstance(ended, Nack) else None
    except Exception as error:
        failed = error
        raise
    finally:
        name = type(failed).__name__ if failed else _stopped_by(ended)
        bus.publish(events.StreamEnd(facts.id, facts.session_id, name))
        if failed:
            address = facts.address
            bus.publish(
                events.StreamFailed(
                    facts.id, facts.session_id, address.platform, address.chat_id, name
                )
            )
    return ended


def _stopped_by(ended: Ending | StopReason) -> str:
    match ended:
        case StopReason():
            return ended.name.lower()
        case Abort():
            return "aborted"
        case _:
            return ""


def tell(
    bus: Bus,
    ctx: TurnContext,
    ended: Ending | StopReason,
    *,
    command: str,
    shown: int,
    ms: float,
    now: str,
) -> None:
    """Tell of a turn whose end is committed; `shown` is how many messages its commit queued.

    `command` is the name of the command that began it, "" = none did.
    """
    facts, total = ctx.facts, ctx.total
    log.info(
        "turn_done",
        turn_id=facts.id,
        pack=facts.pack,
        origin=facts.origin,
        **({"command": command} if command and not facts.off_record else {}),
        status=status_of(ended),
        duration_ms=round(ms),
        provider_ms=round(ctx.provider_ms),
        own_ms=round(ms - ctx.provider_ms),
        dispatches=ctx.dispatches,
        tool_calls=ctx.tool_calls,
        input_tokens=total.input_tokens,
        output_tokens=total.output_tokens,
        cost_usd=round(ctx.cost_usd, 9),
        deliveries=shown,
    )
    bus.publish(events.TurnSettled(facts.id, facts.session_id, status_of(ended)))
    if not isinstance(ended, Ack):
        return
    bus.publish(
        events.ResponseComplete(facts.id, facts.session_id, ended.text, tuple(ctx.thoughts))
    )
    if facts.off_record or not SessionId.parse(facts.session_id).is_current:
        return
    bus.publish(
        events.TurnCompleted(
            said_by_person(ctx),
            ended.text,
            facts.session_id,
            facts.address.platform,
            facts.address.chat_id,
            now,
        )
    )


def said_by_person(ctx: TurnContext) -> str:
    return next((entry.text for entry in ctx.said if isinstance(entry, UserSaid)), "")


def log_failure(error: Exception, ctx: TurnContext) -> None:
    """A refusal is a fact, a provider's failure a warning, anything else has a traceback."""
    turn_id = ctx.facts.id
    match error:
        case QuotaExceededError(scope=scope, used_tokens=used, cap_tokens=cap):
            log.info("quota_exceeded", turn_id=turn_id, scope=scope, used=used, cap=cap)
        case BudgetExceeded(kind=kind, name=name, used_usd=used, cap_usd=cap, worst_usd=worst):
            log.info(
                "budget_exceeded",
                turn_id=turn_id,
                scope=kind,
                name=name,
                used=used,
                cap=cap,
                worst=worst,
            )
        case ProviderError():  # the model has told each failure as `provider_error`
            log.warning("turn_failed", turn_id=turn_id, kind=type(error).__name__, error=str(error))
        case Refused():
            log.info("turn_refused", turn_id=turn_id, error=str(error))
        case _:
            log.error(
                "turn_failed",
                turn_id=turn_id,
                step=failed_in(error),
                error=repr(error),
                exc_info=error,
            )


def status_of(ended: Ending | StopReason) -> str:
    match ended:
        case Ack():
            return "ack"
        case Nack():
            return "nack"
        case Abort() | StopReason():
            return "aborted"
