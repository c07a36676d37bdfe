"""Resolves a tap's `kept_<delivery>:<n>` reference to its conversation and its button's data."""

from __future__ import annotations

from dataclasses import replace
from itertools import chain

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound
from aouo.facts.ports import ButtonSpec
from aouo.store import deliveries
from aouo.store.database import Tx


def resolve(tx: Tx, inbound: Inbound, button: Button) -> Inbound:
    """Return the tap with the conversation, the label and the data that its delivery holds."""
    if not button.label:  # Telegram does not show the message any more, nor say its topic
        inbound = replace(inbound, address=_place(tx, inbound))
    found = _button(tx, inbound, button)
    if found is None:
        return replace(inbound, content=button)
    label = button.label or found.label
    tapped = replace(button, data=found.data, label=label, by_model=found.by_model)
    return replace(inbound, content=tapped)


def _place(tx: Tx, inbound: Inbound) -> ConversationAddress:
    row = deliveries.of_message(tx, inbound.address, inbound.message_id)
    return row.address if row else inbound.address


def _button(tx: Tx, inbound: Inbound, tapped: Button) -> ButtonSpec | None:
    """Return the button that a reference names, if its delivery is of this conversation.

    A message that a closed topic refused stands in the chat around it, and its row may not say so.
    """
    tap = tapped.tap
    if tap.name != "kept":
        return None
    delivery_id, number = map(int, tap.values)
    row = deliveries.get(tx, delivery_id)
    if row is None:
        return None
    if inbound.address not in (row.address, row.address.around):
        return None
    buttons = list(chain.from_iterable(row.message.buttons))
    return buttons[number] if number < len(buttons) else None
