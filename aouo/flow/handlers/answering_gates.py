"""Settles questions: by a tap on their buttons, or by a text that answers one."""

from __future__ import annotations

from typing import TypeAlias

from aouo.facts.events import Inbound
from aouo.facts.taps import Tap
from aouo.facts.work import Delivery, Gate, Job
from aouo.flow.questions import settled_cards
from aouo.flow.questions.approving import KIND as APPROVAL
from aouo.flow.replies import Replies
from aouo.queue.gates import Waiting
from aouo.routing.decisions import AnswerGate
from aouo.store import deliveries, gates
from aouo.store.database import Tx
from aouo.words.catalogue import text

Answer: TypeAlias = AnswerGate | Tap
"""Words, or a `choice` or `approval`."""
_MOST_DIGITS = 18
ANSWERED = "answered a question"
"""The outcome of a job that settled one."""


class _NotAsked(Exception):
    """No question is open to these words any more."""


async def answer_gate(replies: Replies, waiting: Waiting, job: Job, given: Answer) -> None:
    """Settle a question, wake its turn, and show the outcome where it was asked."""
    inbound = job.inbound
    settled: list[Gate] = []

    def work(tx: Tx, now: str) -> str | list[Delivery]:
        gate = _gate_of(tx, given, inbound)
        if gate is None and isinstance(given, AnswerGate) and not given.gate_id:
            raise _NotAsked
        problem, answer = _judge(gate, given, inbound, now)
        if problem or gate is None:
            return problem
        gates.settle(tx, gate.id, "answered", answer, now)
        if not isinstance(given, AnswerGate):
            deliveries.seen(tx, gate.delivery_id, inbound.address, inbound.message_id)
        gates.answered_by(tx, gate.id, inbound.origin)
        settled[:] = filter(None, (gates.get(tx, gate.id),))
        return [row for gate in settled for row in settled_cards.show(tx, gate, now)]

    def tell() -> None:
        for gate in settled:
            waiting.tell(gate)

    try:
        await replies.answer_tap(job, work, ANSWERED, then=tell)
    except _NotAsked:  # closed a moment ago: these words are no answer
        await replies.defer(job)


def _gate_of(tx: Tx, given: Answer, inbound: Inbound) -> Gate | None:
    """A tap names its question; words may, or answer the one that is open for this person here."""
    gate_id = given.gate_id if isinstance(given, AnswerGate) else given.values[0]
    if not gate_id:
        return gates.open_for(tx, inbound.address, inbound.person.id)
    return gates.get(tx, gate_id)


def _judge(gate: Gate | None, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): a text is a label, a number or free words."""
    if gate is None:
        return text("taps.unknown"), ""
    if gate.kind == APPROVAL:
        return _judge_approval(gate, given, inbound, now)
    if gate.person != inbound.person.id:
        return text("taps.not-yours"), ""
    if gate.state == "closed":
        return text("taps.stopped"), ""
    if gate.state != "open":
        return text("taps.expired"), ""
    match given:
        case AnswerGate(said):
            return "", _meant(said.strip(), gate.options)
        case Tap("choice", (_, option)) if int(option) < len(gate.options):
            return "", gate.options[int(option)]
        case _:
            return text("taps.unknown"), ""


def _meant(text: str, options: tuple[str, ...]) -> str:
    if _is_number(text) and 1 <= int(text) <= len(options):
        return options[int(text) - 1]
    return next((option for option in options if option.casefold() == text.casefold()), text)


def _judge_approval(gate: Gate, given: Answer, inbound: Inbound, now: str) -> tuple[str, str]:
    """(why not, the answer): only a tap of the owner's counts, and only in time."""
    if gate.person != inbound.person.id:
        return text("taps.for-the-owner"), ""
    if gate.state == "closed":
        return text("taps.stopped"), ""
    if gate.state != "open" or gate.expires_at <= now:
        return text("taps.expired"), ""
    match given:
        case Tap("approval", (_, answer)) if answer in gate.options:
            return "", answer
        case _:
            return text("taps.unknown"), ""


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= _MOST_DIGITS
