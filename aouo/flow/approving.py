"""Asks the owner, in their private chat, to allow tool calls, and waits for the answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from functools import partial
from typing import TypeAlias

from aouo.config.sections import Approvals
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered, iso
from aouo.facts.work import Delivery, Gate
from aouo.flow.waiting import PersonWait
from aouo.guard.flow import ALWAYS_ASKED
from aouo.guard.prepared import (
    ALWAYS,
    DENY,
    FOR_GOOD,
    UNASKED,
    UNATTENDED,
    Allowed,
    Ask,
    Blocked,
    PreparedCall,
    answers,
    is_attended,
)
from aouo.plumbing.logs import log
from aouo.store import gates
from aouo.store.database import Tx
from aouo.words.catalogue import say
from aouo.words.sentences import Asked, approval

KIND = "approval"
_HOUR = timedelta(hours=1)
_DENIED = (
    "The owner said no to this call. Do not reach for it another way; go on without it, or ask "
    "what to do instead."
)
_NO_ANSWER = "The owner did not answer within {} s, so this was not done. Go on without it."
_TOO_MANY = (
    "The owner was asked {} times within the last hour and is not asked again now, so this was "
    "not done. Go on without it."
)
_NOT_REACHED = (
    "The owner could not be asked: they have no private chat with this bot, or have blocked it. So "
    "this was not done, and the person has been told. Go on without it."
)
_CHANGED = "This is not what the owner was asked about, so it was not done. Call again."
_TOO_LONG = (
    "This leads to more places than a question to the owner can show, so it was not done. Make "
    "several calls of it."
)
_BEFORE = "the owner said yes to it in this conversation"

_Decided: TypeAlias = Allowed | Blocked


@dataclass(slots=True, eq=False)
class _Opened:
    """What is decided of some calls without asking, by call id, and the gate that asks about those
    that are `shown` on its message."""

    decided: dict[str, _Decided]
    gate: Gate | None = None
    card: Delivery | None = None
    shown: list[tuple[PreparedCall, Ask]] = field(default_factory=list[tuple[PreparedCall, Ask]])


@dataclass(frozen=True, slots=True)
class Approving:
    """One turn's way to ask the owner; see `guard.prepared.Approve`.

    `owner` is their id, `chat` their private one if the turn is elsewhere, `asks_for` whose turn it
    is, `whose` the person whom a rule from it names, `sources` whose words the turn has read.

    The gate holds the digests of the calls and of where their paths lead, and only those are
    allowed by it. A yes is marked as used before its call begins, so that after a crash it is known
    whether the call may have happened.
    """

    person_wait: PersonWait
    owner: str
    whose: str
    chat: ConversationAddress | None
    asks_for: Inbound
    sources: Callable[[], Sequence[str]]
    limits: Approvals

    async def approve(self, asked: Sequence[tuple[PreparedCall, Ask]]) -> Sequence[_Decided]:
        """Wait for the owner's word, a card at a time; silence, and nobody being there, is a no,
        after which no further card is shown."""
        decided: dict[str, _Decided] = {}
        while rest := [one for one in asked if one[0].call_id not in decided]:
            opened = await self.person_wait.database.transact(
                partial(self._open, asked=rest), durable=True
            )
            decided |= opened.decided
            if not (opened.gate and opened.card):
                continue
            gate = await self.person_wait.answered(
                opened.gate, opened.card, _told if self.chat else None
            )
            log.info("approval_settled", state=gate.state, answer=gate.answer, origin=gate.origin)
            words = await self._settled(gate, opened.shown)
            if any(isinstance(word, Blocked) for word in words.values()):
                unasked = Blocked(UNASKED, judge="nobody")
                words = {action.call_id: unasked for action, _ in rest} | words
            decided = words | decided
        return [decided[action.call_id] for action, _ in asked]

    def _open(self, tx: Tx, asked: Sequence[tuple[PreparedCall, Ask]]) -> _Opened:
        """Decide what needs no question, and open the gate that asks about as much of the rest as
        its card shows."""
        opened, open_calls = _Opened({}), list[tuple[str, Asked]]()
        for action, ask in asked:
            about = action.tool, _targets(ask), action.binding, action.facts.session_id
            said, before = gates.answers_to(tx, *about)
            gate, digest = gates.asking(tx, action.call_id) or (None, "")
            if gate and digest != action.binding:
                opened.decided[action.call_id] = Blocked(_CHANGED)
            elif not gate and (decided := self._decided(tx, action, ask, said)):
                opened.decided[action.call_id] = decided
            else:
                opened.gate = opened.gate or gate
                open_calls.append((gate.id if gate else "", Asked(action, ask, before)))
        if not open_calls:
            return opened
        asking = opened.gate.id if opened.gate else ""
        rest = [one for gate_id, one in open_calls if gate_id == asking]
        if opened.gate is None:
            hour_ago = iso(self.person_wait.clock.now() - _HOUR)
            times = gates.opened_since(tx, KIND, hour_ago)
            if times >= self.limits.per_hour:
                no = Blocked(_TOO_MANY.format(times), judge="nobody")
                opened.decided |= {one.action.call_id: no for one in rest}
                return opened
        wait = timedelta(seconds=self.limits.wait_s)
        first = opened.gate.call_id if opened.gate else rest[0].action.call_id
        gate = self.person_wait.gate(KIND, self.owner, first, wait)
        waiting = self.asks_for if self.chat else None
        card, count = approval(gate.id, rest, self.sources(), waiting)
        if not count and not opened.gate:
            opened.decided[rest[0].action.call_id] = Blocked(_TOO_LONG)
            return opened
        if not opened.gate:
            rest = rest[:count]
        opened.shown = [(one.action, one.ask) for one in rest]
        options = answers([one.ask for one in rest])
        gate = replace(gate, question=card.text, options=options)
        opened.gate, opened.card = self.person_wait.open(tx, gate, card, self.chat)
        for action, ask, _ in rest:
            about = action.tool, _targets(ask), action.binding
            gates.ask_about(tx, opened.gate.id, action.call_id, *about)
        return opened

    def _decided(self, tx: Tx, action: PreparedCall, ask: Ask, said: str) -> _Decided | None:
        """What is decided of a call without asking, None = it has to be asked about; `said` is the
        owner's word to this very call in this session, "" = none."""
        pack, tool = action.facts.pack, action.tool
        granted = (
            gates.is_granted(tx, pack, tool, (one.kind, one.target), self.whose)
            for one in ask.always
        )
        if ask.always and all(granted):
            return Allowed(FOR_GOOD, "grant")
        if not is_attended(action.facts.origin):
            return Blocked(UNATTENDED, judge="nobody")
        if said == DENY:
            return Blocked(_DENIED, "the owner said no to it in this conversation", "owner")
        if said and ask.judge == "flow" and action.sink not in ALWAYS_ASKED:
            return Allowed(_BEFORE, "owner")
        return None

    async def _settled(
        self, gate: Gate, asked: Sequence[tuple[PreparedCall, Ask]]
    ) -> dict[str, _Decided]:
        """What the end of a gate says about the calls that it asked about."""
        by = f" ({gate.origin})" if gate.origin else ""
        said = f"the owner said {gate.answer}{by}"
        if gate.state != "answered":
            no = Blocked(_NO_ANSWER.format(f"{self.limits.wait_s:g}"), judge="nobody")
            if gate.answer == gates.NOT_REACHED:
                log.warning("owner_not_reached", pack=asked[0][0].facts.pack)
                no = Blocked(_NOT_REACHED, judge="nobody")
            return {action.call_id: no for action, _ in asked}
        if gate.answer == DENY:
            return {action.call_id: Blocked(_DENIED, said, judge="owner") for action, _ in asked}
        if gate.answer == ALWAYS:
            await self.person_wait.database.transact(
                lambda tx: self._grant(tx, asked), durable=True
            )
        return {action.call_id: Allowed(said, "owner") for action, _ in asked}

    def _grant(self, tx: Tx, asked: Sequence[tuple[PreparedCall, Ask]]) -> None:
        now = iso(self.person_wait.clock.now())
        for action, ask in asked:
            for one in ask.always:
                about = action.facts.pack, action.tool, (one.kind, one.target)
                gates.add_grant(tx, *about, self.whose, now)

    async def use(self, call_id: str) -> None:
        """Mark the yes to a call as used, before it begins."""
        await self.person_wait.database.transact(lambda tx: gates.use(tx, call_id), durable=True)


def _targets(ask: Ask) -> str:
    return "\n".join(one.target for one in ask.always)


def _told(reached: bool) -> Rendered:
    """What a person reads whose call the owner was asked about elsewhere."""
    return say("questions.owner-asked" if reached else "questions.owner-not-reached")
