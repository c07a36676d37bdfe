"""Edits a question's message to show its answer, that nobody answered, or that it was stopped."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from aouo.facts.address import ConversationAddress
from aouo.facts.work import Delivery, Gate
from aouo.outbound import choices
from aouo.store import deliveries, gates
from aouo.store.database import Tx
from aouo.words import questions


def waits_key(gate: Gate) -> str:
    """The key of the line that tells a person of a gate which somebody else has to answer."""
    return f"{gate.call_id}:waits"


def show(tx: Tx, gate: Gate, now: str) -> list[Delivery]:
    """Turn the message of a settled gate into its outcome, and the line of whoever waits for it."""
    outcome = questions.settled(gate.kind, gate.state, gate.answer)
    cards = (deliveries.get(tx, gate.delivery_id), deliveries.keyed(tx, waits_key(gate)))
    return [row for card in cards if card for row in become(tx, card, outcome, now)]


def become(tx: Tx, card: Delivery, outcome: str, now: str) -> list[Delivery]:
    """Let a card show its outcome; what nobody has begun to send is not sent."""
    if card.message_id:
        said = choices.chosen(card.message, outcome)
        edit = deliveries.add(
            tx, card.address, "notice", said, now, turn_id=card.turn_id, edits=card.message_id
        )
        return [edit]
    if card.state == "queued":
        deliveries.mark(tx, card.id, "dropped", now)
        return [replace(card, state="dropped")]
    return []


def close(tx: Tx, turn_id: str, now: str) -> list[Delivery]:
    """The turn is over: its open questions are, too, and their messages say so."""
    return _shown(tx, gates.close_of_turn(tx, turn_id, now), now)


def close_asked(tx: Tx, address: ConversationAddress, before: int, now: str) -> list[Delivery]:
    """A turn is stopped by the job `before`: what is said after that answers none of its
    questions, however long the turn takes to end."""
    return _shown(tx, gates.close_asked(tx, address, before, now), now)


def _shown(tx: Tx, closed: Sequence[Gate], now: str) -> list[Delivery]:
    return [row for gate in closed for row in show(tx, gate, now)]
