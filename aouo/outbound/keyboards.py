"""Makes the data of buttons fit Telegram's limit. Pure."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import decode, encode, fits


def sendable(message: Rendered, delivery_id: int) -> Rendered:
    """Return the message with 1 to 64 bytes of data on every button.

    Other data is replaced by a reference to the delivery's row, which holds it, so that a tap
    finds it as long as the row is kept, also in another process.
    """
    if not message.buttons:
        return message
    numbers = count()
    rows = tuple(
        tuple(_sendable(button, delivery_id, next(numbers)) for button in row)
        for row in message.buttons
    )
    return replace(message, buttons=rows)


def _sendable(button: ButtonSpec, delivery_id: int, number: int) -> ButtonSpec:
    forged = button.by_model and decode(button.data).name != "text"
    if fits(button.data) and not forged:
        return button
    return replace(button, data=encode("kept", delivery_id, number))
