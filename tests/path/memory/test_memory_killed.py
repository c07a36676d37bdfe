"""Killed anywhere, a memory file and its versions agree, and a first conversation ends once.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from tests.fakes.model_server import Body, CallPart, Reply, Says
from tests.path.killing import START_UP, Scenario, killed, killed_at
from tests.path.lives import Place
from tests.path.world import ADA
from tests.sampling import places

KILLED_AT = range(1 + START_UP, 90, 3)
AT_THE_FILE = range(36, 44)
"""Each place around the two in which the file is written."""
KEPT = "Kept both."
TEA, MILK = "- tea", "- milk"


def _remember(content: str) -> CallPart:
    return CallPart("memory", {"target": "memory", "action": "append", "content": content})


@dataclass(frozen=True)
class Remembered(Scenario):
    """The model keeps two lines and ends the first conversation; the person undoes the second."""

    async def person(self, here: Place) -> None:
        await super().person(here)
        await here.until_said(KEPT)
        await here.emulator.client.say(ADA, ADA, "/memory undo")

    def model(self, body: Body) -> Reply | str:
        results = sum(message["role"] == "tool" for message in body["messages"])
        if results == 0:
            return Says(calls=(_remember(TEA),))
        if results == 1:
            return Says(calls=(_remember(MILK), CallPart("onboarding_done")))
        return KEPT

    async def live(self, here: Place) -> None:
        await here.settle([KEPT])

        async def undone() -> bool:
            done = here.rows("SELECT 1 FROM jobs WHERE state = 'done' AND body LIKE '%undo%'")
            unsent = here.rows("SELECT 1 FROM deliveries WHERE state IN ('queued', 'sending')")
            return here.is_dead or bool(done and not unsent)

        await here.until(undone)
        await here.end()

    async def problems(self, here: Place) -> list[str]:
        """What does not agree with what was asked for, once each."""
        found: list[str] = []
        file = here.home.pack_folder("notes", f"tg_{ADA}") / "MEMORY.md"
        text = file.read_text(encoding="utf-8")
        if (text.count(TEA), text.count(MILK)) != (1, 0):
            found.append(f"the file holds {text!r}")
        versions = here.rows("SELECT origin, state, after FROM memory_versions ORDER BY id")
        told = [(row["origin"], row["state"]) for row in versions]
        if told != [("tool", "done"), ("tool", "undone"), ("undo", "done")]:
            found.append(f"the versions are {told}")
        elif versions[-1]["after"] != text:
            found.append(f"the newest version is {versions[-1]}")
        first = here.rows("SELECT state, turns, sessions FROM onboarding")
        if first != [{"state": "done", "turns": 1, "sessions": 1}]:
            found.append(f"the first conversation is {first}")
        if calls := here.rows("SELECT name, state FROM tool_calls WHERE state <> 'done'"):
            found.append(f"calls without a result: {calls}")
        if jobs := here.rows("SELECT id, state FROM jobs WHERE state <> 'done'"):
            found.append(f"open jobs: {jobs}")
        return found


SCENARIO = Remembered(said=("I like tea and milk",), answers=(KEPT,))


async def test_a_process_killed_anywhere_around_a_change_of_memory_makes_it_once(
    tmp_path: Path, runner_port: int
) -> None:
    runs = await killed_at(
        sorted({*places(KILLED_AT), *AT_THE_FILE}),
        lambda n: killed(SCENARIO, tmp_path / str(n), runner_port, n),
    )
    reached = [where for run in runs for where in run.kills]

    assert any("memory file" in where for where in reached), reached
