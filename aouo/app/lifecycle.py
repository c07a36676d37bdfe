"""Runs an App: takes over what was left, starts what runs side by side, ends it in order."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from aouo.commands.menu import menu_of
from aouo.config.file import Loaded
from aouo.flow.chores.leftovers import end_what_is_theirs, erase_unanswered
from aouo.installer.unfinished import Takeover
from aouo.outbound.wording import sentences
from aouo.plumbing.control import Control
from aouo.plumbing.orphans import bury
from aouo.plumbing.verbs import Facts, Nothing, Verb
from aouo.telegram.channel import TelegramChannel

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()
DRAIN_S = 20.0
FLUSH_S = 5.0
_SOCKET = "Listening to aouo status, stop and the other commands of a terminal"


class Runtime:
    """One running App; `stop` ends it gracefully, the failure of a part ends it with it."""

    def __init__(self, app: App, loaded: Loaded) -> None:
        self._app = app
        self._loaded = loaded
        self._stop = asyncio.Event()
        self._since = time.time()
        self._takeover = Takeover()
        self.restart = False
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()

    def stop(self) -> None:
        """Begin the graceful end: no more ingress, lanes finish, the outbox empties."""
        self._stop.set()

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            SetupError: Telegram refuses us, or another instance polls.
        """
        app = self._app
        control = Control(
            {
                "status": Verb(Nothing, self._status),
                "stop": Verb(Nothing, self._stop_verb),
                "restart": Verb(Nothing, self._restart),
                **app.verbs,
            }
        )
        try:
            waiting = await self._take_over()
            listening = control.listening(app.shared.home, partial(self._takeover.add, _SOCKET))
            async with listening, asyncio.TaskGroup() as group:
                ingress = await self._start(group, waiting)
                await self._stop.wait()
                await self._end(ingress)
                raise _Done
        except* _Done:
            log.info("stopped")
        finally:
            self.ended.set()

    async def _take_over(self) -> int:
        """End or go on with what a former process left; return how many messages wait."""
        app, takeover = self._app, self._takeover
        database, clock, media = app.shared.database, app.shared.clock, app.shared.home.media
        await app.packs.recover(takeover)
        now = app.generations.now
        async with takeover.of("Ending what was of people taken off the list"):
            listed = {*map(str, now.admission.people), *filter(None, [now.owner.id])}
            await end_what_is_theirs(database, clock, listed)
        waiting = await app.outbox.recover()
        async with takeover.of("Erasing what was said off the record"):
            await erase_unanswered(database, clock, media, app.outbox, takeover.of)
        await app.inbox.recover()
        return waiting

    async def _start(self, group: asyncio.TaskGroup, waiting: int) -> list[asyncio.Task[None]]:
        """Start what runs; Telegram is listened to already."""
        app, telegram = self._app, self._app.shared.telegram

        def begin(name: str, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
            return group.create_task(work, name=name)

        self._lanes = begin("lanes", app.lanes.run())
        self._outbox = begin("outbox", app.outbox.run())
        self._background = [begin(name, work()) for name, work in app.background.items()]
        if os.getpid() == 1:
            self._background.append(begin("orphans", bury(app.shared.clock)))
        if self._loaded.from_last_good:
            await app.owner_notices.tell(sentences.config_broken(self._loaded.problems))
        if self._takeover.unfinished:
            await app.owner_notices.tell(sentences.unfinished(self._takeover.told))
        ingress = [begin("load", self._load(telegram))] if telegram else []
        log.info("started", packs=list(app.generations.library.names), waiting=waiting)
        self.ready.set()
        return ingress

    async def _load(self, telegram: TelegramChannel) -> None:
        await telegram.load()
        menu_changed = self._app.refreshing.menu_changed
        while True:  # nobody waits for it: Telegram may be slow
            menu_changed.clear()
            library = self._app.generations.library
            added = self._app.commands.added()
            menu = menu_of(library, {name: command.line for name, command in added.items()})
            for name in menu.taken:
                log.warning("command_collision", command=name, skill=library.commands()[name])
            if menu.left_out:
                log.warning("command_menu_full", left_out=list(menu.left_out))
            await telegram.set_menu(menu.entries)
            await menu_changed.wait()

    async def _end(self, ingress: list[asyncio.Task[None]]) -> None:
        """Ingress, lanes, outbox, in this order; each has a deadline, what is left stays stored."""
        log.info("stopping")
        if telegram := self._app.shared.telegram:
            telegram.stop_listening()
        for task in ingress:
            task.cancel()
        self._app.lanes.close()
        self._app.running.stop_waiting()
        await _within(DRAIN_S, self._lanes)
        self._app.outbox.close()
        await _within(FLUSH_S, self._outbox)
        for task in self._background:
            task.cancel()

    async def _status(self, request: Nothing) -> Facts:
        del request
        return {
            "pid": os.getpid(),
            "since": self._since,
            "uptime_s": round(time.time() - self._since),
            **await self._app.state(),
            "unfinished": [str(item) for item in self._takeover.unfinished],
            "config": {
                "from_last_good": self._loaded.from_last_good,
                "problems": list(self._loaded.problems),
            },
        }

    async def _stop_verb(self, request: Nothing) -> Facts:
        del request
        self.stop()
        return {}

    async def _restart(self, request: Nothing) -> Facts:
        del request
        self.restart = True
        self.stop()
        return {}


class _Done(Exception):
    """The regular end of a task group."""


async def _within(limit_s: float, task: asyncio.Task[None]) -> None:
    """Let a task end by itself for a while, then cancel it."""
    _, late = await asyncio.wait([task], timeout=limit_s)
    if late:
        task.cancel()
        await asyncio.wait([task])
