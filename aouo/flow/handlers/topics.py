"""Keeps topics and their packs, and obeys `/setup_topics`: creates and binds them."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Literal, TypeVar

from aouo.facts import errors
from aouo.facts.address import ConversationAddress
from aouo.facts.events import ChatKind, TopicShut
from aouo.facts.ports import Rendered, Rights, Topics, stamp
from aouo.facts.work import Delivery, Job, Route
from aouo.flow.commands import builtin
from aouo.flow.commands.registry import CommandCall
from aouo.flow.replies import Replies
from aouo.plumbing.logs import log
from aouo.plumbing.waiting import pause_s
from aouo.queue.decide import NameTopic
from aouo.queue.lexer import pack_of
from aouo.store import deliveries, jobs, routes
from aouo.store.database import Tx
from aouo.words import conversations


@dataclass(slots=True, eq=False, kw_only=True)
class TopicEvents:
    """Keeps the routes of topics in step with what Telegram tells of them."""

    replies: Replies

    async def name(self, job: Job, named: NameTopic) -> None:
        """Remember the title; a pack of that name answers here from now on, and says so once.

        A title that names no pack changes nothing else: the topic keeps what it has.
        """
        bound: list[str] = []

        def work(tx: Tx, now: str) -> Sequence[Rendered]:
            inbound = job.inbound
            route = routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            routes.set_title(tx, route, named.title)
            routes.settle_topic(tx, inbound.address.around, named.pack)
            if not named.pack or route.active_pack == named.pack:
                return []
            bound.append(named.pack)
            call, library = CommandCall(inbound, "", now), self.replies.library()
            said = builtin.bind(tx, call, library, named.pack).output
            return [said] if isinstance(said, Rendered) else []

        await self.replies.settle(job, work, outcome="topic named")
        if bound:
            log.info("tg_topic_auto_bound", pack=bound[0])
            self.replies.wake(job.inbound.address.lane)

    async def first_message(self, job: Job) -> Job:
        """Bind a topic that nobody has bound by the title that came with what is said in it.

        That title is the one it was created with, so one that a service message told counts more.
        """
        inbound = job.inbound
        if job.active_pack or not inbound.title:
            return job
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> tuple[str, str]:
            jobs.check_claim(tx, job)
            route = routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            title = route.title or inbound.title
            pack = route.active_pack or pack_of(title, self.replies.library().names)
            if pack and not route.active_pack:
                routes.set_pack(tx, route, pack, now)
                log.info("tg_topic_auto_bound", pack=pack)
            return title, pack

        title, pack = await self.replies.database.transact(write)
        return replace(job, active_pack=pack, inbound=replace(inbound, title=title))

    async def shut(self, job: Job, shut: TopicShut) -> None:
        """Remember that a topic was closed or opened again: `routes.is_paused` tells of it."""

        def work(tx: Tx, now: str) -> Sequence[Rendered]:
            inbound = job.inbound
            routes.get_or_create(tx, inbound.address, inbound.chat_kind, now)
            routes.set_paused(tx, inbound.address, "closed" if shut.closed else "", now)
            return []

        await self.replies.settle(job, work, outcome="closed" if shut.closed else "opened again")


_T = TypeVar("_T")
_TRIES = 3
_BACKOFF = partial(pause_s, first_s=1, factor=2, most_s=2)
_WAIT_AT_MOST_S = 60.0
_COMES_BACK_S = 5.0
"""How long the service message of a topic may take whose creation nobody answered for."""


@dataclass(slots=True)
class _Report:
    """What became of each pack's topic; of those that failed, why: a name of the catalogue."""

    created: list[str] = field(default_factory=list[str])
    bound: list[str] = field(default_factory=list[str])
    failed: dict[str, str] = field(default_factory=dict[str, str])
    hidden: bool = False
    none_here: str = ""


@dataclass(slots=True, eq=False, kw_only=True)
class SettingUp:
    """Runs the one command that changes a chat. No call is made inside a transaction: an intent
    is on disk before a topic is created, its route right after, and what a killed process left is
    found by the service message that its topic brings."""

    replies: Replies
    platform: Topics | None
    _at_work: dict[str, asyncio.Lock] = field(init=False, default_factory=dict[str, asyncio.Lock])

    async def run(self, job: Job) -> None:
        """Set up the chat and say what came of it; one at a time in each chat."""
        address = job.inbound.address
        if self.platform is None or address.platform != "tg":
            await self.replies.answer(job, conversations.no_topics_here("elsewhere"))
            return
        async with self._at_work.setdefault(address.chat_id, asyncio.Lock()):
            report = await self._set_up(job, self.platform, self.replies.library().names)
        if report.none_here:
            await self.replies.answer(job, conversations.no_topics_here(report.none_here))
            return
        await self.replies.answer(
            job,
            conversations.topics_set_up(
                report.created, report.bound, report.failed, hidden=report.hidden
            ),
        )

    async def provide(self, job: Job, pack: str) -> ConversationAddress | None:
        """The topic that one pack has here from now on; None: there are none, or it could not be
        made."""
        address = job.inbound.address
        if self.platform is None or address.platform != "tg" or job.inbound.chat_kind != "forum":
            return None
        async with self._at_work.setdefault(address.chat_id, asyncio.Lock()):
            report = await self._set_up(job, self.platform, (pack,))
        if report.none_here or report.failed:
            return None
        chat = address.around
        found = await self.replies.database.read(lambda tx: routes.topics_of_pack(tx, chat, pack))
        return found[0][0] if found else None

    async def _set_up(self, job: Job, platform: Topics, packs: tuple[str, ...]) -> _Report:
        chat = job.inbound.address.around
        if not packs:
            return _Report(none_here="packs")
        try:
            rights = await self._patiently(lambda: platform.rights(chat))
        except errors.DeliveryError as error:
            log.warning("topics_not_set_up", error=str(error))
            return _Report(failed=dict.fromkeys(packs, "later"))
        if not rights.has_topics:
            return _Report(none_here="private" if job.inbound.chat_kind == "private" else "group")
        report = _Report(hidden=not rights.sees_all)
        for pack in packs:
            await self._provide(job, platform, chat, pack, rights, report)
        log.info("topics_set_up", created=report.created, failed=report.failed)
        return report

    async def _provide(
        self,
        job: Job,
        platform: Topics,
        chat: ConversationAddress,
        pack: str,
        rights: Rights,
        report: _Report,
    ) -> None:
        """See that a pack has a topic."""
        try:
            if await self._has(job, platform, chat, pack):
                report.bound.append(pack)
            elif await self._create(job, platform, chat, pack):
                report.created.append(pack)
            else:
                report.failed[pack] = "unknown"
        except errors.DeliveryError as error:
            log.warning("topic_not_created", pack=pack, error=str(error))
            report.failed[pack] = _trouble(error, rights)

    async def _has(self, job: Job, platform: Topics, chat: ConversationAddress, pack: str) -> bool:
        """Whether a topic of the pack is there; routes of topics that are gone let go of it."""
        found = await self.replies.database.read(
            lambda tx: [
                *routes.topics_of_pack(tx, chat, pack),
                *routes.titled_topics(tx, chat, pack),
            ]
        )
        for topic, route in found:
            if await self._is_there(platform, topic, route):
                await self._bind(job, topic, pack, job.inbound.chat_kind)
                return True
            await self._let_go(job, topic)
        return False

    async def _is_there(self, platform: Topics, topic: ConversationAddress, route: Route) -> bool:
        if route.paused == "closed":  # one that somebody closed stays closed
            return True
        return await self._patiently(lambda: platform.topic_exists(topic, route.title))

    async def _create(
        self, job: Job, platform: Topics, chat: ConversationAddress, pack: str
    ) -> bool:
        """Create a topic; False: nobody answered, and it did not show up."""
        found = await self._intend(job, chat, pack)
        if found == "there" or (found == "unfinished" and await self._comes_back(chat, pack)):
            return True
        try:
            thread = await self._patiently(lambda: platform.create_topic(chat, pack))
        except errors.DeliveryUnknown:
            return await self._comes_back(chat, pack)
        except errors.DeliveryError:
            await self.replies.database.transact(lambda tx: routes.settle_topic(tx, chat, pack))
            raise
        await self._bind(job, replace(chat, thread_id=thread), pack, job.inbound.chat_kind)
        return True

    async def _intend(
        self, job: Job, chat: ConversationAddress, pack: str
    ) -> Literal["new", "unfinished", "there"]:
        """Write down that a topic is about to be created, unless it has just been heard of."""
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> Literal["new", "unfinished", "there"]:
            jobs.check_claim(tx, job)
            if routes.topics_of_pack(tx, chat, pack):
                return "there"
            return "new" if routes.intend_topic(tx, chat, pack, now) else "unfinished"

        return await self.replies.database.transact(write, durable=True)

    async def _comes_back(self, chat: ConversationAddress, pack: str) -> bool:
        """Wait for the service message of a topic that may have been created; it binds it."""
        until_s = self.replies.clock.monotonic_s() + _COMES_BACK_S
        while self.replies.clock.monotonic_s() < until_s:
            if await self.replies.database.read(lambda tx: routes.topics_of_pack(tx, chat, pack)):
                return True
            await self.replies.clock.sleep(0.1)
        return False

    async def _bind(
        self, job: Job, topic: ConversationAddress, pack: str, chat_kind: ChatKind
    ) -> None:
        """Bind a topic that is there; whoever does says so in it, this or its service message."""
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> Delivery | None:
            jobs.check_claim(tx, job)
            routes.settle_topic(tx, topic.around, pack)
            route = routes.get_or_create(tx, topic, chat_kind, now)
            routes.found(tx, topic)
            if route.active_pack == pack:
                return None
            if not route.title:
                routes.set_title(tx, route, pack)
            routes.set_pack(tx, route, pack, now)
            return deliveries.add(tx, topic, "notice", conversations.bound(pack), now)

        if told := await self.replies.database.transact(write, durable=True):
            self.replies.outbox.put(told)

    async def _let_go(self, job: Job, topic: ConversationAddress) -> None:
        now = stamp(self.replies.clock)

        def write(tx: Tx) -> None:
            jobs.check_claim(tx, job)
            if route := routes.find(tx, topic):
                routes.set_pack(tx, route, "", now)
                routes.set_title(tx, route, "")
                routes.set_paused(tx, topic, "deleted", now)

        log.info("topic_let_go", topic=str(topic))
        await self.replies.database.transact(write)

    async def _patiently(self, call: Callable[[], Awaitable[_T]]) -> _T:
        """Wait out flood control and passing failures, a few times."""
        for tried in range(1, _TRIES):
            try:
                return await call()
            except errors.FloodControl as error:
                wait_s = error.retry_after_s
                if wait_s > _WAIT_AT_MOST_S:
                    raise
            except errors.NotSent:
                wait_s = _BACKOFF(tried)
            await self.replies.clock.sleep(wait_s)
        return await call()


def _trouble(error: errors.DeliveryError, rights: Rights) -> str:
    match error:
        case errors.NoTopics():
            return "off"
        case errors.NoRight():
            return "right" if rights.admin else "admin"
        case errors.FloodControl() | errors.NotSent() | errors.DeliveryUnknown():
            return "later"
        case _:
            return "refused"
