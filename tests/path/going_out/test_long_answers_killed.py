"""A document outlives a process that is killed anywhere: it arrives, whole, and once.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.outbound.answers import messages_of_answer
from aouo.outbound.markdown.render import render
from tests.fakes.model_server import Body, Reply
from tests.path.going_out.test_long_answers import LONG, NAME, file_of
from tests.path.lanes.test_kill_matrix import (
    START_UP,
    Run,
    Scenario,
    _live_through,
    _shown_wrongly,
    killed_at,
)
from tests.path.lives import Place, place

KILLED_AT = range(1 + START_UP, 33, 4)
WHOLE = f"{LONG}\n\n{LONG}"
OPENING, DOCUMENT = messages_of_answer(WHOLE, tail="", max_parts=6)


@dataclass(frozen=True)
class Long(Scenario):
    """The model answers at length."""

    def model(self, body: Body) -> Reply | str:
        return WHOLE

    def answer(self, number: int) -> str:
        return DOCUMENT.text


SCENARIO = Long(aside=(OPENING.text, *(part.text for part in render(WHOLE))))


async def _wrong(here: Place) -> list[str]:
    shown = await here.said()
    found = [*_shown_wrongly(SCENARIO, here, [message.text for message in shown])]
    files = [file_of(here.emulator, m.raw) for m in shown if "document" in m.raw]
    if set(files) != {(NAME, WHOLE)}:
        found.append(f"the files are {files}")
    if here.rows("SELECT 1 FROM jobs WHERE state <> 'done'"):
        found.append("a job is open")
    return found


async def _killed(folder: Path, kill_at: int, port: int) -> Run:
    async with place(folder, SCENARIO.packs, SCENARIO.model, runner_port=port) as here:
        try:
            await _live_through(SCENARIO, here, (kill_at,))
            problems = await _wrong(here)
        except* (TimeoutError, AssertionError) as errors:
            problems = [f"{errors.exceptions!r}", here.stderr[-2000:]]
        return Run((kill_at,), tuple(here.kills), tuple(problems))


async def test_a_process_killed_anywhere_around_a_document_sends_it_whole(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        return await _killed(tmp_path / str(number), number, runner_port)

    await killed_at(KILLED_AT, killed, at_once=4)
