"""Killed anywhere around a reload, no message is lost and the newest configuration is in force.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import pytest

from aouo.config.file import LAST_GOOD
from aouo.plumbing.home import write_atomically
from tests.fakes.model_server import Body, Reply, Says, words_of
from tests.path.killing import START_UP, Scenario, killed, killed_anywhere
from tests.path.lives import Place
from tests.path.world import ADA

KILLED_AT = range(1 + START_UP, 60, 3)
AMONG = "configuration"


@dataclass(frozen=True)
class Reloaded(Scenario):
    """The configuration is saved while one message is answered, and another one follows."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_stalled()
        tree = json.loads(here.home.config.read_text())
        tree["provider"]["model"] = "newer"
        write_atomically(here.home.config, json.dumps(tree))

        async def swapped() -> bool:
            return here.is_dead or len(here.lives) > 1 or "config_reloaded" in here.stderr

        await here.until(swapped)
        await here.emulator.client.say(ADA, ADA, self.said[1])
        here.model.release.set()

    def model(self, body: Body) -> Reply | str:
        asked = [words_of(m) for m in body["messages"] if m["role"] == "user"][-1]
        number = 1 if self.said[1] in asked else 0
        return Says(self.answers[number], stall_after=None if number else 0)

    async def problems(self, here: Place) -> list[str]:
        found = await super().problems(here)
        newest = [body["model"] for body in here.model.requests if "messages" in body][-1]
        good = (here.home.path / LAST_GOOD).read_text()
        if newest != "newer" or good != here.home.config.read_text():
            found.append(f"{newest} answered last, and the last good one is {good}")
        return found


SCENARIO = Reloaded(
    said=(
        "First, and at such a length that nothing which follows can be taken for a part of it",
        "Second, and at such a length that it is not taken for a beginning of something else",
    ),
    answers=("One.", "Two."),
)


async def test_a_process_killed_anywhere_around_a_reload_loses_no_message(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)


@pytest.mark.parametrize("step", [1, 2, 3])
async def test_a_process_killed_at_each_step_of_a_reload_starts_with_the_newest_configuration(
    tmp_path: Path, runner_port: int, step: int
) -> None:
    run = await killed(SCENARIO, tmp_path, runner_port, step, among=AMONG)

    assert (len(run.kills), run.problems) == (1, ())
    assert AMONG in run.kills[0]
