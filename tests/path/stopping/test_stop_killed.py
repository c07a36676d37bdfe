"""Killed around a /stop: a message is either answered or said to be stopped, never both.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from pathlib import Path

from aouo.emulator import ADA
from tests.fakes.model_server import Body, Says
from tests.path.killing import Scenario, killed_anywhere
from tests.path.lives import Place

KILLED_AT = range(14, 46)
ANSWER = "Paris, and not Versailles. " * 8
STOPPED = ("Stopped.", "1 message that waited will not be answered.")


class AndStopped(Scenario):
    """The answer has begun to grow when the person has enough of it."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_shown(ANSWER[:20])
        await here.emulator.client.say(ADA, ADA, "/stop")

    def model(self, body: Body) -> Says:
        del body
        return Says(ANSWER, chunks=4, stall_after=2)

    async def live(self, here: Place) -> None:
        async def told() -> bool:
            obeyed = "SELECT 1 FROM jobs WHERE body LIKE '%stop%' AND settled_at <> ''"
            return here.is_dead or bool(here.rows(obeyed))

        await here.until(told)
        await here.settle([])
        await here.end()

    async def problems(self, here: Place) -> list[str]:
        shown = [one.text for one in await here.said()]
        found: list[str] = []
        answered, stopped = ANSWER.strip() in shown, bool({*shown} & {*STOPPED})
        if answered == stopped:
            found.append(f"answered: {answered}, said to be stopped: {stopped}")
        unheard = here.rows("SELECT 1 FROM deliveries WHERE state = 'unknown' AND kind = 'live'")
        half = [text for text in shown if text in ANSWER.strip() and text != ANSWER.strip()]
        if half and not unheard:
            found.append("the beginning of an answer stays as if it were one")
        if rows := here.rows("SELECT state, outcome, stopped FROM jobs WHERE settled_at = ''"):
            found.append(f"open jobs: {rows}")
        if rows := here.rows("SELECT status FROM turns WHERE status = 'open'"):
            found.append(f"open turns: {rows}")
        return [*found, f"the chat shows {shown}"] if found else []


SCENARIO = AndStopped(answers=(ANSWER,))


async def test_a_process_killed_around_a_stop_answers_or_stops(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
