"""A document outlives a process that is killed anywhere: it arrives, whole, and once.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.markdown.render import render
from aouo.outbound.answers import messages_of_answer
from tests.fakes.model_server import Body, Reply
from tests.path.going_out.test_long_answers import LONG, NAME, file_of
from tests.path.killing import START_UP, Scenario, killed, killed_at, shown_wrongly
from tests.path.lives import Place
from tests.sampling import places

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

    async def problems(self, here: Place) -> list[str]:
        shown = await here.said()
        found = [*shown_wrongly(self, here, [message.text for message in shown])]
        files = [file_of(here.emulator, m.raw) for m in shown if "document" in m.raw]
        if set(files) != {(NAME, WHOLE)}:
            found.append(f"the files are {files}")
        if here.rows("SELECT 1 FROM jobs WHERE state <> 'done'"):
            found.append("a job is open")
        return found


SCENARIO = Long(aside=(OPENING.text, *(part.text for part in render(WHOLE))))


async def test_a_process_killed_anywhere_around_a_document_sends_it_whole(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_at(
        places(KILLED_AT), lambda n: killed(SCENARIO, tmp_path / str(n), runner_port, n), at_once=4
    )
