"""Brings the results of triggered turns into their conversations.

The transaction that ends such a turn settles its run and files the report as a job of the
conversation; the one that handles that job, between the conversation's turns, makes it history
and queues its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import tzinfo
from typing import Literal

from aouo.facts.address import Lane
from aouo.facts.events import Inbound, Origin, Report, Triggered
from aouo.facts.ids import ulid
from aouo.facts.origins import PROFILES
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Job
from aouo.flow import ending
from aouo.flow.attention import holds
from aouo.flow.generation import Generation
from aouo.flow.replies import Replies
from aouo.outbound.answers import is_among, messages_of_answer, with_tail
from aouo.outbound.clean import without_secrets
from aouo.queue import reports
from aouo.store import jobs, report_parts, sessions, turns
from aouo.store.database import Database, Tx
from aouo.triggers.runs import RunEnd, Settle
from aouo.words import sentences


@dataclass(slots=True, eq=False, kw_only=True)
class Bringing:
    """Settles runs and brings in reports; `settles` says how, by the origin of a run.

    `now` is the generation of now; `wake` is told the lane that a report waits in.
    """

    database: Database
    clock: Clock
    replies: Replies
    settles: Mapping[Origin, Settle]
    now: Callable[[], Generation]
    zone: Callable[[], tzinfo]

    def settle(self, tx: Tx, job: Job, end: RunEnd, now: str) -> Lane | None:
        """Settle the run of a turn that ends; return the lane where its report is filed, None =
        there is nothing to tell."""
        asked = job.inbound.content
        assert isinstance(asked, Triggered)
        origin = job.inbound.origin
        settle = self.settles.get(origin)
        report = settle(tx, job, asked, end, now) if settle else None
        if report is None or PROFILES[origin].goes == "nowhere":
            report_parts.drop(tx, end.turn_id)
            return None
        return reports.file(tx, replace(job.inbound, content=report), now)

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
            ending.end_turn(tx, job.id, job.inbound.address, said, now)
            lane = self.settle(tx, job, RunEnd(turn.id if turn else ulid(), status, said), now)
            jobs.settle(tx, job, "done", said, now)
            return lane

        self.wake(await self.database.transact(write))

    async def bring_in(self, job: Job, report: Report) -> None:
        """Make a report history and send it, in one transaction, or only send it now, when the
        conversation's turn waits for a person; then it becomes history after that turn."""
        generation = self.now()
        job = replace(job, off_record=False)  # what runs by itself is on the record

        def work(tx: Tx, now: str) -> list[Rendered]:
            said = [] if report.sent else self._messages(tx, job.inbound, report, generation)
            rules, library = generation.attention, generation.library
            if holds(
                tx,
                job.inbound,
                report,
                said,
                now,
                rules=rules,
                zone=self.zone(),
                library=library,
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
        self, tx: Tx, inbound: Inbound, report: Report, generation: Generation
    ) -> list[Rendered]:
        several = len(generation.library.names) > 1
        by_command = inbound.origin == "command"
        tail = sentences.run_badge(
            report.name, report.pack if several else "", by_command=by_command
        )
        text = sentences.run_failed(report.text) if report.failed else report.text
        max_parts = generation.telegram.max_parts if inbound.address.platform == "tg" else 0
        parts = report_parts.take(tx, report.turn_id)
        if not text or _is_said(text, parts):
            return with_tail(parts, tail)
        answer = messages_of_answer(text, tail=tail, max_parts=max_parts)
        return [*parts, *(without_secrets(one, generation.redactor) for one in answer)]

    def _remember(self, tx: Tx, inbound: Inbound, report: Report, now: str) -> None:
        here = (inbound.address, inbound.chat_kind)
        session_id = sessions.of_result(tx, *here, report.pack, now)
        by_command = inbound.origin == "command"
        about = sentences.run_in_history(report.name, report.prompt, by_command=by_command)
        text = report.text or sentences.run_sent_in_history()
        turns.append_report(tx, session_id, report.turn_id, about, text, now)
        sessions.touch(tx, session_id, now)


def _is_said(text: str, parts: Sequence[Rendered]) -> bool:
    """Whether the messages that a run has sent say its answer, so that it is not said twice."""
    texts = [part.text for part in parts]
    return is_among(text, [*texts, " ".join(texts)])
