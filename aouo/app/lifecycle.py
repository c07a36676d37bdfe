"""Runs an App: takes over what was left, starts what runs side by side, ends it in order."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from functools import partial
from typing import TYPE_CHECKING, Protocol, TypeAlias

from aouo.app.chores import end_others
from aouo.app.reloading import Reloading
from aouo.app.status import state_of, verbs_of
from aouo.config.file import Loaded
from aouo.facts import languages
from aouo.facts.errors import SetupError
from aouo.flow.chores.retention import erase_unanswered, tell_restored
from aouo.flow.commands.file_text import menu_of
from aouo.installer.unfinished import Takeover, Taking
from aouo.installer.verbs import refreshed
from aouo.plumbing.children import bury
from aouo.plumbing.control import Facts, listening
from aouo.plumbing.logs import log
from aouo.plumbing.parts import Work
from aouo.plumbing.systemd import Systemd
from aouo.providers.fallback import models_in
from aouo.providers.known.knowing import KnownModel
from aouo.store import audit
from aouo.telegram.channel import TelegramChannel
from aouo.words import sentences
from aouo.words.catalogue import speaking, text

if TYPE_CHECKING:
    from aouo.app.wiring import App

_DRAIN_S = 20.0
_FLUSH_S = 5.0
_SUBSCRIBERS_S = 2.0
_READY_S = 30.0
"""A service that is not ready in time is ended; without a network we are ready to wait for it."""
_SOCKET = "Listening to aouo status, stop and the other commands of a terminal"


class Page(Protocol):
    """A page that shows what a Runtime does; `state` is where, or why it does not, and `address`
    where without the token, "" = nowhere."""

    @property
    def state(self) -> str: ...

    @property
    def address(self) -> str: ...

    async def run(self) -> None: ...


MakePage: TypeAlias = "Callable[[Runtime], Page]"


class Runtime:
    """One running App; `stop` ends it gracefully, the failure of an essential part at once.

    `page` makes what shows it in a browser; `loaded` is what it was started with.
    """

    def __init__(
        self, app: App, loaded: Loaded, systemd: Systemd | None = None, page: MakePage | None = None
    ) -> None:
        self.app = app
        self._systemd = systemd or Systemd({})
        self.loaded = loaded
        self.reloading = Reloading(
            shared=app.shared,
            refreshing=app.refreshing,
            owner_notices=app.owner_notices,
            taken_off=self._end_what_is_others,
            loaded=loaded,
        )
        self._stop = asyncio.Event()
        self._since = time.time()
        self._takeover = Takeover()
        self.restart = False
        self.ready = asyncio.Event()
        self.ended = asyncio.Event()
        self.warm = asyncio.Event()
        """What the first answer needs is imported, or cannot be."""
        self.page = page(self) if page else None
        app.shared.page.now = lambda: self.page.address if self.page else ""

    def stop(self, *, again: bool = False) -> None:
        """Begin the graceful end: no more ingress, lanes finish, the outbox empties; `again`: the
        process begins anew after it."""
        self.restart = self.restart or again
        self._stop.set()

    async def run(self) -> None:
        """Run until stopped.

        Raises:
            SetupError: Telegram refuses us, or another instance polls.
        """
        app = self.app
        try:
            waiting = await self._take_over()
            failed, pages = partial(self._takeover.add, _SOCKET), {"/healthz": self._healthz}
            async with (
                listening(app.shared.home, failed, verbs_of(self), pages),
                asyncio.TaskGroup() as group,
            ):
                try:
                    ingress = await self._start(group, waiting)
                    await self._stop.wait()
                    await self._end(ingress)
                finally:  # nothing ends that waits for a full disk
                    app.shared.database.hurry()
                raise _Done
        except* _Done:
            log.info("stopped")
        finally:
            self.ended.set()

    async def _take_over(self) -> int:
        """End or go on with what a former process left; return how many messages wait."""
        app, takeover = self.app, self._takeover
        database, clock, media = app.shared.database, app.shared.clock, app.shared.home.media
        await app.packs.recover(takeover)
        await self._end_what_is_others(takeover.of)
        waiting = await app.outbox.recover()
        async with takeover.of("Erasing what was said off the record"):
            await erase_unanswered(database, clock, media, app.outbox, takeover.of)
        async with takeover.of("Telling what a restored backup has switched off"):
            await tell_restored(database, clock, app.outbox, app.shared.languages.of_id)
        async with takeover.of("Looking what tools changed that were cut off"):
            await app.shared.files.settle_open()
        await app.inbox.recover()
        return waiting

    async def _end_what_is_others(self, taking: Taking) -> None:
        """End what is of people who are not let in."""
        app = self.app
        await end_others(app.shared, app.generations, app.running, taking)

    async def _start(self, group: asyncio.TaskGroup, waiting: int) -> list[asyncio.Task[None]]:
        """Start what runs; Telegram is listened to already."""
        app, telegram = self.app, self.app.shared.telegram

        def begin(name: str, work: Work) -> asyncio.Task[None]:
            return group.create_task(_essential(name, work), name=name)

        self._lanes = begin("lanes", app.lanes.run)
        self._outbox = begin("outbox", app.outbox.run)
        self._background = [begin(name, work) for name, work in app.essential.items()]
        self._background += [
            group.create_task(app.parts.keep(name, work), name=name)
            for name, work in self._optional(telegram).items()
        ]
        if self.loaded.from_last_good:
            await app.owner_notices.tell(partial(sentences.config_broken, self.loaded.problems))
        if down := self.loaded.settings.walls_down:
            await app.owner_notices.tell(partial(sentences.walls_down, down), daily=False)
        if self._takeover.unfinished:
            await app.owner_notices.tell(partial(sentences.unfinished, self._takeover.told))
        ingress = [begin("load", telegram.load)] if telegram else []
        head = await app.shared.database.read(audit.head)
        log.info("audit_head", row=head.id, chain=head.chain)
        log.info("started", packs=list(app.generations.library.names), waiting=waiting)
        self.ready.set()
        return ingress

    def _optional(self, telegram: TelegramChannel | None) -> dict[str, Work]:
        """What runs beside everything else, and may fail."""
        works = {
            **self.app.optional,
            "config": self.reloading.run,
            "warming": partial(self._warm_up, telegram),
        }
        if self.page:
            works["dashboard"] = self.page.run
        if telegram:
            works["menu"] = partial(self._fill_menu, telegram)
        if os.getpid() == 1:
            works["orphans"] = partial(bury, self.app.shared.clock)
        if self._systemd.listens:
            works["systemd"] = partial(self._report, telegram)
        return works

    async def _report(self, telegram: TelegramChannel | None) -> None:
        """Tell systemd how we are, from the first answer of Telegram on, or when it is late."""
        health = self.app.health
        with suppress(TimeoutError):
            async with asyncio.timeout(_READY_S):
                await (telegram.begun() if telegram else asyncio.sleep(0))
        await self._systemd.report(
            self.app.shared.clock,
            alive=lambda: self._stop.is_set() or health.listens,
            status=health.line,
        )

    async def _warm_up(self, telegram: TelegramChannel | None) -> None:
        """Import what the model needs that is asked first, and each that takes its place.

        It is `warm` once the channel is there, too: what comes after that is garbage sometimes."""
        generations = self.app.generations
        while True:
            now = generations.now
            first = models_in(now.model)[0]
            try:
                if isinstance(first, KnownModel):
                    await first.prepare()
                if telegram:
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_READY_S):
                            await telegram.ready()
            finally:
                self.warm.set()
            await generations.after(now)

    async def _fill_menu(self, telegram: TelegramChannel) -> None:
        """Keep the command menu up to date, for ever."""
        menu_changed, shown = self.app.refreshing.menu_changed, None
        while True:  # nobody waits for it: Telegram may be slow
            menu_changed.clear()
            library = self.app.generations.library
            added = self.app.commands.added()
            lines = {name: command.line for name, command in added.items()}
            menus = {code: menu_of(library, lines, language=code) for code in languages.names()}
            if menus != shown:
                menu = menus[languages.FIRST]
                for name in menu.taken:
                    log.warning("command_collision", command=name, skill=library.commands()[name])
                if menu.left_out:
                    log.warning("command_menu_full", left_out=list(menu.left_out))
                for code, menu in menus.items():
                    with speaking(code):
                        about = text("about.long"), text("about.short")
                    language = "" if code == languages.FIRST else code
                    await telegram.set_menu(menu.entries, language, None if shown else about)
                shown = menus
            await menu_changed.wait()

    async def _end(self, ingress: list[asyncio.Task[None]]) -> None:
        """Ingress, lanes, outbox, subscribers, in this order; each has a deadline, and what is
        left stays stored."""
        log.info("stopping")
        self._systemd.stopping(restarts=self.restart)
        if telegram := self.app.shared.telegram:
            telegram.stop_listening()
        for task in ingress:
            task.cancel()
        self.app.lanes.close()
        self.app.running.stop_waiting()
        await _within(_DRAIN_S, self._lanes)
        self.app.outbox.close()
        await _within(_FLUSH_S, self._outbox)
        with suppress(TimeoutError):
            async with asyncio.timeout(_SUBSCRIBERS_S):
                await self.app.shared.bus.drain()
        for task in self._background:
            task.cancel()

    async def status(self) -> Facts:
        """How it is, for `aouo status`."""
        return {
            "pid": os.getpid(),
            "since": self._since,
            "uptime_s": round(time.time() - self._since),
            **await state_of(self.app),
            "unfinished": [
                str(item) for item in (*self._takeover.unfinished, *self.reloading.unfinished)
            ],
            "config": self.reloading.facts,
        }

    async def _healthz(self) -> tuple[int, Facts]:
        facts = await self.app.health.facts()
        return 200 if facts["ok"] else 503, facts

    async def reload(self) -> Facts:
        """Take up the configuration, and the packs as they lie on disk now; return what changed."""
        generations = self.app.generations
        before = generations.now
        config = await self.reloading.reload()
        if generations.now is before and not config.problems:
            await self.app.packs.refresh()
        told = refreshed(before.library, generations.library)
        facts = self.reloading.facts
        return {**told, "config": {**asdict(config), "after_restart": facts["after_restart"]}}


class _Done(Exception):
    """The regular end of a task group."""


async def _essential(name: str, work: Work) -> None:
    """Run what nothing goes on without; its failure is in the log, whoever reports it then."""
    try:
        await work()
    except SetupError:
        raise
    except Exception as error:
        log.critical("essential_part_failed", part=name, error=repr(error), exc_info=error)
        raise


async def _within(limit_s: float, task: asyncio.Task[None]) -> None:
    """Let a task end by itself for a while, then cancel it."""
    _, late = await asyncio.wait([task], timeout=limit_s)
    if late:
        task.cancel()
        await asyncio.wait([task])
