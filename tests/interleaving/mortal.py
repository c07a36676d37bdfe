"""One life of the runtime that ends in order or at any step, and the database it writes to.

A life that was killed reaches neither its database nor Telegram any more, whatever its tasks
still try while they are taken down. (Kills of real processes:
`tests/path/kills/test_kill_table.py`.)
"""

from __future__ import annotations

import asyncio
import random
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, cast

import aiohttp

from aouo.app.tools import share
from aouo.app.wiring import App, build
from aouo.config.settings import Settings
from aouo.facts.ports import ChatModel, Clock
from aouo.plumbing.home import Home
from aouo.plumbing.waiting import finish
from aouo.store.database import Database, Tx, connect
from aouo.store.opening import make_tables
from aouo.telegram.channel import TelegramChannel

T = TypeVar("T")


class Life:
    """Counts steps: each commit and each request has one before and one after it."""

    def __init__(self) -> None:
        self.gone = asyncio.Event()
        self.died_s = 0.0
        self._left = 0

    @property
    def dead(self) -> bool:
        return self.gone.is_set()

    def doom(self, steps: int) -> None:
        """End it after so many more steps."""
        self._left = steps

    def step(self) -> None:
        """One more step is reached.

        Raises:
            CancelledError: the life is over.
        """
        if not self.dead and self._left:
            self._left -= 1
            if not self._left:
                self.gone.set()
                self.died_s = asyncio.get_running_loop().time()
        if self.dead:
            raise asyncio.CancelledError


class LoopDatabase(Database):
    """The transactions of `Database`, on the loop's own thread: so that a seed replays.

    What is not brief waits some turns of the loop, as it would for the writer's thread.
    """

    def __init__(self, path: Path, life: Life, chance: random.Random) -> None:
        super().__init__(path)
        self._life = life
        self._chance = chance
        self._waiting: deque[tuple[Callable[[Tx], Any], asyncio.Future[Any]]] = deque()

    async def open(self, *, patient: bool = False) -> None:
        del patient
        self._connection = connect(self.path)
        self._connection.execute("PRAGMA synchronous=OFF")  # nobody pulls the plug here
        self._reader = connect(self.path)
        self._reader.execute("PRAGMA query_only=ON")

    async def transact(
        self, work: Callable[[Tx], T], *, durable: bool = False, brief: bool = False
    ) -> T:
        if self._life.dead:
            raise asyncio.CancelledError
        if brief and not durable and not self._waiting:
            return self._commit(work)
        loop = asyncio.get_running_loop()
        done: asyncio.Future[T] = loop.create_future()
        self._waiting.append((work, done))
        if len(self._waiting) == 1:
            loop.call_soon(self._serve, self._chance.randrange(4))
        return await finish(done)

    def _serve(self, pauses: int) -> None:
        if pauses and not self._life.dead:
            asyncio.get_running_loop().call_soon(self._serve, pauses - 1)
            return
        while self._waiting:
            work, done = self._waiting.popleft()
            try:
                result = self._commit(work)
            except asyncio.CancelledError:
                done.cancel()
            except Exception as error:  # noqa: BLE001 - handed to whoever waits
                done.set_exception(error)
            else:
                done.set_result(result)

    def _commit(self, work: Callable[[Tx], T]) -> T:
        self._life.step()
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            result = work(Tx(self._connection))
        except BaseException:
            self._connection.execute("ROLLBACK")
            raise
        self._connection.execute("COMMIT")
        self._life.step()
        return result

    async def read(self, work: Callable[[Tx], T], *, once: bool = False) -> T:
        if self._life.dead:
            raise asyncio.CancelledError
        return await super().read(work, once=once)

    async def close(self) -> None:
        for connection in (self._reader, self._connection):
            if connection is not None:
                connection.close()


@asynccontextmanager
async def opened(
    home: Home,
    settings: Settings,
    *,
    clock: Clock,
    model: ChatModel,
    database: Database,
    session: object,
) -> AsyncGenerator[App]:
    """`app.serve.open_app` over a database and a session of ours."""
    http = cast("aiohttp.ClientSession", session)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(database.close)
        await database.open()
        await database.transact(make_tables, durable=True)
        channel = TelegramChannel(
            settings=settings.telegram, session=http, clock=clock, database=database
        )
        group = await stack.enter_async_context(asyncio.TaskGroup())
        stack.callback(channel.stop_listening)
        channel.start_listening(group)
        shared = await share(
            stack,
            home=home,
            clock=clock,
            database=database,
            session=http,
            telegram=channel,
            model=model,
        )
        yield await build(settings, shared)


async def end(task: asyncio.Task[None], life: Life) -> None:
    """Take the tasks of a killed life down; what they say on the way does not count."""
    assert life.dead
    task.cancel()
    with suppress(BaseException):
        await task
