"""A command whose turn does the rest outlives a process that is killed anywhere.

The rest of the matrix is in `tests/path/lanes/test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from aouo.emulator import ADA
from tests.path.killing import START_UP, Scenario, killed_anywhere
from tests.path.lives import Place

KILLED_AT = range(1 + START_UP, 44, 3)


@dataclass(frozen=True)
class Commanded(Scenario):
    """The person sends a command of the owner's, which leaves its words to a turn."""

    def prepare(self, here: Place) -> None:
        here.home.commands.mkdir()
        (here.home.commands / "brief.md").write_text("Sum up.\n")

    async def person(self, here: Place) -> None:
        await here.emulator.client.say(ADA, ADA, "/brief the day")

    async def problems(self, here: Place) -> list[str]:
        carried = here.rows("SELECT id FROM jobs WHERE carried <> ''")
        return [*await super().problems(here), *map(str, carried)]


SCENARIO = Commanded(
    said=("Sum up.\n\n# What was written after the command\n\nthe day",), answers=("All quiet.",)
)


async def test_a_process_killed_anywhere_answers_a_command_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
