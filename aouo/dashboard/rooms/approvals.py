"""Answers what waits for a person's answer, and takes the owner's."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

from aouo.dashboard.endpoints import Endpoint, NotFound
from aouo.dashboard.excerpts import beginning, excerpt
from aouo.dashboard.shown import Shown
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound
from aouo.facts.work import Gate
from aouo.flow.deciding import choices, undecidable
from aouo.flow.questions.approving import KIND as APPROVAL
from aouo.plumbing.verbs import BadRequest, Facts
from aouo.store import open_gates
from aouo.store.open_gates import Opened

_MOST = 100
_LABEL_CHARS = 200
_AT_REST = "No bot runs that could take the answer."


def approvals(shown: Shown) -> Sequence[Endpoint]:
    """Return the endpoints about open questions."""

    def told(found: Sequence[Opened]) -> list[Facts]:
        return [_told(shown, opened) for opened in found]

    async def every() -> Facts:
        """What waits for a person's answer."""
        async with shown.snapshot() as snapshot:
            found = await snapshot.ask(open_gates.open_gates(_MOST))
            number = await snapshot.ask(open_gates.how_many())
        return {"number": number, "open": await asyncio.to_thread(told, found)}

    async def count() -> Facts:
        """How much waits for a person's answer."""
        async with shown.snapshot() as snapshot:
            return {"number": await snapshot.ask(open_gates.how_many())}

    async def decide(gate: str, choice: str = "", words: str = "") -> Facts:
        """Decide as the owner; 409 if it was decided before, or is not the owner's to decide.

        `choice` is the `value` of one; a question is answered in `words`.
        """
        try:
            return {"outcome": await shown.bot.app.deciding.decide(gate, choice, words)}
        except LookupError:
            raise NotFound("There is no such question.") from None
        except ValueError as error:
            raise BadRequest(str(error)) from None

    return (
        Endpoint("GET", "/api/approvals", every),
        Endpoint("GET", "/api/approvals/number", count),
        Endpoint("POST", "/api/approvals/{gate}", decide, body=True),
    )


def _told(shown: Shown, opened: Opened) -> Facts:
    """Return what is asked, with the words of its card; off the record only that it is."""
    gate, problem, redactor = opened.gate, _why_not(shown, opened), shown.redactor()
    facts: Facts = {
        "id": gate.id,
        "conversation": str(gate.address),
        "since": opened.since,
        "until": gate.expires_at,
        "off_record": opened.off_record,
        "why_not": problem,
        "choices": [],
    }
    if opened.off_record:
        return facts
    offered = [] if problem else choices(gate)
    return facts | {
        "kind": "approval" if gate.kind == APPROVAL else "question",
        "question": excerpt(redactor, gate.question, opened.question_bytes),
        "pack": opened.pack,
        "tool": opened.tool,
        "arguments": excerpt(redactor, opened.arguments, opened.arguments_bytes),
        "turn_id": gate.turn_id,
        "asked": "" if gate.kind == APPROVAL else _asked(opened.inbound, gate),
        "place": _place(opened.inbound, gate.address),
        "choices": [
            {"value": value, "label": beginning(redactor, text, _LABEL_CHARS)}
            for value, text in offered
        ],
    }


def _why_not(shown: Shown, opened: Opened) -> str:
    """Return why it cannot be decided at the page, "" = it can."""
    if shown.runtime is None:
        return _AT_REST
    owner = shown.runtime.app.generations.now.owner
    return undecidable(opened.gate, owner, off_record=opened.off_record)


def _asked(inbound: Inbound, gate: Gate) -> str:
    """Say who is asked; "you" is whoever sits at this machine."""
    if gate.address.platform in ("cli", "web"):
        return "you"
    known = inbound.person.name if inbound.person.id == gate.person else ""
    return known or gate.person


def _place(inbound: Inbound, address: ConversationAddress) -> str:
    """Say where the turn is that asks, as people call it."""
    if address.platform != "tg":
        return "the terminal" if address.platform == "cli" else "this page"
    if not inbound.group:
        return f"the private chat of {inbound.person.name or address.chat_id}"
    return f"{inbound.title}, {inbound.group}" if inbound.title else inbound.group
