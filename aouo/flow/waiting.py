"""Lets a turn wait for a person: a durable gate, no slot held; shows how its question ended."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import TypeAlias

from aouo.agent.tools.registry import ChosenOption
from aouo.facts.address import ConversationAddress, Lane
from aouo.facts.errors import ToolFailed
from aouo.facts.events import Inbound
from aouo.facts.ports import ButtonSpec, Clock, Rendered, iso
from aouo.facts.taps import encode
from aouo.facts.work import Delivery, Gate, Job
from aouo.outbound import payloads
from aouo.outbound.live import LiveView
from aouo.outbound.outbox import Outbox
from aouo.outbound.pages import SilentView, taken_away
from aouo.plumbing.waiting import finish
from aouo.queue import gathering
from aouo.queue.running import Running, Waiting
from aouo.store import audit, deliveries, gates, jobs, off_record, turns
from aouo.store.database import Database, Tx
from aouo.store.gates import NOT_REACHED
from aouo.words import sentences
from aouo.words.markdown.render import render


def _waits_key(gate: Gate) -> str:
    """The key of the line that tells a person of a gate which somebody else has to answer."""
    return f"{gate.call_id}:waits"


def show_settled(tx: Tx, gate: Gate, now: str) -> list[Delivery]:
    """Turn the message of a settled gate into its outcome, and the line of whoever waits for it."""
    outcome = sentences.question_settled(gate.kind, gate.state, gate.answer)
    cards = (deliveries.get(tx, gate.delivery_id), deliveries.keyed(tx, _waits_key(gate)))
    return [row for card in cards if card for row in become_settled(tx, card, outcome, now)]


def become_settled(tx: Tx, card: Delivery, outcome: str, now: str) -> list[Delivery]:
    """Let a card show its outcome; what nobody has begun to send is not sent."""
    if card.message_id:
        said = payloads.chosen(card.message, outcome)
        edit = deliveries.add(
            tx, card.address, "notice", said, now, turn_id=card.turn_id, edits=card.message_id
        )
        return [edit]
    if card.state == "queued":
        deliveries.mark(tx, card.id, "dropped", now)
        return [replace(card, state="dropped")]
    return []


def close_card(tx: Tx, turn_id: str, now: str) -> list[Delivery]:
    """The turn is over: its open questions are, too, and their messages say so."""
    return _shown(tx, gates.close_of_turn(tx, turn_id, now), now)


def close_asked(tx: Tx, address: ConversationAddress, before: int, now: str) -> list[Delivery]:
    """A turn is stopped by the job `before`: what is said after that answers none of its
    questions, however long the turn takes to end."""
    return _shown(tx, gates.close_asked(tx, address, before, now), now)


def _shown(tx: Tx, closed: Sequence[Gate], now: str) -> list[Delivery]:
    return [row for gate in closed for row in show_settled(tx, gate, now)]


def end_turn(
    tx: Tx, job_id: int, address: ConversationAddress, why: str, now: str
) -> list[Delivery]:
    """End the job's open turn, which no task is running; return the rows that show it."""
    turn = turns.open_of(tx, job_id)
    if turn is None:
        return []
    live = [row.message_id for row in deliveries.live_of(tx, turn.id)]
    rows = taken_away(tx, address, turn.id, live, now)
    if turn.off_record:
        turns.close_erased(tx, turn.id, now)
    else:
        line = sentences.stopped_in_history(why, turns.effects(tx, turn.id))
        turns.close_without_answer(tx, turn, "aborted", line, now)
    rows += close_card(tx, turn.id, now)
    audit.close_of_turn(tx, turn.id, now)
    deliveries.end_live(tx, turn.id, now)
    return rows


def end_dropped(tx: Tx, job_id: int, inbound: Inbound, why: str, now: str) -> list[Delivery]:
    """End what a dropped job had begun, and erase it if it was off the record; its files are the
    caller's. Returns the rows that show it."""
    hidden = off_record.hides(tx, job_id, inbound)
    rows = end_turn(tx, job_id, inbound.address, why, now)
    if hidden:
        off_record.wipe(tx, job_id, inbound)
    return rows


_EXPIRES_AFTER = timedelta(hours=24)
_Tells: TypeAlias = Callable[[bool], Rendered]
"""What is told where the turn is: the card that asks has arrived elsewhere, or never will."""


@dataclass(slots=True, eq=False, kw_only=True)
class PersonWait:
    """One turn's way to ask and to wait; several of its calls may wait beside each other.

    The question is a row before it is shown, so after a crash the same call finds it again,
    answered or not. See `tools.registry.Ask`.
    """

    database: Database
    clock: Clock
    outbox: Outbox
    waiting: Waiting
    running: Running
    job: Job
    turn_id: str
    view: LiveView | SilentView
    wake: Callable[[Lane], None]
    _waiters: int = field(init=False, default=0)

    async def ask(self, call_id: str, question: str, options: Sequence[str]) -> str:
        """Ask the turn's person; returns the chosen option or their own words.

        Raises:
            ToolFailed: nobody answered in time, the question was closed, or it cannot be shown.
        """
        gate = self.gate("clarify", self.job.inbound.person.id, call_id, _EXPIRES_AFTER)
        gate = replace(gate, question=question, options=tuple(options))
        card = _card(gate)
        gate, row = await self.database.transact(lambda tx: self.open(tx, gate, card), durable=True)
        gate = await self.answered(gate, row)
        if gate.state == "answered":
            chosen = gate.answer in gate.options
            return ChosenOption(gate.answer) if chosen else gate.answer
        raise ToolFailed("The person did not answer; the question is closed.")

    def gate(self, kind: str, person: str, call_id: str, expires_after: timedelta) -> Gate:
        """A gate of this turn that asks nothing yet; only `person` may answer it."""
        expires_at = iso(self.clock.now() + expires_after)
        return Gate(
            id=gates.new_id(),
            kind=kind,
            address=self.job.inbound.address,
            person=person,
            turn_id=self.turn_id,
            call_id=call_id,
            question="",
            options=(),
            state="open",
            answer="",
            delivery_id=0,
            expires_at=expires_at,
        )

    def open(
        self, tx: Tx, gate: Gate, card: Rendered, to: ConversationAddress | None = None
    ) -> tuple[Gate, Delivery]:
        """Write the gate and its message, or find what this call wrote before a crash.

        The message goes to the turn's conversation, or `to` another.
        """
        now = iso(self.clock.now())
        gate = gates.open_gate(tx, gate, now)
        if gate.state == "open":
            jobs.waits_for_a_person(tx, self.turn_id)
            gathering.hurry(tx, self.job.inbound.address)
        row = deliveries.add(
            tx,
            to or self.job.inbound.address,
            "msg",
            card,
            now,
            turn_id=self.turn_id,
            key=f"{gate.call_id}:question",
        )
        gates.show(tx, gate.id, row.id)
        return gate, row

    def put(self, *rows: Delivery) -> None:
        """Have rows sent that no sender has seen."""
        self.outbox.put(*(row for row in rows if row.state in ("queued", "dropped")))

    async def answered(self, gate: Gate, card: Delivery, tells: _Tells | None = None) -> Gate:
        """The gate as it was answered; or closed, and shown to be: its time is over, or nobody can
        be asked.

        Once the card has arrived, or will never, the turn's conversation is told what `tells`
        says to that.
        """
        if gate.state != "open":
            return gate
        self.wake(self.job.inbound.address.lane.bypass)  # reports need not wait for this
        async with self._parked(), asyncio.TaskGroup() as group:
            ends = [
                group.create_task(self._expire(gate)),
                group.create_task(self._reach(gate, card, tells)),
            ]
            try:
                settled = await self.waiting.settled(gate.id)
            finally:
                for end in ends:
                    end.cancel()
        if settled.state == "expired":
            now = iso(self.clock.now())
            self.put(*await self.database.transact(lambda tx: show_settled(tx, settled, now)))
        return settled

    async def _reach(self, gate: Gate, card: Delivery, tells: _Tells | None) -> None:
        """See that the card arrives; a question that nobody will ever see is closed."""
        card = await self._arrived(card)
        reached, now = card.state != "refused", iso(self.clock.now())

        def write(tx: Tx) -> tuple[Gate, Delivery | None]:
            settled = gate if reached else _settled(tx, gate, "closed", NOT_REACHED, now)
            now_is = gates.get(tx, gate.id)
            if tells is None or (reached and now_is and now_is.state != "open"):  # answered by now
                return settled, None
            said = tells(reached)
            key = _waits_key(gate)
            return settled, deliveries.add(
                tx, self.job.inbound.address, "notice", said, now, turn_id=self.turn_id, key=key
            )

        async def tell() -> None:
            settled, told = await self.database.transact(write)
            if told:
                self.put(told)
            if settled.state != "open":
                self.waiting.tell(settled)

        await finish(tell())  # an answer ends this task, and what is written has to be sent

    async def _arrived(self, card: Delivery) -> Delivery:
        """The card once it is sent, refused or unknown."""
        if card.state not in ("queued", "sending"):
            return card
        arrival = self.outbox.arrival(card)
        self.put(card)
        known = await self.database.read(lambda tx: deliveries.get(tx, card.id))
        if known and known.state not in ("queued", "sending"):
            return known  # it arrived before we asked, in a former life
        return await asyncio.shield(arrival)

    @asynccontextmanager
    async def _parked(self) -> AsyncGenerator[None]:
        """Nothing of the turn is shown until the last who waits goes on."""
        async with self.running.parked(self.job.id):
            self._waiters += 1
            self.view.stand_by()
            try:
                yield
            finally:
                self._waiters -= 1
                if not self._waiters:
                    self.view.go_on()

    async def _expire(self, gate: Gate) -> None:
        """Close the question when its time is over; an answer until then wins."""
        left = datetime.fromisoformat(gate.expires_at) - self.clock.now()
        await self.clock.sleep(max(0.0, left.total_seconds()))
        self.waiting.tell(
            await self.database.transact(
                lambda tx: _settled(tx, gate, "expired", "", iso(self.clock.now()))
            )
        )


def _settled(tx: Tx, gate: Gate, state: str, answer: str, now: str) -> Gate:
    gates.settle(tx, gate.id, state, answer, now)
    settled = gates.get(tx, gate.id)
    assert settled is not None
    return settled


def _card(gate: Gate) -> Rendered:
    """The question with its buttons, as one message.

    Raises:
        ToolFailed: it is none, or several.
    """
    if not (parts := render(gate.question)):
        raise ToolFailed("The message of clarify holds nothing that can be shown.")
    part, *more = parts
    if more:
        raise ToolFailed(
            "The message of clarify is longer than one message can be. Show the long part with "
            "msg and ask a short question."
        )
    rows = tuple(
        (ButtonSpec(label, encode("choice", gate.id, number)),)
        for number, label in enumerate(gate.options)
    )
    return Rendered(part.text, part.entities, rows)
