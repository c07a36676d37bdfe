"""A command whose turn does the rest outlives a process that is killed anywhere.

The rest of the matrix is in `tests/path/lanes/test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.emulator import ADA
from tests.path.lanes.test_kill_matrix import (
    START_UP,
    Run,
    Scenario,
    _live_through,
    _problems,
    killed_at,
)
from tests.path.lives import Place, place

KILLED_AT = range(1 + START_UP, 44, 3)


@dataclass(frozen=True)
class Commanded(Scenario):
    """The person sends a command of the owner's, which leaves its words to a turn."""

    async def person(self, here: Place) -> None:
        await here.emulator.client.say(ADA, ADA, "/brief the day")


SCENARIO = Commanded(
    said=("Sum up.\n\n# What was written after the command\n\nthe day",), answers=("All quiet.",)
)


async def _killed(folder: Path, kill_at: int, port: int) -> Run:
    async with place(folder, SCENARIO.packs, SCENARIO.model, runner_port=port) as here:
        here.home.commands.mkdir()
        (here.home.commands / "brief.md").write_text("Sum up.\n")
        try:
            await _live_through(SCENARIO, here, (kill_at,))
            problems = await _problems(SCENARIO, here)
            problems += [str(row) for row in here.rows("SELECT id FROM jobs WHERE carried <> ''")]
        except* (TimeoutError, AssertionError) as errors:
            problems = [f"{errors.exceptions!r}", here.stderr[-2000:]]
        return Run((kill_at,), tuple(here.kills), tuple(problems))


async def test_a_process_killed_anywhere_answers_a_command_once(
    tmp_path: Path, runner_port: int
) -> None:
    async def killed(number: int) -> Run:
        return await _killed(tmp_path / str(number), number, runner_port)

    await killed_at(KILLED_AT, killed)
