"""A tap whose data is only kept by us outlives a process that is killed anywhere.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fakes.model_server import Body, CallPart, Reply, Says, words_of
from tests.path.killing import START_UP, Scenario, killed_anywhere
from tests.path.lives import Place

KILLED_AT = range(1 + START_UP, 64, 5)
LONG = "Повторить слова из набора «Путешествия по северным городам», урок 12"
SHOWN = "Choose what comes next"


@dataclass(frozen=True)
class Tapped(Scenario):
    """The model shows a button with more than Telegram takes; the person taps it."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        shown = await here.until_said(SHOWN)
        await here.until_said(self.answers[0])
        await here.tap(shown, shown.buttons[0].data)

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        if asked == self.said[1]:
            return self.answers[1]
        wish = {"type": "keyboard", "text": SHOWN, "buttons": [[f"Again|{LONG}"]]}
        return Says(calls=(CallPart("msg", wish),))


SCENARIO = Tapped(
    said=("What is there to do?", f"[callback] {LONG}"),
    answers=("That much.", "Again, then."),
    aside=(SHOWN, f"{SHOWN}\n→ Again"),
)


async def test_a_process_killed_anywhere_around_a_tap_hears_it_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
