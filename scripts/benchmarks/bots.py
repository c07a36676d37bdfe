"""The two bots that are compared: ours, and the floor; each with a past to begin with."""

from __future__ import annotations

import asyncio
import json
import shutil
import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol

from aouo.facts.address import ConversationAddress
from aouo.facts.events import Inbound, Person, Text
from aouo.facts.transcript import AssistantSaid
from aouo.plumbing.home import Home
from aouo.store import jobs, routes, sessions, turns
from aouo.store.database import Database, Tx
from aouo.store.opening import make_tables
from scripts.benchmarks import floor
from scripts.benchmarks.counted import Counts
from scripts.benchmarks.processes import ROOT, Process

ANSWER = "This is the answer to what you just asked of me here."
"""What the model says: 18 chunks, as a service would send it."""
_NOW = "2026-01-01T00:00:00.000Z"


class Bot(Protocol):
    """Something that can be started on a place of its own and answers messages."""

    @property
    def name(self) -> str: ...
    @property
    def counts(self) -> Counts: ...
    def seed(self, chats: Sequence[int], messages: int) -> None: ...
    def start(self, token: str) -> Process: ...


@dataclass(frozen=True, slots=True)
class Aouo:
    """Ours, as its owner would start it: `aouo start`, packs/notes, no wait for more text.

    With `tools` that many more are registered and shown to the model (`started`); not `paced`, it
    says more at once than Telegram takes (`unpaced`); `timed`, it writes each turn's own time;
    `counted`, what it does is counted there.
    """

    place: Path
    telegram_url: str
    model: Mapping[str, Any]
    """The part of the configuration that says where it is (`ModelService.settings`)."""
    chats: Sequence[int]
    history: int = 200
    streaming: str = "edits"
    tools: int = 0
    paced: bool = True
    timed: bool = False
    name: str = "aouo"
    counted: Path | None = None

    @property
    def counts(self) -> Counts:
        """What was counted so far."""
        assert self.counted is not None
        return Counts(self.counted, self.home.database)

    @property
    def own_ms(self) -> list[float]:
        """Of each turn so far, if `timed`."""
        return [float(line) for line in self._times.read_text("utf-8").split()]

    @property
    def _times(self) -> Path:
        return self.place / "own_ms"

    @property
    def home(self) -> Home:
        return Home(self.place)

    def seed(self, chats: Sequence[int], messages: int) -> None:
        self._prepare()
        asyncio.run(self._seed(chats, messages))

    def start(self, token: str) -> Process:
        self._prepare()
        config = {
            "telegram": {
                "bot_token": token,
                "allowed_user_ids": list(self.chats),
                "api_base_url": self.telegram_url,
                "message_batch_ms": 0,
                "streaming": self.streaming,
            },
            **self.model,
            "advanced": {
                "max_history_messages": max(2 * self.history, 20),
                "session_tokens_max": 0,
                "daily_tokens_max": 0,  # thousands of turns a day, each counted as it is sent
            },
        }
        self.home.config.write_text(json.dumps(config))
        log = self.home.logs / "stderr.log"
        if self.tools:
            more = _program("scripts.benchmarks.started", self.counted)
            return Process(*more, str(self.place), str(self.tools), log=log)
        program = ["aouo" if self.paced else "scripts.benchmarks.unpaced"]
        if self.timed:
            program = ["scripts.benchmarks.timed", str(self._times)]
        counted = _program(program[0], self.counted)
        return Process(*counted, *program[1:], "start", "--home", str(self.place), log=log)

    def _prepare(self) -> None:
        self.home.create()
        pack = self.home.packs / "notes"
        if pack.exists():
            return
        if not self.tools:
            pack.symlink_to(ROOT / "packs" / "notes")
            return
        shutil.copytree(ROOT / "packs" / "notes", pack)
        manifest = pack / "pack.yml"
        text = manifest.read_text("utf-8")
        permitted = text.replace("\n  tools: [", "\n  tools: [core, ")
        assert permitted != text, "packs/notes says its tools in another way"
        manifest.write_text(permitted, "utf-8")

    async def _seed(self, chats: Sequence[int], messages: int) -> None:
        database = Database(self.home.database)
        await database.open()
        await database.transact(make_tables)
        for chat_id in chats:
            await database.transact(
                lambda tx, chat_id=chat_id: _live_through(tx, chat_id, messages)
            )
        await database.close()


def _live_through(tx: Tx, chat_id: int, messages: int) -> None:
    """A conversation with the pack that has had `messages` entries."""
    address = ConversationAddress("tg", str(chat_id))
    person = Person(str(chat_id), "Ada")
    routes.set_pack(tx, routes.get_or_create(tx, address, "private", _NOW), "notes", _NOW)
    route = routes.get_or_create(tx, address, "private", _NOW)
    session = sessions.resolve(tx, route, address, "notes", _NOW)
    for said, answer in past(messages):
        job_id = jobs.add(tx, address.lane, Inbound(address, person, Text(said)), _NOW)
        job = jobs.claim(tx, address.lane)
        assert job is not None
        turn = turns.open_turn(tx, job_id, session.id, "notes", "", said, _NOW)
        turns.close_ack(tx, turn, AssistantSaid(answer), (), _NOW)
        jobs.settle(tx, job, "done", "turn", _NOW)


@dataclass(frozen=True, slots=True)
class Floor:
    """The smallest correct bot on our libraries; `counted`, what it does is counted there."""

    place: Path
    telegram_url: str
    model: Mapping[str, Any]
    history: int = 200
    name: Literal["floor", "floor 2"] = "floor"
    counted: Path | None = None

    @property
    def counts(self) -> Counts:
        """What was counted so far."""
        assert self.counted is not None
        return Counts(self.counted, self._database)

    @property
    def _database(self) -> Path:
        self.place.mkdir(parents=True, exist_ok=True)
        return self.place / "floor.db"

    def seed(self, chats: Sequence[int], messages: int) -> None:
        database = floor.connect(str(self._database))
        database.execute("BEGIN")
        for chat_id in chats:
            _fill(database, chat_id, messages)
        database.execute("COMMIT")
        database.close()

    def start(self, token: str) -> Process:
        options = {
            "--token": token,
            "--telegram": self.telegram_url,
            "--model": json.dumps(self.model),
            "--database": str(self._database),
            "--history": str(self.history),
        }
        arguments = [text for pair in options.items() for text in pair]
        if self.name == "floor 2":
            arguments.append("--own-clients")
        program = _program("scripts.benchmarks.floor", self.counted)
        return Process(*program, *arguments, log=self.place / "stderr.log")


def _program(module: str, counted: Path | None) -> tuple[str, ...]:
    if counted is None:
        return ("-m", module)
    return ("-m", "scripts.benchmarks.counted", str(counted), module)


def _fill(database: sqlite3.Connection, chat_id: int, messages: int) -> None:
    database.executemany(
        "INSERT INTO messages (chat_id, role, text) VALUES (?, ?, ?)",
        [
            (chat_id, role, text)
            for pair in past(messages)
            for role, text in zip(("user", "assistant"), pair, strict=True)
        ],
    )


def past(messages: int) -> list[tuple[str, str]]:
    """What was said before, as pairs."""
    asked = "Earlier message {}: what do you think about it?"
    return [(asked.format(number), ANSWER) for number in range(messages // 2)]
