"""What happens by itself while the process is killed: schedules, memory's upkeep, a new
configuration."""

from __future__ import annotations

import json
from contextlib import closing
from datetime import UTC, datetime

from aouo.config.file import _LAST_GOOD
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.ports import Rendered
from aouo.facts.records import JournalLine
from aouo.plumbing.home import write_atomically
from aouo.store import jobs, journal, kept_reports, schedules, watches
from aouo.store.database import Tx, connect
from tests.fakes.model_server import Body, CallPart, Reply, Says
from tests.path.killing import START_UP, Row, Scenario
from tests.path.kills.answers import FIRST_AND_SECOND, Queued
from tests.path.lives import Place
from tests.path.schedules.scheduled import reminder
from tests.path.world import ADA

REMINDER = "Remind me to water the plants"
TOLD = (
    "[a schedule runs this by itself; nobody is there to answer questions. Your answer goes to the "
    "person. If there is nothing to tell them, answer [SILENT] and nothing else]\n" + REMINDER
)
LONG_AGO = "2026-01-01T00:00:00.000+00:00"
LATE = "The pump is late."
DIGEST = "2 messages waited for you:"
NOTE = "- lives in Bremen"


class Due(Scenario):
    """A reminder is due when the bot starts; nobody says anything."""

    def prepare(self, here: Place) -> None:
        row = reminder(datetime.now(UTC), 0)  # noqa: TID251 - as the processes do
        with closing(connect(here.home.database)) as connection:
            schedules.add(Tx(connection), row, row.since)

    async def person(self, here: Place) -> None:
        """Says nothing."""

    def history(self) -> list[tuple[str, str]]:
        ran = [("user", TOLD), ("assistant", self.answers[-1])]
        about = f"[by itself, not from the person: 'plants' was due: {REMINDER}]"
        return [*ran, ("user", about), ("assistant", self.answers[-1])]


class DueAndShowing(Due):
    """The reminder shows a message before its answer: both come together."""

    def model(self, body: Body) -> Reply | str:
        if body["messages"][-1]["role"] == "tool":
            return self.answers[0]
        return Says(calls=(CallPart("msg", {"type": "text", "text": self.shown[0]}),))


class DueMeanwhile(Due):
    """The reminder's result is there while a message is answered, and waits for that turn."""

    def model(self, body: Body) -> Reply | str:
        if "Remind me" in str(body["messages"][-1]["content"]):
            return self.answers[1]
        return Says(self.answers[0], stall_after=0)

    async def person(self, here: Place) -> None:
        await Scenario.person(self, here)
        await here.until_stalled()
        await here.until(lambda: self._waits(here))
        here.model.release.set()

    async def _waits(self, here: Place) -> bool:
        """Whether the result waits, or the first life is over."""
        ended = here.rows("SELECT 1 FROM schedule_runs WHERE state = 'done'")
        return bool(ended) or here.is_dead or len(here.lives) > 1

    def answer(self, number: int) -> str:
        return self.answers[number] + (self.badge if number else "")

    def history(self) -> list[tuple[str, str]]:
        said = [("user", self.said[0]), ("assistant", self.answers[0])]
        return sorted([*said, *Due.history(self)])


class Unasked(Scenario):
    """A heartbeat and a digest are due when the bot starts; nobody says anything."""

    def prepare(self, here: Place) -> None:
        """A heartbeat and a digest are due as soon as a life begins, and then for a day no more."""
        config = json.loads(here.home.config.read_text())
        config["heartbeat"] = {"enabled": True, "every": "1d", "quiet_hours": ""}
        here.home.config.write_text(json.dumps(config))
        here.home.heartbeat.write_text("Tell me when the pump is late\n")
        with closing(connect(here.home.database)) as connection:
            connection.execute("BEGIN IMMEDIATE")
            tx, chat = Tx(connection), ConversationAddress("tg", str(ADA))
            watches.note_tick(tx, "heartbeat", LONG_AGO)
            for text in ("One", "Two"):
                said = (Rendered(text),)
                when = (LONG_AGO, LONG_AGO)
                kept_reports.keep(tx, str(ADA), chat, "pump", text, said, *when, turn_id=text)
            connection.execute("COMMIT")

    async def person(self, here: Place) -> None:
        """Say nothing."""

    async def problems(self, here: Place) -> list[str]:
        found: list[str] = []
        ran = here.rows("SELECT body FROM jobs WHERE origin = 'heartbeat'")
        asked = [row for row in ran if json.loads(row["body"])["content"]["kind"] == "Triggered"]
        if len(asked) != 1:
            found.append(f"{len(asked)} heartbeats")
        history = here.rows(
            f"SELECT session_id FROM messages WHERE text = '{LATE}' AND visible = 1"
        )
        if len([row for row in history if row["session_id"].startswith("chat/")]) != 1:
            found.append(f"in history: {history}")
        shown = [one.text for one in await here.said()]
        for text in (LATE, DIGEST):
            times = sum(one.startswith(text) for one in shown)
            if times != 1 and not here.cut_off:
                found.append(f"{times} times: {text}")
        if left := here.rows("SELECT id FROM kept_reports WHERE due_at IS NOT NULL"):
            found.append(f"still kept: {left}")
        if len(here.rows("SELECT id FROM deliveries WHERE key LIKE 'digest:%'")) != 1:
            found.append("not one digest")
        return found


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


class Reloaded(Queued):
    """The configuration is saved while one message is answered, and another one follows."""

    async def person(self, here: Place) -> None:
        await Scenario.person(self, here)
        await here.until_stalled()
        tree = json.loads(here.home.config.read_text())
        tree["provider"]["model"] = "newer"
        lives = len(here.lives)  # one that begins after the save needs no reload
        write_atomically(here.home.config, json.dumps(tree))

        async def swapped() -> bool:
            return here.is_dead or len(here.lives) > lives or "config_reloaded" in here.stderr

        await here.until(swapped)
        await here.emulator.client.say(ADA, ADA, self.said[1])
        here.model.release.set()

    async def problems(self, here: Place) -> list[str]:
        found = await super().problems(here)
        newest = [body["model"] for body in here.model.requests if "messages" in body][-1]
        good = (here.home.path / _LAST_GOOD).read_text()
        if newest != "newer" or good != here.home.config.read_text():
            found.append(f"{newest} answered last, and the last good one is {good}")
        return found


RELOADED = Reloaded(said=FIRST_AND_SECOND, answers=("One.", "Two."))
ROWS = {
    "a fired schedule": Row(
        Due(said=(), answers=("Water the plants!",), badge="\n\n— ⏰ plants", runs=("done",))
    ),
    "a fired schedule that shows a message": Row(
        DueAndShowing(
            said=(),
            shown=("Look at this.",),
            answers=("Water the plants!",),
            badge="\n\n— ⏰ plants",
            runs=("done",),
        )
    ),
    "a result that waits for a turn": Row(
        DueMeanwhile(
            answers=("Paris.", "Water the plants!"),
            badge="\n\n— ⏰ plants",
            runs=("done",),
            ordered=False,
        )
    ),
    "a heartbeat and a digest": Row(
        Unasked(packs=(), answers=(LATE,), badge="\n\n— ⏰ Heartbeat"), at=range(1, 34, 2)
    ),
    "a consolidation": Row(Consolidated(), at=range(1, 60, 2)),
    "a consolidation's file": Row(Consolidated(), at=(1, 2), among="memory file"),
    "a reload": Row(RELOADED, at=range(1 + START_UP, 60, 3)),
    "each step of a reload": Row(RELOADED, at=(1, 2, 3), among="configuration"),
}
