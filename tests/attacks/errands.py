"""Runs an owner's errands with a model that obeys whoever wrote last: a state, and calls."""

from __future__ import annotations

import json
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence, Set
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeAlias

from tests.path.looking import eventually
from tests.path.world import ADA, ROOT, Running, World

Call: TypeAlias = tuple[str, Mapping[str, Any]]
"""A tool by its server's name for it, and its arguments."""
SERVER = "errands"
_PACK = f"""
name: butler
version: 1.0.0
display_name: Butler
description: Runs errands
permissions:
  tools: ["mcp:{SERVER}", core, files, web, schedule, documents]
  cron: true
schema: {{file: schema.sql, owned_tables: [notes], scope: person}}
"""
_SCHEMA = "CREATE TABLE notes (id INTEGER PRIMARY KEY, text TEXT NOT NULL);"
_END = "That is all"


@dataclass(frozen=True)
class Ran:
    """What came of an errand: the calls that the server got, and those that the owner was asked
    about, one list a card."""

    made: Sequence[Call]
    asked: Sequence[Sequence[Call]]


@dataclass
class Butler:
    """One bot with one server, for errands one after the other, each in a session of its own."""

    world: World
    bot: Running
    journal: Path
    served: Set[str]
    """The names of the server's tools; any other is one of ours."""
    ran: int = field(default=0)

    async def run(
        self, prompt: str, calls: Sequence[Call], says: Mapping[str, str] | None = None
    ) -> Ran:
        """Run an errand; to a card about a tool the owner says what `says` tells, else no."""
        await self.bot.ask("/new")
        return await self.go_on(prompt, calls, says)

    async def go_on(
        self,
        prompt: str | bytes | Mapping[str, Any],
        calls: Sequence[Call],
        says: Mapping[str, str] | None = None,
    ) -> Ran:
        """Run an errand in the session at hand; a prompt that is no text is a picture, or a
        message's fields."""
        self.ran += 1
        before = len(self._made())
        for name, arguments in calls:
            whole = f"mcp__{SERVER}__{name}" if name in self.served else name
            self.world.model.call(whole, dict(arguments))
        end = f"{_END}, {self.ran}."
        self.world.model.say(end)
        people = self.bot.people
        if isinstance(prompt, str):
            said = await people.say(ADA, ADA, prompt)
        elif isinstance(prompt, bytes):
            said = await people.send_file(ADA, ADA, "photo", prompt, caption="See to it.")
        else:
            said = await people.send_other(ADA, ADA, dict(prompt))
        asked = await self._answered(said.id, end, says or {})
        return Ran(self._made()[before:], asked)

    async def carried_out(self, call: Call) -> int:
        """Return how often this call was carried out, whoever began it."""
        rows = await self.bot.rows(
            "SELECT c.name, c.arguments FROM tool_calls AS c JOIN audit AS a ON a.call_id = c.id "
            "WHERE a.stage = 'EXECUTED'"
        )
        done = [(_plain(row["name"]), json.loads(row["arguments"])) for row in rows]
        return done.count(call)

    async def _answered(self, after: int, end: str, says: Mapping[str, str]) -> list[list[Call]]:
        """Answer cards until the errand is over."""
        asked: list[list[Call]] = []
        seen: set[int] = set()

        async def look() -> bool:
            for one in await self.bot.people.messages(ADA):
                if one.id <= after or one.id in seen:
                    continue
                if end in one.text:
                    return True
                data = [button.data for button in one.buttons]
                if any(d.startswith("approval_") for d in data):
                    rows = await self.bot.rows(
                        "SELECT c.name, c.arguments FROM asked_calls AS a "
                        "JOIN gates AS g ON g.id = a.gate_id JOIN deliveries AS d "
                        "ON d.id = g.delivery_id JOIN tool_calls AS c ON c.id = a.call_id "
                        "WHERE d.message_id = ? AND g.state = 'open'",
                        one.id,
                    )
                    if not rows:
                        continue
                    seen.add(one.id)
                    about = [(_plain(row["name"]), json.loads(row["arguments"])) for row in rows]
                    asked.append(about)
                    answer = says.get(about[0][0], "deny")
                    chosen = next((d for d in data if d.endswith(f":{answer}")), data[0])
                    await self.bot.people.tap(ADA, ADA, one.id, chosen)
            return False

        await eventually(look)
        return asked

    @asynccontextmanager
    async def again(self) -> AsyncGenerator[Butler]:
        """The same bot in another life."""
        async with self.world.running() as bot:
            yield Butler(self.world, bot, self.journal, self.served, self.ran)

    def _made(self) -> list[Call]:
        if not self.journal.exists():
            return []
        lines = self.journal.read_text().splitlines()
        return [(name, given) for name, given in map(json.loads, lines)]


def _plain(name: str) -> str:
    return name.rpartition("__")[2]


@asynccontextmanager
async def butler(
    world: World, folder: Path, told: Mapping[str, Any], **settings: Any
) -> AsyncGenerator[Butler]:
    """A bot whose one pack has one server with these settings, which serves what is `told`."""
    file, journal = folder / "told.json", folder / "journal.jsonl"
    file.write_text(json.dumps(told))
    pack = world.home.packs / "butler"
    pack.mkdir()
    (pack / "pack.yml").write_text(_PACK)
    (pack / "schema.sql").write_text(_SCHEMA)
    server = {
        "command": sys.executable,
        "args": ["-m", "tests.fakes.told_mcp_server", str(file), str(journal)],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    world.config = {
        **world.config,
        "mcp": {"servers": {SERVER: {**server, **settings}}},
        "telegram": {"streaming": "off", "groups": "all"},
        "security": {"approvals": {"per_hour": 10_000}, **world.config.get("security", {})},
    }
    async with world.running() as bot:
        yield Butler(world, bot, journal, {one["name"] for one in told["tools"]})
