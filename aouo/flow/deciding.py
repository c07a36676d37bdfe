"""Decides what waits for the owner, as they say at the local page: their taps are jobs like any."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

import structlog

from aouo.facts.errors import Refused
from aouo.facts.events import Button, Inbound, Person, Text
from aouo.facts.people import Owner
from aouo.facts.taps import encode
from aouo.facts.work import Gate
from aouo.flow.handlers.answering_gates import ANSWERED
from aouo.flow.questions.approving import KIND as APPROVAL
from aouo.store import gates, grants
from aouo.store.database import Database, Tx
from aouo.store.grants import Grant
from aouo.words import questions
from aouo.words.catalogue import text

log = structlog.get_logger()
WITHIN_S = 10.0
WORDS_CHARS = 4_096
"""Of an answer in words, as a message in a chat has."""


@dataclass(frozen=True, slots=True)
class Deciding:
    """Answers gates, and takes grants back, as the owner and as nobody else.

    `outcome` stores an inbound as a job, and returns what it ended with.
    """

    database: Database
    owner: Callable[[], Owner]
    outcome: Callable[[Inbound], Awaitable[str]]

    async def decide(self, gate_id: str, choice: str, words: str = "") -> str:
        """Answer a gate as a tap or words in its chat do; return what its message says then.

        Raises:
            LookupError: there is no such gate.
            ValueError: it offers no such choice, or takes no such words.
            Refused: it is over, or not the owner's to answer.
        """

        def look(tx: Tx) -> tuple[Gate | None, bool]:
            gate = gates.get(tx, gate_id)
            return gate, bool(gate and gates.is_off_record(tx, gate))

        gate, off_record = await self.database.read(look)
        if gate is None:
            raise LookupError(gate_id)
        if gate.state != "open":
            raise Refused(_over(gate, off_record=off_record))
        if why := undecidable(gate, self.owner(), off_record=off_record):
            raise Refused(why)
        said = _said(gate, words.strip()) if words else _tapped(gate, choice)
        inbound = Inbound(gate.address, Person(gate.person), said, origin="web")
        try:
            async with asyncio.timeout(WITHIN_S):
                outcome = await self.outcome(inbound)
        except TimeoutError:
            raise Refused(text("deciding.stored")) from None
        if outcome != ANSWERED:
            gate, off_record = await self.database.read(look)
            if gate and gate.state != "open":
                raise Refused(_over(gate, off_record=off_record))
            raise Refused(outcome)
        gate, _ = await self.database.read(look)
        return questions.settled(gate.kind, gate.state, gate.answer) if gate else ""

    async def revoke(self, grant_id: str) -> Grant:
        """Take a grant back: from the next call on it lets nothing pass.

        Raises:
            LookupError: there is no such grant.
        """
        grant = await self.database.transact(lambda tx: grants.revoke(tx, grant_id), durable=True)
        if grant is None:
            raise LookupError(grant_id)
        log.info("grant_revoked", pack=grant.pack, tool=grant.tool, origin="web")
        return grant


def undecidable(gate: Gate, owner: Owner, *, off_record: bool) -> str:
    """Return why the owner cannot decide an open gate at the page, "" = they can."""
    at_home = gate.address.platform in ("cli", "web")
    if off_record:
        return text("deciding.off-record")
    if not (at_home or owner.id == gate.person != ""):
        return text("deciding.not-yours")
    return ""


def choices(gate: Gate) -> list[tuple[str, str]]:
    """Return what a gate offers: (choice, what its button says)."""
    names = gate.options if gate.kind == APPROVAL else map(str, range(len(gate.options)))
    labels = [questions.label(gate.kind, option) for option in gate.options]
    return list(zip(names, labels, strict=True))


def _tapped(gate: Gate, choice: str) -> Button:
    """Return the tap that makes a choice. Raises: ValueError."""
    names = [name for name, _ in choices(gate)]
    if choice not in names:
        raise ValueError(text("deciding.no-choice"))
    number = names.index(choice)
    kind = "approval" if gate.kind == APPROVAL else "choice"
    return Button(
        encode(kind, gate.id, choice), questions.label(gate.kind, gate.options[number]), ""
    )


def _said(gate: Gate, words: str) -> Text:
    """Return what answers a question in words. Raises: ValueError."""
    if gate.kind == APPROVAL:
        raise ValueError(text("deciding.choices-only"))
    if not words:
        raise ValueError(text("deciding.no-words"))
    if len(words) > WORDS_CHARS:
        raise ValueError(text("deciding.too-long", most=WORDS_CHARS))
    return Text(words, answers=gate.id)


def _over(gate: Gate, *, off_record: bool) -> str:
    """Say how a gate ended, if that is kept."""
    if off_record or (gate.state == "answered" and not gate.answer):
        return text("deciding.over")
    how = questions.settled(gate.kind, gate.state, gate.answer)
    return text("deciding.over-so", how=how)
