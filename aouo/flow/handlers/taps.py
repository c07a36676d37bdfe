"""Obeys taps on our buttons: one handler for each kind of button."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

from aouo.commands import builtin, summaries
from aouo.commands.scheduling import Scheduling
from aouo.commands.working import Jobs
from aouo.facts import notices, taps
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import Rendered
from aouo.facts.work import Delivery, Job
from aouo.flow.handlers import onboarding
from aouo.flow.handlers.answering_gates import Answer
from aouo.flow.handlers.budget_refusals import BudgetRefusals
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.handlers.scheduling import schedule_taps
from aouo.flow.handlers.table import Handlers, on, table
from aouo.flow.replies import Replies
from aouo.queue.running import Running
from aouo.store import deliveries, kept_reports
from aouo.store.database import Database, Tx
from aouo.words import sentences
from aouo.words.catalogue import text


def taps_of(
    replies: Replies,
    *,
    database: Database,
    scheduling: Scheduling,
    work: Jobs,
    running: Running,
    answer_gate: Callable[[Job, Answer], Awaitable[None]],
    budget_refusals: BudgetRefusals,
    editing: Editing,
    installing: Installing,
    menus: Menus,
    remembering: Remembering,
) -> Handlers:
    """The table of taps; those that wait in a lane were answered when they came in."""
    own = _Taps(replies, database)
    return table(
        taps.Ours,
        on(taps.Choose, answer_gate),
        on(taps.Approve, answer_gate),
        on(taps.BindPack, own.bind),
        on(taps.OpenPage, lambda job, tap: menus.open(job, tap.page_id)),
        on(taps.OpenSession, own.open_session),
        on(taps.ShowSummary, own.show_summary),
        on(taps.UndoSummary, own.undo_summary),
        on(taps.ShowMemory, lambda job, tap: remembering.show(job, tap.file)),
        on(taps.EmptyMemory, lambda job, tap: remembering.empty(job, tap.file)),
        on(taps.UndoMemory, lambda job, tap: remembering.undo(job, tap.version_id)),
        *schedule_taps(replies, scheduling, work, running),
        on(taps.RaiseBudget, budget_refusals.tap),
        on(taps.UseCheaperModel, budget_refusals.tap),
        on(taps.LeaveUnanswered, budget_refusals.tap),
        on(taps.OfferPack, installing.offer),
        on(taps.AcceptPack, installing.decide),
        on(taps.DeclinePack, installing.decide),
        on(taps.AnswerEdited, editing.tap),
        on(taps.SkipOnboarding, lambda job, tap: onboarding.skip(replies, job)),
        on(taps.ShowAgain, own.show_again),
        on(taps.ShowKept, own.show_kept),
        on(taps.Reference, own.explain),
        on(taps.Unknown, own.explain),
    )


class _Taps:
    """Obeys the taps that no other part obeys."""

    def __init__(self, replies: Replies, database: Database) -> None:
        self._replies = replies
        self._database = database

    async def bind(self, job: Job, tap: taps.BindPack) -> None:
        """Bind the conversation to the pack that a person tapped."""
        inbound, library = job.inbound, self._replies.library
        pack = library.named(tap.pack, inbound.person.language)
        if library.get(pack) is None:
            await self._replies.answer(job, notices.NoSuchPack(pack, library.names))
            return
        picker = isinstance(inbound.content, Button) and not inbound.content.by_model
        await self._replies.command(
            job,
            lambda tx, call: builtin.bind(tx, call, library, pack),
            instead_of=inbound.message_id if picker else 0,
        )

    async def open_session(self, job: Job, tap: taps.OpenSession) -> None:
        """Go back to an earlier session."""
        await self._replies.command(job, lambda tx, call: builtin.open_session(tx, call, tap.token))

    async def show_summary(self, job: Job, tap: taps.ShowSummary) -> None:
        """Show what stands for the older part of a session."""
        await self._replies.command(job, lambda tx, call: summaries.show(tx, call, tap.summary_id))

    async def undo_summary(self, job: Job, tap: taps.UndoSummary) -> None:
        """Let the messages themselves be read again."""
        await self._replies.command(job, lambda tx, call: summaries.undo(tx, call, tap.summary_id))

    async def show_again(self, job: Job, tap: taps.ShowAgain) -> None:
        """Show a delivery of this conversation once more, and only once."""
        inbound = job.inbound
        row = await self._database.read(lambda tx: _shown_before(tx, tap.delivery_id, inbound))
        if row is None:
            await self._replies.begin_tap(job)
            await self._replies.answer(job, notices.Plain.UNKNOWN_BUTTON)
            return

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            key = f"again:{row.id}:asked"
            if deliveries.has_key(tx, key):
                return sentences.TAP_SHOWN
            shown = deliveries.add(
                tx, inbound.address, "reply", row.message, now, turn_id=row.turn_id, key=key
            )
            deliveries.hush_as(tx, shown.id, row.id)
            return [shown]

        await self._replies.answer_tap(job, work, "answered")

    async def show_kept(self, job: Job, tap: taps.ShowKept) -> None:
        """Send all that a digest of this conversation told, once."""
        inbound = job.inbound

        def work(tx: Tx, now: str) -> str | list[Delivery]:
            kept = kept_reports.of_digest(tx, tap.digest_id, inbound.address)
            if not kept:
                return text("digest.forgotten")
            if deliveries.has_key(tx, kept_reports.key_of(kept[0], 0)):
                return sentences.TAP_SHOWN
            return [row for one in kept for row in kept_reports.send(tx, one, now)]

        await self._replies.answer_tap(job, work, "answered")

    async def explain(self, job: Job, tap: taps.Reference | taps.Unknown) -> None:
        """Say that the button means nothing any more."""
        del tap
        await self._replies.answer(job, notices.Plain.UNKNOWN_BUTTON)


def _shown_before(tx: Tx, delivery_id: int, inbound: Inbound) -> Delivery | None:
    """A delivery of this conversation whose words are kept.

    The tapped message need not be known: the line may stand there twice.
    """
    row = deliveries.get(tx, delivery_id)
    if row is None or row.message == Rendered(""):
        return None
    return row if inbound.address in (row.address, row.address.around) else None
