"""A heartbeat and a digest outlive a process that is killed anywhere: none is lost, none is twice.

The rest of the matrix is in `test_kill_matrix`.
"""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path

from aouo.facts.address import ConversationAddress
from aouo.facts.ports import Rendered
from aouo.store import kept_reports, ticks
from aouo.store.database import Tx, connect
from tests.path.killing import Scenario, killed_anywhere
from tests.path.lives import Place
from tests.path.world import ADA

LONG_AGO = "2026-01-01T00:00:00.000+00:00"
TOLD = "The pump is late."
DIGEST = "2 messages waited for you:"
KILLED_AT = range(1, 34, 2)


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
            ticks.note(tx, "heartbeat", LONG_AGO)
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
            f"SELECT session_id FROM messages WHERE text = '{TOLD}' AND visible = 1"
        )
        if len([row for row in history if row["session_id"].startswith("chat/")]) != 1:
            found.append(f"in history: {history}")
        shown = [one.text for one in await here.said()]
        for text in (TOLD, DIGEST):
            times = sum(one.startswith(text) for one in shown)
            if times != 1 and not here.cut_off:
                found.append(f"{times} times: {text}")
        if left := here.rows("SELECT id FROM kept_reports WHERE due_at IS NOT NULL"):
            found.append(f"still kept: {left}")
        if len(here.rows("SELECT id FROM deliveries WHERE key LIKE 'digest:%'")) != 1:
            found.append("not one digest")
        return found


SCENARIO = Unasked(packs=(), answers=(TOLD,), badge="\n\n— ⏰ Heartbeat")


async def test_a_process_killed_anywhere_tells_a_heartbeat_and_a_digest_once(
    tmp_path: Path, runner_port: int
) -> None:
    await killed_anywhere(SCENARIO, KILLED_AT, tmp_path, runner_port)
