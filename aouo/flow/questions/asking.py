"""A turn that waits on its person: asks, parks, and goes on when the answer is there."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from aouo.facts.errors import ToolFailed
from aouo.facts.ports import ButtonSpec, Rendered
from aouo.facts.taps import Choose, encode
from aouo.facts.work import Gate
from aouo.flow.questions.waiting import PersonWait
from aouo.outbound.markdown.render import render

EXPIRES_AFTER = timedelta(hours=24)


class Asking:
    """One turn's way to ask its person; see `tools.registry.Asker`."""

    def __init__(self, person_wait: PersonWait, person: str) -> None:
        self._person_wait = person_wait
        self._person = person

    async def ask(self, call_id: str, question: str, options: Sequence[str]) -> str:
        """Return the chosen option or the person's own words.

        Raises:
            ToolFailed: nobody answered in time, the question was closed, or it cannot be shown.
        """
        person_wait = self._person_wait
        gate = person_wait.gate("clarify", self._person, call_id, EXPIRES_AFTER)
        gate = replace(gate, question=question, options=tuple(options))
        card = _card(gate)
        gate, row = await person_wait.database.transact(
            lambda tx: person_wait.ask(tx, gate, card), durable=True
        )
        gate = await person_wait.answered(gate, row)
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
