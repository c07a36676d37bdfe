"""Taps on our buttons, and texts that answer a question."""

from __future__ import annotations

from typing import TypeAlias, assert_never

import structlog

from aouo.commands import builtin, summaries
from aouo.facts import notices, taps
from aouo.facts.commands import CRON
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Delivery, Gate, Job
from aouo.flow.handlers import onboarding
from aouo.flow.handlers.budget_refusals import BudgetRefusals
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.questions import settled_cards
from aouo.flow.questions.approving import KIND as APPROVAL
from aouo.flow.replies import Replies
from aouo.outbound.outbox import Outbox
from aouo.outbound.wording import sentences
from aouo.queue.gates import Waiting
from aouo.routing.decisions import AnswerGate
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx

log = structlog.get_logger()
Answer: TypeAlias = AnswerGate | taps.Choose | taps.Approve
_MOST_DIGITS = 18


class Taps:
    """Does what a tap asks for; those that wait in a lane were answered when they came in."""

    def __init__(
        self,
        *,
        replies: Replies,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        waiting: Waiting,
        budget_refusals: BudgetRefusals,
        editing: Editing,
        installing: Installing,
        remembering: Remembering,
        menus: Menus,
    ) -> None:
        self._replies = replies
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._waiting = waiting
        self._budget_refusals = budget_refusals
        self._editing = editing
        self._installing = installing
        self._remembering = remembering
        self._menus = menus

    async def _bind(self, job: Job, pack: str) -> None:
        """Bind the conversation to the pack that a person tapped."""
        inbound = job.inbound
        library = self._replies.library
        pack = library.named(pack, inbound.person.language)
        if library.get(pack) is None:
            await self._replies.answer(job, notices.NoSuchPack(pack, library.names))
            return
        picker = isinstance(inbound.content, Button) and not inbound.content.by_model
        await self._replies.command(
            job,
            lambda tx, call: builtin.bind(tx, call, library, pack),
            instead_of=inbound.message_id if picker else 0,
        )

    async def answer_gate(self, job: Job, given: Answer) -> None:
        """Settle a question, wake its turn, and show the outcome where it was asked."""
        inbound = job.inbound
        now = stamp(self._clock)

        def write(tx: Tx) -> tuple[Gate | None, str, list[Delivery]]:
            jobs.check_claim(tx, job)
            gate = _gate_of(tx, given, inbound)
            if gate is None and isinstance(given, AnswerGate):
                return None, "", []
            problem, answer = _judge(gate, given, inbound, now)
            if problem or gate is None:
                jobs.settle(tx, job, "done", problem, now)
                return None, problem, []
            gates.settle(tx, gate.id, "answered", answer)
            if not isinstance(given, AnswerGate):
                deliveries.seen(tx, gate.delivery_id, inbound.address, inbound.message_id)
            jobs.settle(tx, job, "done", "answered a question", now)
            settled = gates.get(tx, gate.id)
            return settled, "", settled_cards.show(tx, settled, now) if settled else []

        gate, problem, shown = await self._database.transact(write, durable=True)
        if gate is None and not problem:
            await self._replies.defer(job)  # closed a moment ago: these words are no answer
            return
        self._outbox.put(*shown)
        if gate:
            self._waiting.tell(gate)
        await self._outbox.answer_tap(inbound, problem)

    async def obey(self, job: Job, tap: taps.Ours) -> None:
        """Do what a button says."""
        replies, shown = self._replies, job.inbound.message_id
        match tap:
            case taps.Choose() | taps.Approve():
                await self.answer_gate(job, tap)
            case taps.BindPack(pack):
                await self._bind(job, pack)
            case taps.OpenPage(page_id):
                await self._menus.open(job, page_id)
            case taps.OpenSession(token):
                await replies.command(job, lambda tx, call: builtin.open_session(tx, call, token))
            case taps.ShowSummary(summary):
                await replies.command(job, lambda tx, call: summaries.show(tx, call, summary))
            case taps.UndoSummary(summary):
                await replies.command(job, lambda tx, call: summaries.undo(tx, call, summary))
            case taps.ShowMemory(file):
                await self._remembering.show(job, file)
            case taps.EmptyMemory(file):
                await self._remembering.empty(job, file)
            case taps.UndoMemory(version):
                await self._remembering.undo(job, version)
            case taps.SwitchOn(schedule):
                await replies.obey(job, CRON.name, f"on {schedule}", instead_of=shown)
            case taps.SwitchOff(schedule):
                await replies.obey(job, CRON.name, f"off {schedule}", instead_of=shown)
            case taps.RaiseBudget() | taps.UseCheaperModel() | taps.LeaveUnanswered():
                await self._budget_refusals.tap(job, tap)
            case taps.OfferPack(pack):
                await self._installing.offer(job, pack)
            case taps.AcceptPack() | taps.DeclinePack():
                await self._installing.decide(job, tap)
            case taps.AnswerEdited():
                await self._editing.tap(job, tap)
            case taps.SkipOnboarding():
                await onboarding.skip(replies, self._outbox, job)
            case taps.ShowAgain(delivery):
                await self._show_again(job, delivery)
            case taps.Reference() | taps.Unknown():
                await replies.answer(job, notices.Plain.UNKNOWN_BUTTON)
            case _:
                assert_never(tap)

    async def _show_again(self, job: Job, delivery_id: int) -> None:
        """Show a delivery of this conversation once more, and only once."""
        inbound = job.inbound
        row = await self._database.read(lambda tx: _shown_before(tx, delivery_id, inbound))
        if row is None:
            await self._outbox.answer_tap(inbound)
            await self._replies.answer(job, notices.Plain.UNKNOWN_BUTTON)
            return
        now = stamp(self._clock)

        def write(tx: Tx) -> Delivery | None:
            jobs.check_claim(tx, job)
            jobs.settle(tx, job, "done", "answered", now)
            again = f"again:{row.id}:asked"
            if deliveries.has_key(tx, again):
                return None
            shown = deliveries.add(tx, inbound.address, "reply", row.message, now, key=again)
            deliveries.hush_as(tx, shown.id, row.id)
            return shown

        shown = await self._database.transact(write, durable=True)
        if shown:
            self._outbox.put(shown)
        await self._outbox.answer_tap(inbound, "" if shown else sentences.TAP_SHOWN)


def _gate_of(tx: Tx, given: Answer, inbound: Inbound) -> Gate | None:
    """A tap names its question; words answer the one that is open for this person here."""
    if isinstance(given, AnswerGate):
        return gates.open_for(tx, inbound.address, inbound.person.id)
    return gates.get(tx, given.gate_id)


def _judge(gate: Gate | None, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): a text is a label, a number or free words."""
    if gate is None:
        return sentences.TAP_UNKNOWN, ""
    if gate.kind == APPROVAL:
        return _judge_approval(gate, given, inbound, now)
    if gate.person != inbound.person.id:
        return sentences.TAP_NOT_YOURS, ""
    if gate.state == "closed":
        return sentences.TAP_STOPPED, ""
    if gate.state != "open":
        return sentences.TAP_EXPIRED, ""
    match given:
        case taps.Choose(option=option) if option < len(gate.options):
            return "", gate.options[option]
        case taps.Choose() | taps.Approve():
            return sentences.TAP_UNKNOWN, ""
        case AnswerGate(text):
            return "", _meant(text.strip(), gate.options)


def _meant(text: str, options: tuple[str, ...]) -> str:
    if _is_number(text) and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return next((option for option in options if option.casefold() == text.casefold()), text)


def _judge_approval(gate: Gate, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): only a tap of the owner's counts, and only in time."""
    if gate.person != inbound.person.id:
        return sentences.TAP_FOR_THE_OWNER, ""
    if gate.state == "closed":
        return sentences.TAP_STOPPED, ""
    if gate.state != "open" or gate.expires_at <= now:
        return sentences.TAP_EXPIRED, ""
    if not isinstance(given, taps.Approve) or given.answer not in gate.options:
        return sentences.TAP_UNKNOWN, ""
    return "", given.answer


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _shown_before(tx: Tx, delivery_id: int, inbound: Inbound) -> Delivery | None:
    """A delivery of this conversation whose words are kept.

    The tapped message need not be known: the line may stand there twice.
    """
    row = deliveries.get(tx, delivery_id)
    if row is None or row.message == Rendered(""):
        return None
    return row if inbound.address in (row.address, row.address.around) else None
