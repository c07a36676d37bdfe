"""Makes the next generation of a changed `config.json`, whole or not at all."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from aouo.app.build_generation import build_generation
from aouo.app.tools import Shared
from aouo.config.file import ConfigBroken, Loaded, remember, reread
from aouo.config.keys import differing, until_restart
from aouo.config.settings import Settings, waits_for_restart
from aouo.facts.errors import SetupError
from aouo.flow.refreshing import Refreshing
from aouo.installer.unfinished import Takeover, Taking, Unfinished
from aouo.outbound.outbox import OwnerNotices
from aouo.plumbing import failpoint
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import Look, changes, look_of
from aouo.words import sentences
from aouo.words.catalogue import text

_LOOK_EVERY_S = 0.5
_STILL_S = 0.8
"""How long the file has to stay as it is before it is read: it may be saved in pieces."""


@dataclass(frozen=True, slots=True)
class _Reloaded:
    """The keys that have changed, by what becomes of that; with `problems` nothing has."""

    changed: tuple[str, ...] = ()
    after_restart: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()

    @property
    def anything(self) -> bool:
        return bool(self.changed or self.after_restart)


@dataclass(eq=False)
class Reloading:
    """Follows the configuration while the bot runs on it; `loaded` is what it was started with.
    `taken_off` ends what is of people who are not let in any more, each part inside a block that
    tells of its failure.

    One reload at a time. Who asks while one runs gets the result of the next, which reads the file
    after they asked, and is one for all who wait.
    """

    shared: Shared
    refreshing: Refreshing
    owner_notices: OwnerNotices
    taken_off: Callable[[Taking], Awaitable[None]]
    loaded: Loaded

    def __post_init__(self) -> None:
        self._started = self.loaded
        self._file = self.loaded
        self._running = self.loaded.settings
        self._let_in = _people(self.loaded)
        self._after = Takeover()
        self._problems = self.loaded.problems
        self._told = bool(self.loaded.problems)  # at the start
        self._one_by_one = asyncio.Lock()
        self._begun = 0
        self._last = 0, _Reloaded()

    @property
    def facts(self) -> dict[str, Any]:
        """What `aouo status` says of the configuration."""
        return {
            "from_last_good": self._file.from_last_good,
            "problems": list(self._problems),
            "after_restart": list(self._pending()),
        }

    @property
    def accepted(self) -> Loaded:
        """What the file said when it was taken up, with what waits for the next start."""
        return self._file

    @property
    def running(self) -> Settings:
        """The settings in force."""
        return self._running

    @property
    def unfinished(self) -> Sequence[Unfinished]:
        """What the last reload could not end."""
        return self._after.unfinished

    async def run(self) -> None:
        """Reload for ever, each time that the file has changed and been still for a while."""
        file = self.shared.home.config

        async def look() -> Look:
            return look_of(file)  # the home's disk answers at once, or nothing works

        watched = changes(
            look, self._file.look, clock=self.shared.clock, every_s=_LOOK_EVERY_S, still_s=_STILL_S
        )
        async with aclosing(watched) as looks:
            async for _ in looks:
                try:
                    await self.reload()
                except Exception as error:  # the next save is looked at all the same
                    log.exception("reload_failed", error=repr(error))

    async def reload(self) -> _Reloaded:
        """Take up what the file says now; a file with problems changes nothing, and is told to the
        owner once."""
        asked = self._begun
        async with self._one_by_one:
            number, result = self._last
            if number > asked:
                return result
            self._begun = number = self._begun + 1
            result = await self._reload()
            self._last = number, result
            return result

    async def _reload(self) -> _Reloaded:
        before = self._file
        try:
            text, loaded = await asyncio.to_thread(reread, self.shared.home.path, before)
            wanted = until_restart(self._running, loaded.settings)
            result = by_effect(differing(before.settings, loaded.settings))
            failpoint.reached("before a configuration is made a generation")
            if result.anything:
                secrets = loaded.settings.secrets()
                await self.refreshing.swap(
                    lambda: build_generation(wanted, self.shared, also_secret=secrets)
                )
        except ConfigBroken as broken:
            return await self._reject(broken.problems)
        except SetupError as error:
            return await self._reject((str(error),))
        except Exception as error:  # the bot goes on as it was
            log.exception("reload_failed", error=repr(error))
            return await self._reject((f"it could not be used: {type(error).__name__}",))
        failpoint.reached("after a configuration has its generation")
        self._file, self._running = loaded, wanted
        self._after = Takeover()
        await self._end_what_is_others(_people(loaded))
        pending = self._pending()
        later = tuple(key for key in result.after_restart if key in pending)
        result = replace(result, after_restart=later)
        async with self._after.of("Keeping a copy of config.json"):
            await asyncio.to_thread(remember, self.shared.home.path, text)
        failpoint.reached("after a configuration is remembered")
        fallen = set(loaded.settings.walls_down) - set(before.settings.walls_down)
        await self._accept(result, fallen, mended=bool(self._problems))
        return result

    async def _end_what_is_others(self, people: set[int]) -> None:
        """End what is of those who were let in before and are not now; what fails is tried again by
        the next reload."""
        if self._let_in - people:
            await self.taken_off(self._after.of)
        self._let_in = self._let_in | people if self._after.unfinished else people

    async def _accept(self, result: _Reloaded, fallen: set[str], *, mended: bool) -> None:
        self._problems, told = (), self._told
        self._told = False
        if result.anything or mended:
            log.info(
                "config_reloaded",
                changed=list(result.changed),
                after_restart=list(result.after_restart),
            )
        about = str(self._file.look)
        if fallen:
            note = partial(sentences.walls_down, sorted(fallen))
            await self.owner_notices.tell(note, about=about)
        if mended and told:
            await self.owner_notices.tell(partial(text, "config.mended"), about=about)
        if self._after.unfinished:
            note = partial(sentences.unfinished, self._after.told, did="reloaded")
            await self.owner_notices.tell(note, about=about)
        if result.after_restart:
            note = partial(sentences.config_after_restart, result.after_restart)
            await self.owner_notices.tell(note, about=about)

    async def _reject(self, problems: tuple[str, ...]) -> _Reloaded:
        """Leave everything as it is; tell the owner, unless they know of these problems."""
        if problems != self._problems or not self._told:
            log.warning("config_rejected", problems=list(problems))
            about = str(look_of(self.shared.home.config))
            self._problems, self._told = problems, True
            note = partial(sentences.config_rejected, problems)
            await self.owner_notices.tell(note, about=about)
        return _Reloaded(problems=problems)

    def _pending(self) -> tuple[str, ...]:
        """The keys that the next start takes up."""
        since = differing(self._started.settings, self._file.settings)
        return by_effect(since).after_restart


def _people(loaded: Loaded) -> set[int]:
    telegram = loaded.settings.telegram
    return {*telegram.allowed_user_ids, telegram.owner}


def by_effect(keys: tuple[str, ...]) -> _Reloaded:
    """Sort changed keys by what becomes of them."""
    later = tuple(key for key in keys if waits_for_restart(key))
    return _Reloaded(tuple(key for key in keys if key not in later), later)
