"""Where a tap was made and what its button stands for, read from the message that holds it."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from aouo.facts import callback_data
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import ButtonSpec
from aouo.store import deliveries
from aouo.store.database import Tx


def resolve(tx: Tx, inbound: Inbound, button: Button) -> Inbound:
    """The tap with the conversation, the label and the data that its message knows."""
    if not button.label:  # Telegram does not show the message any more, nor say its topic
        inbound = replace(inbound, address=_place(tx, inbound))
    if not callback_data.is_reference(button.data):
        return replace(inbound, content=button)
    found = _button(tx, inbound, button.data)
    if found is None:
        return replace(inbound, content=replace(button, lost=True))
    label = button.label or found.label
    tapped = replace(button, data=found.data, label=label, by_model=found.by_model)
    return replace(inbound, content=tapped)


def _place(tx: Tx, inbound: Inbound) -> ConversationAddress:
    row = deliveries.of_message(tx, inbound.address, inbound.message_id)
    return row.address if row else inbound.address


def _button(tx: Tx, inbound: Inbound, data: str) -> ButtonSpec | None:
    """The button that a reference names, if its message is in this conversation.

    What a closed topic could not take stands in the chat around it, perhaps unknown to us.
    """
    referred = callback_data.referred(data)
    row = deliveries.get(tx, referred[0]) if referred else None
    if row is None or referred is None:
        return None
    if inbound.address not in (row.address, row.address.around):
        return None
    buttons = list(chain.from_iterable(row.message.buttons))
    return buttons[referred[1]] if referred[1] < len(buttons) else None
