"""Killed anywhere, a consolidation changes MEMORY.md once, and its line is done with once."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.history import JournalLine
from aouo.store import jobs, journal
from aouo.store.database import Tx, connect
from tests.fakes.model_server import Body, CallPart, Reply, Says
from tests.path.killing import Run, Scenario, killed, killed_anywhere, killed_at
from tests.path.lives import Place
from tests.path.world import ADA

KILLED_AT = range(1, 60, 2)
NOTE = "- lives in Bremen"
LONG_AGO = "2026-03-02T12:00:00.000+00:00"


@dataclass(frozen=True)
class Consolidated(Scenario):
    """The journal has one new line when the bot starts."""

    def prepare(self, here: Place) -> None:
        """A line that the journal has, of something that Ada said long ago."""
        config = json.loads(here.home.config.read_text())
        config["memory"] = {"journal": True, "consolidate": {"enabled": True, "every": "1m"}}
        here.home.config.write_text(json.dumps(config))
        address = ConversationAddress("tg", str(ADA))
        inbound = Inbound(address, Person(str(ADA)), Text("I have moved to Bremen"))
        with closing(connect(here.home.database)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            tx = Tx(connection)
            job_id = jobs.add(tx, address.lane, inbound, LONG_AGO)
            tx.run("UPDATE jobs SET state = 'done' WHERE id = ?", job_id)
            line = JournalLine(0, "2026-03-02", "lives in Bremen", "said", 1)
            journal.add(tx, "notes", f"tg_{ADA}", line, job_id, "call", LONG_AGO)
            connection.execute("COMMIT")

    async def person(self, here: Place) -> None:
        """Say nothing."""

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return "DONE"
        edit = {"do": "add", "sources": [1], "text": NOTE}
        return Says(calls=(CallPart("memory_edits", {"edits": [edit]}),))

    async def live(self, here: Place) -> None:
        async def over() -> bool:
            done = here.rows("SELECT 1 FROM jobs WHERE origin = 'consolidate' AND state = 'done'")
            started = '"event": "started"' in here.stderr.rpartition("killed: ")[2]
            return here.is_dead or bool(done and started)

        await here.until(over)
        await here.end()

    async def problems(self, here: Place) -> list[str]:
        """What does not agree with what was asked for, once each."""
        found: list[str] = []
        file = here.home.pack_folder("notes", f"tg_{ADA}") / "MEMORY.md"
        text = file.read_text(encoding="utf-8")
        if text.count(NOTE) != 1:
            found.append(f"the file holds {text!r}")
        versions = here.rows("SELECT origin, state, after FROM memory_versions ORDER BY id")
        if [(row["origin"], row["state"]) for row in versions] != [("consolidate", "done")]:
            found.append(f"the versions are {versions}")
        if (done := here.rows("SELECT upto FROM consolidations")) != [{"upto": 1}]:
            found.append(f"done with {done}")
        if calls := here.rows("SELECT name, state FROM tool_calls WHERE state <> 'done'"):
            found.append(f"calls without a result: {calls}")
        if jobs := here.rows("SELECT id, origin, state FROM jobs WHERE state <> 'done'"):
            found.append(f"open jobs: {jobs}")
        if len(here.rows("SELECT 1 FROM jobs WHERE origin = 'consolidate'")) != 1:
            found.append("it ran more than once")
        if shown := here.rows("SELECT kind FROM deliveries"):
            found.append(f"the chat was told: {shown}")
        return found


SCENARIO = Consolidated()


async def test_a_process_killed_anywhere_around_a_consolidation_makes_it_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)


async def test_a_process_killed_before_or_after_the_file_makes_it_once(
    tmp_path: Path, runner_port: int
) -> None:
    def at_the_file(n: int) -> Awaitable[Run]:
        return killed(SCENARIO, tmp_path / str(n), runner_port, n, among="memory file")

    runs = await killed_at((1, 2), at_the_file)

    assert [run.kills for run in runs] == [("before a memory file",), ("after a memory file",)]
