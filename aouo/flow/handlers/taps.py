"""Taps on our buttons, and texts that answer a question."""

from __future__ import annotations

import structlog

from aouo.commands import builtin, summaries
from aouo.facts import notices
from aouo.facts.callback_data import RUNTIMES
from aouo.facts.commands import CRON
from aouo.facts.events import Button, Inbound, Text
from aouo.facts.ports import Clock, Rendered, stamp
from aouo.facts.work import Delivery, Gate, Job
from aouo.flow.desk import Desk
from aouo.flow.handlers import installing, onboarding
from aouo.flow.handlers.affording import Affording
from aouo.flow.handlers.editing import Editing
from aouo.flow.handlers.installing import Installing
from aouo.flow.handlers.menus import Menus
from aouo.flow.handlers.remembering import Remembering
from aouo.flow.questions import outcomes
from aouo.flow.questions.approving import KIND as APPROVAL
from aouo.outbound.outbox import Outbox
from aouo.outbound.wording import sentences
from aouo.queue.gates import Waiting
from aouo.routing.decisions import AnswerGate
from aouo.store import deliveries, gates, jobs
from aouo.store.database import Database, Tx

log = structlog.get_logger()
_MOST_DIGITS = 18


class Taps:
    """Does what a tap asks for; those that wait in a lane were answered when they came in."""

    def __init__(
        self,
        *,
        desk: Desk,
        database: Database,
        clock: Clock,
        outbox: Outbox,
        waiting: Waiting,
        affording: Affording,
        editing: Editing,
        installing: Installing,
        remembering: Remembering,
        menus: Menus,
    ) -> None:
        self._desk = desk
        self._database = database
        self._clock = clock
        self._outbox = outbox
        self._waiting = waiting
        self._affording = affording
        self._editing = editing
        self._installing = installing
        self._remembering = remembering
        self._menus = menus

    async def bind(self, job: Job, pack: str) -> None:
        """Bind the conversation to the pack that a person tapped."""
        inbound = job.inbound
        library = self._desk.library
        pack = library.named(pack, inbound.person.language)
        if library.get(pack) is None:
            await self._desk.answer(job, notices.NoSuchPack(pack, library.names))
            return
        picker = isinstance(inbound.content, Button) and not inbound.content.by_model
        await self._desk.command(
            job,
            lambda tx, call: builtin.bind(tx, call, library, pack),
            instead_of=inbound.message_id if picker else 0,
        )

    async def answer_gate(self, job: Job, given: AnswerGate) -> None:
        """Settle a question, wake its turn, and show the outcome where it was asked."""
        inbound = job.inbound
        now = stamp(self._clock)

        def write(tx: Tx) -> tuple[Gate | None, str, list[Delivery]]:
            jobs.hold(tx, job)
            gate = (
                gates.get(tx, given.gate_id)
                if given.gate_id
                else gates.open_for(tx, inbound.address, inbound.person.id)
            )
            if gate is None and isinstance(inbound.content, Text):
                return None, "", []
            problem, answer = _judge(gate, given, inbound, now)
            if problem or gate is None:
                jobs.settle(tx, job, "done", problem, now)
                return None, problem, []
            gates.settle(tx, gate.id, "answered", answer)
            if given.gate_id:
                deliveries.seen(tx, gate.delivery_id, inbound.address, inbound.message_id)
            jobs.settle(tx, job, "done", "answered a question", now)
            settled = gates.get(tx, gate.id)
            return settled, "", outcomes.show(tx, settled, now) if settled else []

        gate, problem, shown = await self._database.transact(write, durable=True)
        if gate is None and not problem:
            await self._desk.defer(job)  # closed a moment ago: these words are no answer
            return
        self._outbox.put(*shown)
        if gate:
            self._waiting.tell(gate)
        await self._tell(inbound, problem, alert=bool(problem))

    async def open_menu(self, job: Job, key: str, *, ours: bool) -> None:
        """Buttons that need no model; all but pages only if the button is one of `ours`."""
        inbound = job.inbound
        if not key.startswith(RUNTIMES):
            await self._menus.open(job, key)
        elif not ours:
            await self._desk.answer(job, notices.UnknownButton())
        elif key.startswith("session_"):
            token = key.removeprefix("session_")
            await self._desk.command(job, lambda tx, call: builtin.open_session(tx, call, token))
        elif key.startswith("budget_"):
            await self._affording.tap(job, key)
        elif key.startswith(installing.PREFIX):
            await self._installing.tap(job, key)
        elif key.startswith("edited_"):
            await self._editing.tap(job, key)
        elif key == "onboarding_skip":
            await onboarding.skip(self._desk, self._outbox, job)
        elif key.startswith("memory_"):
            await self._remembering.tap(job, key)
        elif key.startswith("summary_"):
            await self._desk.command(job, lambda tx, call: summaries.show(tx, call, key))
        elif key.startswith("unsummary_"):
            await self._desk.command(job, lambda tx, call: summaries.undo(tx, call, key))
        elif key.startswith("cron_"):
            rest = key.removeprefix("cron_").replace("_", " ", 1)
            await self._desk.obey(job, CRON.name, rest, instead_of=inbound.message_id)
        elif key.startswith("again_"):
            await self._show_again(job, key)
        else:
            await self._desk.answer(job, notices.UnknownButton())

    async def _show_again(self, job: Job, key: str) -> None:
        """Show a delivery of this conversation once more, and only once."""
        inbound = job.inbound
        row = await self._database.read(lambda tx: _shown_before(tx, key, inbound))
        if row is None:
            await self._tell(inbound, "")
            await self._desk.answer(job, notices.UnknownButton())
            return
        now = stamp(self._clock)

        def write(tx: Tx) -> Delivery | None:
            jobs.hold(tx, job)
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
        await self._tell(inbound, "" if shown else sentences.TAP_SHOWN, alert=shown is None)

    async def _tell(self, inbound: Inbound, text: str, *, alert: bool = False) -> None:
        if isinstance(inbound.content, Button):
            await self._outbox.answer_tap(
                inbound.address, inbound.content.answer_id, text, alert=alert
            )


def _judge(gate: Gate | None, given: AnswerGate, inbound: Inbound, now: str) -> tuple[str, str]:
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
    if given.gate_id:
        if not 0 <= given.option < len(gate.options):
            return sentences.TAP_UNKNOWN, ""
        return "", gate.options[given.option]
    text = given.text.strip()
    if _is_number(text) and 1 <= int(text) <= len(gate.options):
        return "", gate.options[int(text) - 1]
    same = (option for option in gate.options if option.casefold() == text.casefold())
    return "", next(same, text)


def _judge_approval(gate: Gate, given: AnswerGate, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): only a tap of the owner's counts, and only in time."""
    if gate.person != inbound.person.id:
        return sentences.TAP_FOR_THE_OWNER, ""
    if gate.state == "closed":
        return sentences.TAP_STOPPED, ""
    if gate.state != "open" or gate.expires_at <= now:
        return sentences.TAP_EXPIRED, ""
    if given.text not in gate.options:
        return sentences.TAP_UNKNOWN, ""
    return "", given.text


def _is_number(text: str) -> bool:
    """Whether it counts something here: a longer one fits into no column."""
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS


def _shown_before(tx: Tx, key: str, inbound: Inbound) -> Delivery | None:
    """The delivery of this conversation that `key` names and whose words are kept.

    The tapped message need not be known: the line may stand there twice.
    """
    number = key.removeprefix("again_")
    row = deliveries.get(tx, int(number)) if _is_number(number) else None
    if row is None or row.message == Rendered(""):
        return None
    return row if inbound.address in (row.address, row.address.around) else None
