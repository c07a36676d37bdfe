"""A home whose runtime is killed and started again, seen from the outside by a test.

The processes come from `kill_runner`; the Telegram and the model service they talk to live in
the test's own process and outlast them.
"""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
import socket
import sqlite3
import subprocess
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Generator, Sequence
from contextlib import asynccontextmanager, closing, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from aouo.emulator import ADA, ChatMessage
from aouo.plumbing.home import Home
from tests.fakes.databases import put_database
from tests.fakes.model_server import Body, ModelServer, Reply
from tests.fakes.telegram import LocalTelegram
from tests.path.kill_runner import STDERR
from tests.path.world import ROOT, without_receipt

T = TypeVar("T")

WAIT_S = 60.0
_TOGETHER_S = 0.02  # changes come in swarms, and a look costs more than they do
_LOOK_EVERY_S = 0.1  # the last commit of a life changes nothing that the emulator could tell


def lasting_port() -> int:
    """A free port that the kernel gives to nobody by chance while no life listens there."""
    for port in random.SystemRandom().sample(range(20_000, 32_000), 100):
        with suppress(OSError), socket.create_server(("127.0.0.1", port)):
            return port
    raise AssertionError("no port is free")


@contextmanager
def kill_runner() -> Generator[int]:
    """The runner's port, while it runs."""
    command = [sys.executable, "-m", "tests.path.kill_runner"]
    environ = {key: value for key, value in os.environ.items() if not key.startswith("AOUO_")}
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env=environ,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        start_new_session=True,
    ) as runner:
        assert runner.stdin is not None
        assert runner.stdout is not None
        yield int(runner.stdout.readline())
        runner.stdin.close()


@dataclass
class Life:
    """One process, from its start to its end."""

    pid: int
    began_at_call: int
    gone: asyncio.Event = field(default_factory=asyncio.Event)
    ended: bool = False
    """It ended by itself and said so."""

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        """Ask for the graceful end, or bring about the other one."""
        if not self.gone.is_set():
            with suppress(ProcessLookupError):  # killed just now
                os.kill(self.pid, how)


class Place:
    """One home, one Telegram, one model service, and the lives that follow each other there."""

    def __init__(
        self, home: Home, emulator: LocalTelegram, model: ModelServer, *, runner_port: int
    ) -> None:
        self.home = home
        self.emulator = emulator
        self.model = model
        self.lives: list[Life] = []
        self.cut_off: list[int] = []
        """Ids of the deliveries that were being sent when a life ended, but those of the next."""
        self.told_twice = 0
        """How often that was the line which tells of a doubt: it is sent again."""
        self.unproposed: list[dict[str, Any]] = []
        """Calls whose intent was on disk when a life ended, and not that they were proposed."""
        self._runner_port = runner_port
        self._read: set[str] = set()
        self._tapped: set[str] = set()

    @property
    def life(self) -> Life:
        return self.lives[-1]

    @property
    def is_dead(self) -> bool:
        """The last life is over and the next one has not begun."""
        return bool(self.lives) and self.life.gone.is_set()

    async def end(self) -> None:
        """Stop this life, and wait until it is gone."""
        self.life.stop()
        async with asyncio.timeout(WAIT_S):
            await self.life.gone.wait()

    @property
    def stderr(self) -> str:
        """What all lives said there."""
        file = self.home.path / STDERR
        return file.read_text(encoding="utf-8") if file.exists() else ""

    @property
    def kills(self) -> list[str]:
        """Where lives were killed, in order."""
        mark = "killed: "
        lines = self.stderr.splitlines()
        return [line.removeprefix(mark) for line in lines if line.startswith(mark)]

    def calls(self, method: str, status: int) -> int:
        """How many calls of a method were answered so, in the last life."""
        made = self.emulator.journal.calls[self.life.began_at_call :]
        return sum(call.method == method and call.status == status for call in made)

    def configure(self, packs: Sequence[str]) -> None:
        """The whole configuration, and links to the packs."""
        for name in packs:
            (self.home.packs / name).symlink_to(ROOT / "packs" / name)
        config = {
            "telegram": {
                "bot_token": self.emulator.token,
                "allowed_user_ids": [ADA],
                "api_base_url": self.emulator.base_url,
                "message_batch_ms": 20,
                "streaming": "edits",
            },
            "provider": {"backend": "fake", "model": "scripted", "vision": "on"},
            "providers": {"fake": {"base_url": self.model.base_url, "api_key": "key"}},
        }
        self.home.config.write_text(json.dumps(config))

    @asynccontextmanager
    async def alive(
        self, *, kill_at: int = 0, among: str = "", has_page: bool = False
    ) -> AsyncGenerator[Life]:
        """One life; leave the block when it is over. See `failpoint.arm`."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self._runner_port)
        try:
            request = {
                "home": str(self.home.path),
                "kill_at": kill_at,
                "among": among,
                "has_page": has_page,
            }
            writer.write(json.dumps(request).encode() + b"\n")
            pid: int = json.loads(await reader.readline())["pid"]
            life = Life(pid, len(self.emulator.journal.calls))
            self.lives.append(life)
            async with asyncio.TaskGroup() as group:
                group.create_task(self._watch(reader, life))
                try:
                    yield life
                except BaseException:
                    life.stop(signal.SIGKILL)
                    raise
        finally:
            writer.close()

    async def _watch(self, reader: asyncio.StreamReader, life: Life) -> None:
        with suppress(ConnectionError):
            life.ended = b"ended" in await reader.read()
        sending = "SELECT id, kind FROM deliveries WHERE state = 'sending' AND edits = 0"
        with self.reading() as rows:
            for row in rows(sending):
                if row["kind"] == "doubt":
                    self.told_twice += 1
                else:
                    self.cut_off.append(row["id"])
            self.unproposed += rows(
                "SELECT id, name FROM tool_calls WHERE id NOT IN "
                "(SELECT call_id FROM audit WHERE stage = 'PROPOSED')"
            )
        life.gone.set()
        self.emulator.signal.bump()

    def rows(self, sql: str, file: Path | None = None) -> list[dict[str, Any]]:
        """Read a database of the home, with or without a life in it; a missing table is empty."""
        with self.reading(file) as rows:
            return rows(sql)

    @contextmanager
    def reading(self, file: Path | None = None) -> Generator[Callable[[str], list[dict[str, Any]]]]:
        """Read more than once: to open a database costs more than what is read there."""
        name = file or self.home.database
        if not name.exists():
            yield lambda _: []
            return
        with closing(sqlite3.connect(f"file:{name}?mode=ro", uri=True)) as connection:
            connection.row_factory = sqlite3.Row

            def rows(sql: str) -> list[dict[str, Any]]:
                try:
                    return [dict(row) for row in connection.execute(sql)]
                except sqlite3.OperationalError as error:
                    if "no such table" in str(error) or "unable to open" in str(error):
                        return []
                    raise

            yield rows

    async def said(self) -> list[ChatMessage]:
        """What the bot shows to Ada, in order, without the lines that say what a turn changed."""
        found = await self.emulator.client.messages(ADA)
        shown = [replace(one, text=without_receipt(one.text)) for one in found if one.from_bot]
        self._read.update(one.text for one in (*found, *shown) if one.from_bot)
        return shown

    async def until(self, look: Callable[[], Awaitable[T | None]]) -> T:
        """The first true answer of `look`, asked at every change and a little later."""
        signalled = self.emulator.signal
        async with asyncio.timeout(WAIT_S):
            while True:
                since = signalled.number
                if found := await look():
                    return found
                await signalled.wait_beyond(since, _LOOK_EVERY_S)
                await asyncio.sleep(_TOGETHER_S)

    async def until_said(self, text: str) -> ChatMessage:
        """Wait for a message of the bot that begins with `text`."""

        async def look() -> ChatMessage | None:
            return next((one for one in await self.said() if one.text.startswith(text)), None)

        return await self.until(look)

    async def until_shown(self, text: str) -> None:
        """Wait until a message of the bot begins with `text`, or the first life is over."""

        async def look() -> bool:
            over = self.is_dead or len(self.lives) > 1
            return over or any(one.text.startswith(text) for one in await self.said())

        await self.until(look)

    async def until_stalled(self) -> None:
        """Wait until the model falls silent, or the first life is over."""

        async def look() -> bool:
            return self.model.stalled.is_set() or self.is_dead or len(self.lives) > 1

        await self.until(look)

    async def settle(self, answers: Sequence[str]) -> None:
        """Wait until this life, or the kill, has done all there is to do.

        Meanwhile be the person who taps *Show again* where the message is not there.
        """

        async def look() -> bool:
            return self.life.gone.is_set() or await self._is_settled(answers)

        await self.until(look)

    async def _is_settled(self, answers: Sequence[str]) -> bool:
        if not self.calls("setMyCommands", 200):
            return False  # a life says this once it has taken up what a former one left
        shown = await self.said()
        await self._tap_show_again(shown)
        if not self._read.issuperset(answers):
            return False
        found = self.rows(
            "SELECT 1 AS open, '' AS body FROM jobs "
            "WHERE state NOT IN ('done', 'dropped', 'aside') UNION ALL "
            "SELECT 1, '' FROM deliveries WHERE state IN ('queued', 'sending', 'live') UNION ALL "
            "SELECT 1, '' FROM turns WHERE status = 'open' UNION ALL "
            f"SELECT 0, body FROM deliveries WHERE state = 'unknown' AND chat_id = '{ADA}' "
            "AND kind IN ('reply', 'msg', 'notice') AND body <> ''"
        )
        unknown = {json.loads(row["body"])["text"] for row in found if not row["open"]}
        return not any(row["open"] for row in found) and unknown <= self._read

    async def _tap_show_again(self, shown: Sequence[ChatMessage]) -> None:
        for message in shown:
            for button in message.buttons:
                number = button.data.removeprefix("nav:again_")
                if number == button.data or button.data in self._tapped:
                    continue
                if self._text_of(int(number)) not in self._read:
                    self._tapped.add(button.data)
                    await self.tap(message, button.data)

    async def tap(self, message: ChatMessage, data: str) -> None:
        """Tap a button without waiting for an answer: there may be nobody to give it."""
        await self.emulator.client.act("tap", user=ADA, chat=ADA, message_id=message.id, data=data)

    def _text_of(self, delivery_id: int) -> str:
        (row,) = self.rows(f"SELECT body FROM deliveries WHERE id = {delivery_id}")
        return json.loads(row["body"])["text"] if row["body"] else ""


@asynccontextmanager
async def place(
    folder: Path,
    packs: Sequence[str],
    script: Callable[[Body], Reply | str],
    *,
    runner_port: int,
    parts: Collection[str] = (),
    wires: tuple[str, ...] = ("/chat/completions",),
    has_tables: bool = True,
) -> AsyncGenerator[Place]:
    """A home with nothing in it, and Ada; `parts` says who else, `wires` what the model service
    answers at. Without its tables the home was never started."""
    home = Home(folder)
    home.create()
    if has_tables:
        put_database(home.database)
    emulator = LocalTelegram(parts=parts)

    def heard(body: Body) -> Reply | str:
        emulator.signal.bump()
        return script(body)

    async with emulator, ModelServer(heard, wires=wires) as model:
        here = Place(home, emulator, model, runner_port=runner_port)
        here.configure(packs)
        yield here
