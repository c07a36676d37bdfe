"""Asks the owner, in their private chat, to allow a tool call, and waits for the answer."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import TypeAlias

from aouo.config.sections import Approvals
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.ports import Rendered, iso
from aouo.facts.work import Delivery, Gate
from aouo.flow.waiting import PersonWait
from aouo.guard.prepared import (
    ALWAYS,
    DENY,
    FOR_GOOD,
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
from aouo.words.sentences import approval

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


_Opened: TypeAlias = Allowed | Blocked | tuple[Gate, Delivery]


@dataclass(frozen=True, slots=True)
class Approving:
    """One turn's way to ask the owner; see `guard.approval.Approve`.

    `owner` is their id, `chat` their private one if the turn is elsewhere, `asks_for` whose turn it
    is.

    The gate holds the digest of the call and of where its paths lead, and only that is allowed
    by it. A yes is marked as used before the call begins, so that after a crash it is known
    whether the call may have happened.
    """

    person_wait: PersonWait
    owner: str
    chat: ConversationAddress | None
    asks_for: Inbound
    limits: Approvals

    async def approve(self, action: PreparedCall, ask: Ask) -> Allowed | Blocked:
        """Wait for the owner's word; silence, and nobody being there, is a no."""
        if not is_attended(action.facts.origin):
            return Blocked(UNATTENDED, judge="nobody")
        opened = await self.person_wait.database.transact(
            lambda tx: self._open(tx, action, ask), durable=True
        )
        if isinstance(opened, Allowed | Blocked):
            return opened
        gate, card = opened
        gate = await self.person_wait.answered(gate, card, _told if self.chat else None)
        log.info(
            "approval_settled",
            tool=action.tool,
            state=gate.state,
            answer=gate.answer,
            origin=gate.origin,
        )
        if gate.state == "answered":
            return await self._act(action, ask, gate)
        if gate.answer == gates.NOT_REACHED:
            log.warning("owner_not_reached", tool=action.tool, pack=action.facts.pack)
            return Blocked(_NOT_REACHED, judge="nobody")
        return Blocked(_NO_ANSWER.format(f"{self.limits.wait_s:g}"), judge="nobody")

    def _open(self, tx: Tx, action: PreparedCall, ask: Ask) -> _Opened:
        """The gate that asks, or why there is none to open."""
        known = gates.of_call(tx, action.call_id)
        if known and known.digest != action.binding:
            return Blocked(_CHANGED)
        if not known:
            if ask.folder and gates.is_granted(tx, action.facts.pack, action.tool, ask.folder):
                return Allowed(FOR_GOOD, "grant")
            hour_ago = iso(self.person_wait.clock.now() - _HOUR)
            asked = gates.opened_since(tx, KIND, hour_ago)
            if asked >= self.limits.per_hour:
                return Blocked(_TOO_MANY.format(asked), judge="nobody")
        wait = timedelta(seconds=self.limits.wait_s)
        gate = self.person_wait.gate(KIND, self.owner, action.call_id, wait)
        card = approval(gate.id, action, ask, self.asks_for if self.chat else None)
        gate = replace(gate, question=card.text, options=answers(ask), digest=action.binding)
        return self.person_wait.open(tx, gate, card, self.chat)

    async def _act(self, action: PreparedCall, ask: Ask, gate: Gate) -> Allowed | Blocked:
        by = f" ({gate.origin})" if gate.origin else ""
        said = f"the owner said {gate.answer}{by}"
        if gate.answer == DENY:
            return Blocked(_DENIED, said, judge="owner")
        now = iso(self.person_wait.clock.now())

        def write(tx: Tx) -> None:
            gates.use(tx, gate.id)
            if gate.answer == ALWAYS and ask.folder:
                gates.add_grant(tx, action.facts.pack, action.tool, ask.folder, gate.person, now)

        await self.person_wait.database.transact(write, durable=True)
        return Allowed(said, "owner")


def _told(reached: bool) -> Rendered:
    """What a person reads whose call the owner was asked about elsewhere."""
    return say("questions.owner-asked" if reached else "questions.owner-not-reached")
