"""From open to stopped: what runs beside what, and in which order it ends."""

from __future__ import annotations

import asyncio
import os
import time
from collections.abc import AsyncGenerator, Collection, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import structlog

from aouo.app.idle import idle
from aouo.app.knowing import Knowing
from aouo.app.menu import show_menu
from aouo.app.off_record import erase_unanswered
from aouo.app.taken_off import end_what_is_theirs
from aouo.config.file import Loaded
from aouo.facts.address import ConversationAddress
from aouo.facts.events import Button, Inbound, Person, Text, told
from aouo.facts.ports import iso
from aouo.flow.generation import Generation
from aouo.installer.unfinished import Takeover
from aouo.installer.verbs import home_verbs
from aouo.outbound.wording import sentences
from aouo.plumbing.control import Control
from aouo.plumbing.orphans import bury
from aouo.plumbing.verbs import Facts, Nothing, Stream, Verb
from aouo.providers.fallback import FallbackModel
from aouo.routing import lexer
from aouo.sandbox.levels import in_words

if TYPE_CHECKING:
    from aouo.app.wiring import App

log = structlog.get_logger()
DRAIN_S = 20.0
FLUSH_S = 5.0
_SOCKET = "Listening to aouo status, stop and the other commands of a terminal"


@dataclass(frozen=True, slots=True)
class Say:
    """A terminal says `text`, or taps the button that sends `data`."""

    chat: str = "local"
    text: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class Chat:
    """A terminal listens to its conversation."""

    chat: str = "local"


@dataclass(frozen=True, slots=True)
class Watch:
    """Somebody listens to the events of one session, "" = of all."""

    session: str = ""


class Runtime:
    """One running App; `stop` ends it gracefully, the failure of a part ends it with it."""

    def __init__(self, app: App, loaded: Loaded) -> None:
        self._app = app
        self._loaded = loaded
        self._stop = asyncio.Event()
        self._since = time.time()
        self._takeover = Takeover()
        self._knowing = Knowing(app.generations, app.clock, app.owner_notices)
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
                "say": Verb(Say, self._say),
                "idle": Verb(Nothing, self._idle),
                "chat": Stream(Chat, self._chat),
                "watch": Stream(Watch, self._watch),
                **home_verbs(app.packs, lambda: app.generations.library, app.schedules),
            }
        )
        try:
            await app.packs.recover(self._takeover)
            async with self._takeover.of("Ending what was of people taken off the list"):
                await end_what_is_theirs(app.database, app.clock, _listed(app.generations.now))
            waiting = await app.outbox.recover()
            async with self._takeover.of("Erasing what was said off the record"):
                await erase_unanswered(
                    app.database, app.clock, app.home.media, app.outbox, self._takeover
                )
            for lane in await app.inbox.recover():
                app.bell.ring(lane)
            listening = control.listening(app.home, partial(self._takeover.add, _SOCKET))
            async with listening, asyncio.TaskGroup() as group:
                ingress = await self._start(group, waiting)
                await self._stop.wait()
                await self._end(ingress)
                raise _Done
        except* _Done:
            log.info("stopped")
        finally:
            self.ended.set()

    async def _start(self, group: asyncio.TaskGroup, waiting: int) -> list[asyncio.Task[None]]:
        """Start what runs; Telegram is listened to already."""
        app = self._app
        ingress: list[asyncio.Task[None]] = []
        self._lanes = group.create_task(app.lanes.run(), name="lanes")
        self._outbox = group.create_task(app.outbox.run(), name="outbox")
        self._background = [
            group.create_task(app.inbox.close_bursts(), name="bursts"),
            group.create_task(app.inbox.renew_leases(), name="leases"),
            group.create_task(app.behind.run(), name="behind"),
            group.create_task(app.tidying.run(), name="retention"),
            group.create_task(app.titles.run(), name="titles"),
            group.create_task(self._knowing.run(), name="knowing"),
        ]
        if os.getpid() == 1:
            self._background.append(group.create_task(bury(app.clock), name="orphans"))
        if self._loaded.from_last_good:
            await app.owner_notices.tell(sentences.config_broken(self._loaded.problems))
        if self._takeover.unfinished:
            await app.owner_notices.tell(sentences.unfinished(self._takeover.told))
        if app.telegram:
            ingress.append(group.create_task(self._load(app), name="load"))
        log.info("started", packs=list(app.generations.library.names), waiting=waiting)
        self.ready.set()
        return ingress

    async def _load(self, app: App) -> None:
        assert app.telegram
        await app.telegram.load()
        while True:  # nobody waits for it: Telegram may be slow
            app.refreshing.menu_changed.clear()
            await show_menu(app.telegram, app.generations.library)
            await app.refreshing.menu_changed.wait()

    async def _end(self, ingress: list[asyncio.Task[None]]) -> None:
        """Ingress, lanes, outbox, in this order; each has a deadline, what is left stays stored."""
        log.info("stopping")
        if self._app.telegram:
            self._app.telegram.stop_listening()
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
        app = self._app
        waiting = await app.database.read(_waiting)
        model = app.generations.now.model
        return {
            "pid": os.getpid(),
            "since": self._since,
            "uptime_s": round(time.time() - self._since),
            "telegram": app.telegram.state if app.telegram else {"state": "off"},
            "model": {"provider": model.provider, "model": model.model, "note": _note(model)},
            "models": _models(model),
            "concerns": self._knowing.told,
            "packs": list(app.generations.library.names),
            "broken_packs": {
                name: [str(problem) for problem in problems]
                for name, problems in app.generations.library.broken.items()
            },
            "mcp": app.generations.now.servers.facts(),
            "sandbox": in_words(await app.generations.now.sandbox.level()),
            "lanes": {"running": app.bell.at_work, "waiting": waiting.get("ready", 0)},
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

    async def _chat(self, request: Chat) -> AsyncGenerator[Facts]:
        """What is said in a terminal's conversation; ends when the other side goes."""
        waiting, leave = self._app.terminal.watch(request.chat)
        try:
            yield {"kind": "ready"}
            while True:
                yield await waiting.get()
        finally:
            leave()

    async def _watch(self, request: Watch) -> AsyncGenerator[Facts]:
        """The events of one session, or of all, as they happen; ends when the other side goes."""
        waiting, leave = self._app.bus.subscribe(session_id=request.session)
        try:
            yield {"kind": "ready"}
            while True:
                yield told(await waiting.get())
        finally:
            leave()

    async def _idle(self, request: Nothing) -> Facts:
        """Answers when everything that was said is answered."""
        del request
        await idle(self._app.database, self._app.clock)
        return {}

    async def _say(self, request: Say) -> Facts:
        """A terminal says something, or taps the button that sends `data`."""
        said = terminal_inbound(request.chat, request.text, data=request.data)
        await self._app.inbox.submit(said)
        return {}


def _listed(generation: Generation) -> Collection[str]:
    """Whoever may be answered, by id."""
    owner = generation.owner.id
    return {*map(str, generation.admission.people), *([owner] if owner else ())}


class _Done(Exception):
    """The regular end of a task group."""


def terminal_inbound(chat_id: str, text: str, *, data: str = "") -> Inbound:
    """What is typed or tapped in a terminal, as any other inbound."""
    content = Button(data, text, "") if data else lexer.command(text) or Text(text)
    return Inbound(
        ConversationAddress("cli", chat_id), Person("owner", "owner"), content, origin="cli"
    )


async def _within(limit_s: float, task: asyncio.Task[None]) -> None:
    """Let a task end by itself for a while, then cancel it."""
    _, late = await asyncio.wait([task], timeout=limit_s)
    if late:
        task.cancel()
        await asyncio.wait([task])


def _waiting(tx: Any) -> Mapping[str, int]:
    from aouo.store import jobs

    return jobs.count_by_state(tx)


def _models(model: object) -> list[dict[str, Any]]:
    """How each model fares, in the order of the configuration."""
    return [
        {
            "provider": health.provider,
            "model": health.model,
            "failures": health.failures,
            "last_failure": health.last,
            "cooling_until": iso(health.until) if health.until else "",
            "window_tokens": one.context_window,
            "sees": one.sees,
        }
        for health, one in (
            zip(model.health, model.models, strict=True) if isinstance(model, FallbackModel) else ()
        )
    ]


def _note(model: object) -> str:
    return str(getattr(model, "note", ""))
