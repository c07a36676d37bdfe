"""A turn that waits on its person: asks, parks, and goes on when the answer is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from aouo.facts.errors import ToolFailed
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import Choose, encode
from aouo.facts.work import Gate
from aouo.flow.questions.patience import Patience
from aouo.outbound.markdown.render import render

EXPIRES_AFTER = timedelta(hours=24)


class Asking:
    """One turn's way to ask its person; see `tools.registry.Asker`."""

    def __init__(self, patience: Patience, person: str) -> None:
        self._patience = patience
        self._person = person

    async def ask(self, call_id: str, question: str, options: Sequence[str]) -> str:
        """Return the chosen option or the person's own words.

        Raises:
            ToolFailed: nobody answered in time, the question was closed, or it cannot be shown.
        """
        patience = self._patience
        gate = patience.gate("clarify", self._person, call_id, EXPIRES_AFTER)
        gate = replace(gate, question=question, options=tuple(options))
        card = _card(gate)
        gate, row = await patience.database.transact(
            lambda tx: patience.ask(tx, gate, card), durable=True
        )
        gate = await patience.answered(gate, row)
        if gate.state == "answered":
            return gate.answer
        raise ToolFailed("The person did not answer; the question is closed.")


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
        (ButtonSpec(label, encode(Choose(gate.id, number))),)
        for number, label in enumerate(gate.options)
    )
    return Rendered(part.text, part.entities, rows)
