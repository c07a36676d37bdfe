"""An edit outlives a process that is killed anywhere: offered, taken and answered once.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.emulator import ADA
from aouo.words.catalogue import text
from tests.fakes.model_server import Body, Reply, words_of
from tests.path.killing import START_UP, Scenario, killed_anywhere
from tests.path.lives import Place

KILLED_AT = range(1 + START_UP, 60, 6)
OFFER = text("edits.too-late")


@dataclass(frozen=True)
class EditedLate(Scenario):
    """The person edits a message that is answered, and wants the new words answered."""

    async def person(self, here: Place) -> None:
        people = here.emulator.client
        asked = await people.say(ADA, ADA, self.said[0])
        await here.until_said(self.answers[0])
        await people.edit(ADA, ADA, asked.id, self.said[1])
        offer = await here.until_said(OFFER)
        await here.tap(offer, offer.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        return self.answers[self.said.index(asked)]

    async def problems(self, here: Place) -> list[str]:
        found = await super().problems(here)
        rows = here.rows("SELECT state, body FROM edits")
        if rows != [{"state": "taken", "body": ""}]:
            found.append(f"edits: {rows}")
        return found


SCENARIO = EditedLate(
    said=("What is the capital of France?", "What is the capital of Italy?"),
    answers=("Paris.", "Rome."),
    aside=(OFFER, text("edits.answering")),
)


async def test_a_process_killed_anywhere_around_an_edit_offers_once_and_answers_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
