"""Holds what settings and packs make of the bot, as one value that new turns begin with.

New work begins with the generation of now, and a turn keeps the one it began with.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from types import CoroutineType
from typing import Any

from aouo.agent.compaction import Compactor
from aouo.agent.judging import Judging
from aouo.agent.loop import Executor
from aouo.agent.pipelines import Pipelines
from aouo.agent.side_calls import Describe
from aouo.agent.spending.money import Offer, Paid
from aouo.agent.spending.quota import Quota
from aouo.agent.tools.mcp_servers import Server
from aouo.agent.tools.registry import Registry
from aouo.config import sections
from aouo.facts.attachments import Lack
from aouo.facts.errors import RouteRequiredError
from aouo.facts.people import Admission, Owner
from aouo.facts.ports import NO_MODEL, ChatModel, Clock
from aouo.facts.quiet_hours import AttentionRules
from aouo.guard.chain import Guard
from aouo.guard.sandbox.run import Sandbox
from aouo.packs.format.problems import DEFAULT_TOOLS
from aouo.packs.library import Library
from aouo.plumbing.logs import Adopt, Level, log
from aouo.plumbing.redact import Redactor
from aouo.plumbing.resources import Current, Holder
from aouo.plumbing.waiting import finish, first
from aouo.providers.speech.services import Ears
from aouo.schedules.watched import Looking
from aouo.store import usage


@dataclass(frozen=True, slots=True)
class Generation:
    """Never changes; other settings and other packs make a new one. What it `held` open is closed
    when its last turn has ended, but for what a newer one holds, too."""

    held: Holder
    log_level: Level
    owner: Owner
    admission: Admission
    roles: sections.Roles
    redactor: Redactor
    cron: sections.Cron
    heartbeat: sections.Heartbeat
    attention: AttentionRules
    looking: Looking
    memory: sections.Memory
    library: Library
    scanned: Callable[[], Awaitable[Library]]
    """Reads packs from the disk as they lie there."""
    as_if: Callable[[Mapping[str, str]], Awaitable[Library]]
    """Reads them as if some were installed with these content hashes."""
    registry_of: Callable[[Library], Registry]
    """Makes the tools that there are with them."""
    trusted_keys: Mapping[str, str]
    """The signers of packs."""
    muted: tuple[str, ...]
    """Packs whose phrases do nothing, `*` = none does."""
    default_pack: str
    """The pack that answers where none is chosen, "" = people are asked."""
    registry: Registry
    enabled: tuple[str, ...]
    """The tools that the owner has enabled besides the core's."""
    servers: Sequence[Server]
    sandbox: Sandbox
    guard: Guard
    approvals: sections.Approvals
    judging: Judging | None
    """A model that may spare the owner a question, None = there is none."""
    model: ChatModel
    other_model: Callable[[str, str], Awaitable[ChatModel]]
    """Makes the model of a (provider, name) that shall answer in place of the usual one."""
    named_model: Callable[[str, str], usage.Chosen | None]
    """The model that a pack, or else a kind of work (an origin, `title`, `summary`), is to have in
    the place of the usual one; None = that."""
    offers: tuple[Offer, ...]
    """Models that people may choose from."""
    anybody_chooses: bool
    pipelines: Pipelines
    compactor: Compactor
    quota: Quota
    advanced: sections.Advanced
    executor: Executor
    telegram: sections.Telegram
    ui: sections.Ui
    ears: Ears | Lack
    stt: sections.SpeechToText
    eyes: Describe | None
    """Understand files; None, or a lack, = it is not set up."""
    retention: sections.Retention
    paid: tuple[Paid, ...]
    """What may cost money."""

    def permitted(self, pack: str) -> Sequence[str]:
        """The tools and groups that a turn of this pack, "" = of none, may call."""
        found = self.library.get(pack)
        return found.manifest.permissions.tools if found else DEFAULT_TOOLS

    async def model_of(self, pack: str, kind: str) -> ChatModel:
        """Return the model for the runtime's own work on what was said with a pack."""
        named = self.named_model(pack, kind)
        return await self.other_model(named.provider, named.model) if named else self.model

    def keeps_from(self, person: str, pack: str) -> bool:
        """Whether the role of `person` does not use this pack."""
        member, guest = self.roles.member.packs, self.roles.guest.packs
        packs = guest if self.admission.role(person) == "guest" else member
        return bool(packs and pack and pack not in packs) and not self.owner.has(person)

    def renewed(self, packs: Library) -> Generation:
        """The same with other packs."""
        registry = self.registry_of(packs)
        return replace(self, library=packs, registry=registry)


PATIENCE_S = 30.0
"""How long a change of a pack lets its turns finish by themselves."""

_GiveBack = Callable[[Collection[int], bool], None]
"""Lets the turns of these jobs be taken up anew; True: only those that wait on a person."""


class _Users:
    """The jobs that use something, and whether somebody waits until none does."""

    def __init__(self) -> None:
        self.jobs: list[int] = []
        self._none = asyncio.Event()
        self._none.set()

    def add(self, job_id: int) -> None:
        self.jobs.append(job_id)
        self._none.clear()

    def remove(self, job_id: int) -> None:
        self.jobs.remove(job_id)
        if not self.jobs:
            self._none.set()

    async def end(self, patience_s: float | None = None) -> bool:
        """Wait until nobody uses it; False = after `patience_s`, None = for ever, somebody does."""
        try:
            async with asyncio.timeout(patience_s):
                await self._none.wait()
        except TimeoutError:
            return False
        return True


class Generations:
    """The generation that new turns begin with; running ones keep theirs.

    A turn holds its pack while it runs. Whoever changes a pack waits until nobody holds it, and
    new turns with it wait until the change is over; no other pack notices. `give_back` is told
    the jobs whose turns would hold a change up for too long. `library` and `timezone` follow the
    generation of now, and so does the process log, by `adopt`.

    A turn holds its generation, too. Once another took its place, the last of its turns closes
    what it held open; no turn and no swap ever waits for that.
    """

    def __init__(
        self,
        first: Generation,
        *,
        library: Current[Library],
        timezone: Current[str],
        adopt: Adopt,
        give_back: _GiveBack,
    ) -> None:
        self._now = first
        self._library = library
        self._timezone = timezone
        self._adopt = adopt
        self._give_back = give_back
        self._pack_users: dict[str, _Users] = {}
        self._changing: dict[str, asyncio.Event] = {}
        self._users: dict[Holder, _Users] = {first.held: _Users()}
        self._redactors: dict[Holder, Redactor] = {first.held: first.redactor}
        self._former: asyncio.Queue[Generation] = asyncio.Queue()
        self._swapped = asyncio.Event()
        self._follow()

    @property
    def now(self) -> Generation:
        return self._now

    @property
    def library(self) -> Library:
        return self._now.library

    def answers(self, pack: str) -> bool:
        """Whether a model answers what is no phrase with this pack; "" = none is chosen."""
        chosen = bool(pack) or len(self.library.names) < 2
        return chosen and self._now.model.provider != NO_MODEL

    @property
    def redactor(self) -> Redactor:
        """Hides the secrets of every generation that somebody still uses."""
        return self._redactor

    @property
    def changing(self) -> frozenset[str]:
        """The packs that somebody changes, or waits to change."""
        return frozenset(self._changing)

    def swap(self, generation: Generation) -> None:
        """From now on new turns begin with `generation`."""
        before, self._now = self._now, generation
        self._users.setdefault(generation.held, _Users())
        self._redactors[generation.held] = generation.redactor
        self._follow()
        if before.held is not generation.held:
            self._former.put_nowait(before)
        self._swapped.set()
        self._swapped = asyncio.Event()
        log.info("generation_swapped", packs=list(generation.library.names))

    async def after(self, generation: Generation) -> Generation:
        """Return the generation of now, once it is another than this."""
        while self._now is generation:
            await self._swapped.wait()
        return self._now

    async def run(self) -> None:
        """Close for ever what former generations held open, each when its last turn has ended."""
        async with asyncio.TaskGroup() as group:
            while True:
                group.create_task(self._end(await self._former.get()), name="former generation")

    @asynccontextmanager
    async def using(self, job_id: int = 0) -> AsyncGenerator[Generation]:
        """Hold the generation of now while the block runs; `job_id` 0 = for no job."""
        generation = self._now
        users = self._users[generation.held]
        users.add(job_id)
        try:
            yield generation
        finally:
            users.remove(job_id)

    @asynccontextmanager
    async def turn(self, pack: str, job_id: int) -> AsyncGenerator[Generation]:
        """Hold a pack, "" = none, for the turn of a job, and the generation of now.

        Raises:
            RouteRequiredError: the pack went while this waited.
        """
        while change := self._changing.get(pack):
            await change.wait()
        if pack and self.library.get(pack) is None:
            raise RouteRequiredError(self.library.names, pack)
        users = self._pack_users.setdefault(pack, _Users())
        users.add(job_id)
        try:
            async with self.using(job_id) as generation:
                yield generation
        finally:
            users.remove(job_id)

    @asynccontextmanager
    async def change(self, pack: str) -> AsyncGenerator[None]:
        """Have a pack for oneself: its turns have ended or are given back, new ones wait."""
        while change := self._changing.get(pack):
            await change.wait()
        over = self._changing[pack] = asyncio.Event()
        try:
            if users := self._pack_users.get(pack):
                self._give_back(users.jobs, True)
                if not await users.end(PATIENCE_S):
                    self._give_back(users.jobs, False)
                    await users.end()
            yield
        finally:
            del self._changing[pack]
            over.set()

    async def _end(self, former: Generation) -> None:
        """Close what it held, once its last turn has ended.

        A turn that works ends by its own limit, which may be longer than that of the settings. One
        that waits on a person has none: it is given back, and goes on with the generation of then.
        """
        users = self._users[former.held]
        while not await users.end(former.advanced.turn_timeout_s):
            self._give_back(users.jobs, True)
        await finish(former.held.aclose())
        del self._users[former.held], self._redactors[former.held]
        self._follow()
        log.info("generation_ended")

    def _follow(self) -> None:
        """Let what stands around turns go by the generation of now."""
        now = self._now
        self._library.now = now.library
        self._timezone.now = now.cron.timezone
        self._redactor = now.redactor
        for former in self._redactors.values():
            self._redactor |= former
        self._adopt(now.log_level, self._redactor)


class WakingClock:
    """A clock for one thing that runs for ever by the settings: who sleeps by it wakes early, once,
    when another generation has come since they last slept."""

    def __init__(self, clock: Clock, generations: Generations) -> None:
        self._clock = clock
        self._generations = generations
        self._seen = generations.now

    def now(self) -> datetime:
        return self._clock.now()

    def monotonic_s(self) -> float:
        return self._clock.monotonic_s()

    def sleep(self, seconds: float) -> CoroutineType[Any, Any, None]:
        return self._until_woken(self._clock.sleep(seconds))  # from the call on, as it promises

    async def _until_woken(self, slept: CoroutineType[Any, Any, None]) -> None:
        await first(slept, self._generations.after(self._seen))
        self._seen = self._generations.now
