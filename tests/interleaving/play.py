"""Plays random deeds against the runtime, which is stopped and killed meanwhile, to the end."""

from __future__ import annotations

import asyncio
import json
import logging
import random
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, MutableMapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NoReturn

import structlog

from aouo.app.lifecycle import Runtime
from aouo.config.file import Loaded, load_settings
from aouo.emulator import DEFAULT_TOKEN
from aouo.emulator.chats import Message
from aouo.plumbing.home import Home
from aouo.store.database import Tx
from tests.interleaving import mortal, virtual
from tests.interleaving.book import Book, Place
from tests.interleaving.deeds import Deeds
from tests.interleaving.model import MarkModel
from tests.interleaving.telegram import URL, Session, Telegram
from tests.interleaving.town import PACKS, PEOPLE, Town
from tests.path.world import ROOT

QUIET_WITHIN_S = 4 * 3600.0
"""Virtual: pacing and flood control may make a backlog of hours, a loop of doubts never ends."""
_OPEN = (
    "SELECT 'job ' || id || ' ' || state || ' ' || lane AS what FROM jobs "
    "WHERE state IN ('ready', 'gathering', 'running') UNION ALL "
    "SELECT 'delivery ' || id || ' ' || kind || ' ' || state || ' ' || chat_id || ':' || "
    "thread_id FROM deliveries WHERE state IN ('queued', 'sending', 'live') UNION ALL "
    "SELECT 'turn ' || t.id || ' open ' || j.lane FROM turns AS t JOIN jobs AS j "
    "ON j.id = t.job_id WHERE t.status = 'open'"
)
_WAITING = "SELECT 'job ' || id || ' parked ' || lane AS what FROM jobs WHERE state = 'parked'"
_GATES = (
    "SELECT g.*, j.lane FROM gates AS g JOIN turns AS t ON t.id = g.turn_id "
    "JOIN jobs AS j ON j.id = t.job_id WHERE g.state = 'open'"
)
_CROSSED = (
    "SELECT r.id FROM conversation_routes AS r JOIN sessions AS s ON s.id = r.session_id "
    "WHERE s.session_key <> r.platform || ':' || r.chat_id || "
    "iif(r.thread_id = '', '', ':thread:' || r.thread_id) || "
    "iif(r.active_pack = '', '', ':pack:' || r.active_pack)"
)
Break = Callable[["Play"], Awaitable[None]]


@dataclass(frozen=True, slots=True)
class Script:
    """What is played: everything else follows from it."""

    seed: int
    events: int
    trouble: float = 0.05
    lives: int = 0
    """How often the runtime ends meanwhile, half of it by a kill."""
    burst_ms: int = 0
    pause_s: float = 0.6
    """Between two deeds, on average."""


@dataclass
class Play:
    """One play, and afterwards everything that the laws look at."""

    script: Script
    home: Home
    telegram: Telegram
    model: MarkModel
    town: Town
    deeds: Deeds
    chance: random.Random
    errors: list[str] = field(default_factory=list[str])
    left: list[str] = field(default_factory=list[str])
    stored: list[str] = field(default_factory=list[str])
    """Bodies of all jobs, as they are kept."""
    crossed: int = 0
    ends_s: list[float] = field(default_factory=list[float])
    """When a life ended, in virtual seconds."""
    kills: int = 0
    runtime: Runtime | None = None
    _progress: tuple[int, int] = (0, 0)
    _gates: dict[str, int] = field(default_factory=dict[str, int])
    """Open question → whom it asks."""
    _forms: list[tuple[int, int, int]] = field(default_factory=list[tuple[int, int, int]])
    """(person, chat, topic or 0) of open questions that have no buttons."""
    _life: mortal.Life = field(default_factory=mortal.Life)
    _task: asyncio.Task[None] | None = None

    @property
    def book(self) -> Book:
        return self.town.book

    async def act(self) -> None:
        """All of the script, then everything is made good, then quiet."""
        script, chance = self.script, self.chance
        async with self.living():
            ends = sorted(chance.sample(range(1, script.events), script.lives))
            while self.book.at < script.events:
                self.deeds.any()
                if ends and self.book.at >= ends[0]:
                    ends.pop(0)
                    await self.end_life(killed=chance.random() < 0.5)
                await asyncio.sleep(chance.expovariate(1 / script.pause_s))
                await self._after_kill()
            await self.make_good()
        # Nobody can choose a pack or answer a question in a topic that is no more.
        gone = tuple(f" {place.chat}:{place.thread}" for place in self.book.places if place.deleted)
        left = await self.rows(f"{_OPEN} UNION ALL {_WAITING}")
        self.left += [row for row in left if not row.endswith(gone or "no topic")]
        self.stored += await self.rows("SELECT body AS what FROM jobs")
        self.crossed = len(await self.rows(_CROSSED.replace("r.id", "r.id AS what", 1)))

    async def make_good(self) -> None:
        """The network is well, people answer what they are asked and tap what they are offered."""
        self.telegram.trouble = 0.0
        self._life.doom(0)
        await self._after_kill()
        for place in self.book.places:
            if not place.open and not place.deleted:
                self.town.close(place, closed=False)
        for _ in range(40):
            await self._quiet()
            if not await self._give_answers():
                return
        raise AssertionError("there is always something left to answer")

    async def _give_answers(self) -> bool:
        """Whether anybody did anything."""
        did = False
        for place in self.book.places:
            if place.open and not place.ever_bound:
                self.deeds.use(place, PACKS[0])
                did = True
            for person, chat, thread in self._forms if place.open else ():
                if (chat, thread or None) in place.addresses:
                    self.deeds.say(place, person=person, calls=True)
                    did = True
            for message, data in self._offered(place):
                if not self._is_owed(data):  # a doubt may be told twice
                    continue
                did = True
                self.deeds.tap_on(place, message, data, self._who_may(data) or place.people[0])
        self.telegram.signal.bump()
        return did

    def _offered(self, place: Place) -> list[tuple[Message, str]]:
        """Also where a group was before it moved: people see those messages above the new ones."""
        found: list[tuple[Message, str]] = []
        for chat in {chat for chat, _ in place.addresses} if place.open else ():
            for message in self.town.world.chats[chat].messages.values():
                for row in message.keyboard if message.thread_id == place.thread else ():
                    for button in row[:1]:
                        data = str(button["callback_data"])
                        if self._is_owed(data):
                            found.append((message, data))
        return found

    def _is_owed(self, data: str) -> bool:
        """A question is open until the right person taps, whoever tapped before."""
        fresh = data not in self.deeds.tapped
        return (fresh and data.startswith("nav:again_")) or bool(self._who_may(data))

    def _who_may(self, data: str) -> int:
        """The person an open question was put to, 0 = it is none."""
        head = data.partition(":")[0].removeprefix("choice_")
        return self._gates.get(head, 0)

    async def _quiet(self) -> None:
        """Wait until nothing is on its way but questions to people.

        Raises:
            AssertionError: something goes on for ever.
        """
        until_s = asyncio.get_running_loop().time() + QUIET_WITHIN_S
        still = 0
        while still < 3:  # a commit and the next claim are apart
            await asyncio.sleep(5.0)
            gates = await self._read(lambda tx: tx.all(_GATES))
            self._gates = {str(row["id"]): int(row["person"]) for row in gates}
            self._forms = [
                (int(row["person"]), int(row["chat_id"]), int(row["thread_id"] or 0))
                for row in gates
                if row["options"] == "[]"
            ]
            asking = {str(row["turn_id"]) for row in gates}
            held = tuple(f" {row['lane']}" for row in gates)
            found = await self.rows(_OPEN)
            open_turns = sum(row.startswith("turn ") for row in found)
            waiting = [row for row in found if not row.startswith("turn ")]
            late = any(row.startswith("job ") and not row.endswith(held) for row in waiting)
            rest = bool(self.town.world.updates) or open_turns > len(asking) or late
            still = 0 if rest or (waiting and not asking) or self._moved() else still + 1
            if asyncio.get_running_loop().time() > until_s:
                raise AssertionError(
                    f"never quiet: {found}, updates {len(self.town.world.updates)}"
                )

    def _moved(self) -> bool:
        """Beside turns that wait on people, whether the rest changed since the last look."""
        before = self._progress
        self._progress = (len(self.model.asked), len(self.telegram.seen))
        return before != self._progress

    async def rows(self, sql: str) -> list[str]:
        return await self._read(
            lambda tx: [str(row["what"]) for row in tx.all(sql)]  # pyright: ignore[reportArgumentType]
        )

    async def _read(self, work: Callable[[Tx], Any]) -> Any:
        """Beside the runtime, as another process would."""
        database = mortal.LoopDatabase(self.home.database, mortal.Life(), self.chance)
        await database.open()
        try:
            return await database.read(work)
        finally:
            await database.close()

    @asynccontextmanager
    async def living(self) -> AsyncGenerator[None]:
        await self.begin_life()
        try:
            yield
        finally:
            await self.end_life(killed=False, again=False)

    async def begin_life(self) -> None:
        self._life = life = mortal.Life()
        self.model.at_work = Counter()
        ready = asyncio.Event()
        self._task = asyncio.ensure_future(self._live(life, ready))
        waits = asyncio.ensure_future(ready.wait())
        await asyncio.wait([self._task, waits], return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()

    async def end_life(self, *, killed: bool, again: bool = True) -> None:
        """End the runtime in order, or doom it to be killed at some step from now."""
        if killed:
            self._life.doom(self.chance.randrange(1, 60))
            return
        assert self._task
        if self.runtime and not self._life.dead:
            self.runtime.stop()
            await asyncio.wait([self._task])
            self.ends_s.append(asyncio.get_running_loop().time())
            self._task.result()
        if again:
            await asyncio.sleep(self.chance.expovariate(0.2))
            await self.begin_life()

    async def _after_kill(self) -> None:
        """If the life is over by now, the next one begins a little later."""
        if self._task and (self._life.dead or self._task.done()):
            if not self._life.dead:
                self._task.result()
                raise AssertionError("the runtime ended by itself")
            self.telegram.cut_off(self._life.died_s)
            self.kills += 1
            self.ends_s.append(self._life.died_s)
            await mortal.end(self._task, self._life)
            for _ in range(self.chance.randrange(4)):
                self.deeds.any()
            await asyncio.sleep(self.chance.expovariate(0.2))
            await self.begin_life()

    async def _live(self, life: mortal.Life, ready: asyncio.Event) -> None:
        loaded = _loaded(self.home)
        database = mortal.LoopDatabase(self.home.database, life, self.chance)
        async with mortal.opened(
            self.home,
            loaded.settings,
            clock=virtual.LoopClock(),
            model=self.model,
            database=database,
            session=Session(self.telegram, life),
        ) as app:
            self.runtime = Runtime(app, loaded)
            ready.set()
            await self.runtime.run()


def play(script: Script, *, broken: Callable[[Play], None] | None = None) -> Play:
    """Play a script in virtual time; `broken` may change the runtime before it begins."""

    async def acted() -> Play:
        chance = random.Random(script.seed)
        with tempfile.TemporaryDirectory() as folder:
            telegram = Telegram(
                random.Random(chance.random()), script.trouble, private_topics=chance.random() < 0.5
            )
            town = Town(telegram, chance)
            on = Play(
                script,
                _home(Path(folder), script),
                telegram,
                MarkModel(random.Random(chance.random())),
                town,
                Deeds(town, chance),
                random.Random(chance.random()),
            )
            with _listening(on.errors):
                if broken:
                    broken(on)
                await on.act()
            return on

    return virtual.run(acted)


def _home(folder: Path, script: Script) -> Home:
    home = Home(folder / "home")
    home.create()
    for pack in PACKS:
        (home.packs / pack).symlink_to(ROOT / "packs" / pack)
    telegram = {
        "bot_token": DEFAULT_TOKEN,
        "allowed_user_ids": list(PEOPLE),
        "api_base_url": URL,
        "message_batch_ms": script.burst_ms,
    }
    config = {"telegram": telegram, "advanced": {"max_history_messages": 24}}
    home.config.write_text(json.dumps(config))
    return home


def _loaded(home: Home) -> Loaded:
    return load_settings(home.path, {})


@contextmanager
def _listening(errors: list[str]) -> Generator[None]:
    """Keep what the runtime logs as errors, and nothing else."""

    def keep(_: object, level: str, event: MutableMapping[str, Any]) -> NoReturn:
        errors.append(f"{level}: {dict(event)}")
        raise structlog.DropEvent

    before = structlog.get_config()
    structlog.configure(
        processors=[structlog.processors.format_exc_info, keep],
        wrapper_class=structlog.make_filtering_bound_logger(logging.ERROR),
        cache_logger_on_first_use=False,
    )
    try:
        yield
    finally:
        structlog.configure(**before)
