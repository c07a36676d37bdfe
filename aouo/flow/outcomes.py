"""A card that asked becomes what came of it: answered, not answered in time, or stopped."""

from __future__ import annotations

from collections.abc import Sequence

from aouo.address import ConversationAddress
from aouo.outbound import choices, wording
from aouo.store import deliveries, gates
from aouo.store.database import Tx
from aouo.store.deliveries import Delivery
from aouo.store.gates import Gate


def show(tx: Tx, gate: Gate, now: str) -> Delivery | None:
    """Turn the message of a settled gate into its outcome; None = it was never shown."""
    asked = deliveries.get(tx, gate.delivery_id)
    if not asked or not asked.message_id:
        return None
    said = choices.chosen(asked.message, wording.settled(gate.kind, gate.state, gate.answer))
    return deliveries.add(
        tx, asked.address, "notice", said, now, turn_id=gate.turn_id, edits=asked.message_id
    )


def close(tx: Tx, turn_id: str, now: str) -> list[Delivery]:
    """The turn is over: its open questions are, too, and their messages say so."""
    return _shown(tx, gates.close_of_turn(tx, turn_id), now)


def close_asked(tx: Tx, address: ConversationAddress, before: int, now: str) -> list[Delivery]:
    """A turn is stopped by the job `before`: what is said behind that answers none of its
    questions, however long the turn takes to end."""
    return _shown(tx, gates.close_asked(tx, address, before), now)


def _shown(tx: Tx, closed: Sequence[Gate], now: str) -> list[Delivery]:
    return [row for gate in closed if (row := show(tx, gate, now))]
